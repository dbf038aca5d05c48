//! Requests, answers and problems of `/v1`, one file per resource.

/// Carries the cursor of the next page where the body has only rows.
pub const NEXT_HEADER: &str = "x-ipledger-next";
/// Carries the id of the last event that a follower saw.
pub const LAST_EVENT_ID_HEADER: &str = "last-event-id";

mod allocate;
mod attachment;
mod changes;
mod clusters;
mod difference;
mod events;
mod garbage;
mod holds;
mod problem;
mod release;
mod reservations;
mod rows;
mod spaces;
mod wakeups;

pub use allocate::{
    AddressOrder, AllocateRequest, AllocateResponse, AllocatedAddress, RangeRequest,
};
pub use attachment::{Attachment, OrderToken, Owner};
pub use changes::{ChangePage, SpaceHead};
pub use clusters::{
    ClusterPage, ClusterState, Gate, GateRequest, GateResponse, ReleaseClusterRequest,
    ReleaseClusterResponse,
};
pub use difference::{AddressChange, DifferencePage};
pub use events::{Event, EventPage};
pub use garbage::{GarbageError, GarbageRequest, GarbageResponse, ValidAttachment};
pub use holds::{Hold, HoldPage};
pub use problem::{Holder, Problem, ProblemCode};
pub use release::{
    ImportRequest, ImportResponse, ReleaseHoldRequest, ReleaseHoldResponse, ReleaseRequest,
    ReleaseResponse, ReleasedAddress,
};
pub use reservations::{
    GiveBackRequest, Reservation, ReservationPage, ReserveRequest, ReserveResponse,
};
pub use rows::{Row, csv};
pub use spaces::{
    BindClusterRequest, CheckRangesRequest, CheckRangesResponse, Cluster, DeclareSpaceRequest,
    Pool, PoolPage, Space, SpaceMember, SpacePage, Window, WindowCounts, WindowPage,
};
pub use wakeups::{Wakeup, WakeupPage, WakeupReason};
