//! This cluster's own holds, shown as whereabouts' objects: `IPPool` and
//! `OverlappingRangeIPReservation`.
//!
//! A projection goes one way. [`Reading`] is what the ledger says, all as of one position per
//! space; [`render`] makes the exact set of objects of it; [`plan`] compares them with what the
//! API server stores and says what to write. These are pure. Nothing that is read from an object
//! ever becomes a hold: an entry that the ledger does not know is removed and reported.
//!
//! [`Projector`] does it: it follows the ledger and the objects, and writes unless
//! something speaks against it ([`Withheld`]).

mod body;
mod compare;
mod content;
mod discrepancy;
mod follow;
mod metrics;
mod names;
mod pass;
mod permission;
mod plan;
mod reading;
mod render;
mod run;
mod size;
mod store;
mod stored;
mod tell;
mod writer;

pub use body::{
    CONTENT_ANNOTATION, FIELD_MANAGER, OMITTED_ANNOTATION, POSITION_ANNOTATION, Surplus,
};
pub use compare::{Comparison, ObjectDifference};
pub use discrepancy::{Discrepancy, LedgerFact, discrepancies};
pub use follow::{FollowError, Follower, positions_behind};
pub use metrics::ProjectionMetrics;
pub use names::{
    address_at, is_object_name, offset_of, pool_name, reservation_name, reservation_name_address,
};
pub use pass::PassReport;
pub use permission::{
    PermissionError, ProjectionMode, Withheld, check_identity, cluster_state, kube_system_uid,
};
pub use plan::{Action, Cause, Guard, ObjectWrite, Plan, StoredObjects, plan};
pub use reading::{HeldAddress, Reading, ReadingError, SpaceReading};
pub use render::{
    Desired, DesiredObject, DesiredPool, DesiredReservation, Position, Unprojectable, render,
};
pub use run::{ProjectError, ProjectionSettings, ProjectionWorld, Projector};
pub use size::{LARGEST_POOL_BYTES, entry_bytes};
pub use store::ObjectStore;
pub use stored::{Stored, StoredContent, StoredEntry, key_of};
pub(crate) use writer::read_error;
pub use writer::{WriteError, Writer, Written, resource};

/// The two kinds of objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ObjectKind {
    /// `IPPool`.
    Pool,
    /// `OverlappingRangeIPReservation`.
    Reservation,
}

impl ObjectKind {
    /// The kind as Kubernetes spells it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            ObjectKind::Pool => "IPPool",
            ObjectKind::Reservation => "OverlappingRangeIPReservation",
        }
    }
}

/// Names one object; the namespace is the same for all.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectKey {
    /// Its kind.
    pub kind: ObjectKind,
    /// Its name.
    pub name: String,
}

impl ObjectKey {
    /// The pool of this name.
    pub fn pool(name: impl Into<String>) -> ObjectKey {
        ObjectKey {
            kind: ObjectKind::Pool,
            name: name.into(),
        }
    }

    /// The reservation of this name.
    pub fn reservation(name: impl Into<String>) -> ObjectKey {
        ObjectKey {
            kind: ObjectKind::Reservation,
            name: name.into(),
        }
    }
}

impl std::fmt::Display for ObjectKey {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{} {}", self.kind.as_str(), self.name)
    }
}
