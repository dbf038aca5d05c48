//! Requests, answers and problems of `/v1`, one file per resource.

mod allocate;
mod attachment;
mod events;
mod garbage;
mod holds;
mod problem;
mod release;
mod spaces;

pub use allocate::{AllocateRequest, AllocateResponse, AllocatedAddress, RangeRequest};
pub use attachment::{Attachment, OrderToken, Owner};
pub use events::{Event, EventPage};
pub use garbage::{GarbageRequest, GarbageResponse, ValidAttachment};
pub use holds::{Hold, HoldPage};
pub use problem::{Holder, Problem, ProblemCode};
pub use release::{
    ImportRequest, ImportResponse, ReleaseHoldRequest, ReleaseHoldResponse, ReleaseRequest,
    ReleaseResponse, ReleasedAddress,
};
pub use spaces::{
    BindClusterRequest, CheckRangesRequest, CheckRangesResponse, Cluster, DeclareSpaceRequest,
    Pool, PoolPage, Space, SpaceMember, SpacePage, Window, WindowCounts, WindowPage,
};