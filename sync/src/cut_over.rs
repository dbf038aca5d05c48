//! From whereabouts to ipledger, and back, without an address on two pods.
//!
//! While one node gets its addresses from objects and another from the ledger, duplicates are
//! certain. So the cluster's gate is closed before the first node is swapped: the ledger then gives
//! out nothing, and every ADD that reaches it is told to try again. [`Status`] says what is still
//! missing; [`open`] imports what the objects hold and opens the gate when nothing is. The way
//! back closes the gate too: [`hand_back`] writes the objects one last time, and from then on they
//! are whereabouts'.

mod incumbent;
mod nodes;
mod status;
mod steps;

pub use incumbent::{Workload, incumbent_workloads};
pub use nodes::{NodeReport, PLUGIN_SELECTOR, node_reports};
pub use status::{Missing, Status, status};
pub use steps::{
    CutOver, CutOverError, CutOverWorld, HandedBack, Opened, close, hand_back, import_now, open,
};
