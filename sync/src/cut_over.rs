//! From whereabouts to ipledger, and back, without an address on two pods.
//!
//! While one node gets its addresses from objects and another from the ledger, duplicates are
//! certain. So the cluster's gate is closed before the first node is swapped: the ledger then gives
//! out nothing. It is opened again when nothing is missing ([`Missing`]).

mod incumbent;

pub use incumbent::{Workload, incumbent_workloads};
