//! Keeps the ledger and a Kubernetes cluster in step.
//!
//! ```text
//! observe (watches: what to look at; direct reads: evidence) ─┐
//! holds (the ledger's view, by its events)                    ├─▶ diff (pure) ──▶ act (releases)
//! identity (who answers)                                     ─┘
//! ```
//!
//! [`diff`] is the decision; [`pass`] makes the reads that it needs; [`run`] makes passes while
//! this replica has the [`lease`].

#![warn(missing_docs)]

pub mod act;
pub mod cli;
pub mod clock;
pub mod config;
pub mod crd;
pub mod cut_over;
pub mod diff;
pub mod holds;
pub mod identity;
pub mod import;
mod kube_time;
pub mod lease;
pub mod metrics;
pub mod observe;
pub mod obstacle;
pub mod once;
pub mod pass;
pub mod project;
pub mod reclaim;
pub mod rights;
pub mod run;
mod serve;
mod table;
mod telling;
pub mod window;
mod words;
