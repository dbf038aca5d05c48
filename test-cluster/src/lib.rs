//! A real Kubernetes API server for tests: etcd and kube-apiserver on random ports, in a temporary
//! directory, with RBAC and Node authorisation, gone when the test process ends in whatever way.
//!
//! ```no_run
//! # async fn test() -> Result<(), test_cluster::Error> {
//! use test_cluster::{Cluster, Fault, FaultProxy, Matcher, Verb};
//!
//! let cluster = Cluster::start().await?;
//! cluster.install_crds().await?;
//! let admin = cluster.client().await?;
//! let sync = cluster.access_as("kube-system", "ipledger-sync").await?;
//!
//! let proxy = FaultProxy::start(&cluster).await?;
//! let client = proxy.access(&sync).client().await?;
//! let lists = Matcher::new().verb(Verb::List).resource("pods");
//! let fault = proxy.inject(lists, Fault::EmptyList);
//! // Until `fault` is dropped, who goes through the proxy sees no pods.
//! # drop((admin, client, fault));
//! # Ok(())
//! # }
//! ```
//!
//! The programs are those that `KUBEBUILDER_ASSETS` or `PATH` have, else built once from the
//! modules that `tests/go` pins ([`GoProgram`]); kubectl comes from the distribution.

#![warn(missing_docs)]

mod access;
mod binaries;
mod cluster;
mod credentials;
mod error;
mod go;
mod ports;
mod proxy;
mod supervised;

pub use access::Access;
pub use binaries::{Binaries, kubectl};
pub use cluster::{Cluster, shared};
pub use error::Error;
pub use go::GoProgram;
pub use http::StatusCode;
pub use proxy::{Fault, FaultProxy, Injected, Matcher, SeenRequest, Verb, WatchBreak};
