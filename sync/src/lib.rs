//! Keeps the ledger and a Kubernetes cluster in step.
//!
//! What is here is the decision, [`diff`]: from what a pass has read to what it may free, with the
//! evidence. It reads nothing and changes nothing itself.

#![warn(missing_docs)]

pub mod clock;
pub mod crd;
pub mod cut_over;
pub mod diff;
pub mod import;
pub mod project;
