//! The Kubernetes objects that others define and that this project shows or reads.
//!
//! `IPPool`, `OverlappingRangeIPReservation` and `NodeSlicePool` are whereabouts' (group
//! `whereabouts.cni.cncf.io`, version `v1alpha1`); the scripts of its users read them, so kinds,
//! fields and shapes are kept. [`NetworkAttachmentDefinition`] is the network plumbing group's.
//!
//! The API server checks objects against the schema when they are written and never again, so a
//! stored object may be older than the schema and lack what is required now. Read lists through
//! [`kube::core::DeserializeGuard`]: one such object then is an error of its own and not the end
//! of the whole list.

mod ip_pool;
mod manifest;
mod network_attachment;
mod node_slice_pool;
mod reservation;

pub use ip_pool::{IpAllocation, IpPool, IpPoolSpec};
pub use manifest::{Manifest, ManifestError, definitions, manifests};
pub use network_attachment::{NetworkAttachmentDefinition, NetworkAttachmentDefinitionSpec};
pub use node_slice_pool::{NodeSlicePool, NodeSlicePoolSpec, NodeSlicePoolStatus, SliceAllocation};
pub use reservation::{OverlappingRangeIpReservation, OverlappingRangeIpReservationSpec};
