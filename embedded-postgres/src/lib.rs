//! Finds the PostgreSQL server binaries of this machine, makes a cluster in a directory of its
//! own, runs it, stops it cleanly, and recovers it after anything was killed.
//!
//! ```no_run
//! # async fn run() -> Result<(), embedded_postgres::Error> {
//! use embedded_postgres::{Binaries, Cluster, Settings};
//!
//! let binaries = Binaries::find(None)?;
//! let cluster = Cluster::start(&binaries, Settings::durable("/var/lib/ipledger/postgres")).await?;
//! println!("{}", cluster.url("postgres"));
//! cluster.stop().await
//! # }
//! ```
//!
//! The directory given as `data_dir` belongs to this crate as a whole: the cluster itself
//! (`cluster/`), the socket (`run/`), the server log (`server.log`) and the lock that keeps two
//! processes from running one cluster (`owner.lock`).
//!
//! [`testing`] gives every test an empty database on one server per test run.

#![warn(missing_docs)]

mod account;
mod admin;
mod binaries;
mod cluster;
mod error;
mod home;
mod initdb;
mod leftover;
mod parent_death;
mod password;
mod postmaster;
mod random;
mod settings;
mod socket;
pub mod testing;
mod url;
mod wait;

pub use binaries::{Binaries, Search, Version};
pub use cluster::Cluster;
pub use error::Error;
pub use settings::Settings;
