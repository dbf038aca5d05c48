//! A real Kubernetes API server for tests: etcd and kube-apiserver on random ports, in a temporary
//! directory, with RBAC and Node authorisation, gone when the test process ends in whatever way.
//!
//! ```no_run
//! # async fn test() -> Result<(), test_cluster::Error> {
//! use test_cluster::Cluster;
//!
//! let cluster = Cluster::start().await?;
//! cluster.install_crds().await?;
//! let admin = cluster.client().await?;
//! let sync = cluster.client_as("kube-system", "ipledger-sync").await?;
//! # drop((admin, sync));
//! # Ok(())
//! # }
//! ```
//!
//! The programs are those that `KUBEBUILDER_ASSETS` or `PATH` have, else built once from the
//! modules that `tests/go` pins ([`GoProgram`]); etcd and kubectl come from the distribution.

#![warn(missing_docs)]

mod access;
mod binaries;
mod cluster;
mod credentials;
mod error;
mod go;
mod ports;
mod supervised;

pub use access::Access;
pub use binaries::{Binaries, kubectl};
pub use cluster::{Cluster, shared};
pub use error::Error;
pub use go::GoProgram;
