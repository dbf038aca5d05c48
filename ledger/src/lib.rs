//! The address ledger: pure decisions, and the only SQL of the project.
//!
//! ```text
//! command ──▶ decide (pure: State + command -> events or one refusal)
//!                │ events
//!                ▼
//!             store (writer lane: batches, one `append` call) ──SQL──▶ PostgreSQL (guard)
//! ```
//!
//! What always holds:
//! - An address has at most one holder. The database's constraints say so; memory is a hint.
//! - Nothing is acknowledged before it is committed; an outcome that is not known is called so.
//! - A release names the event it ends: address and step.
//! - No clock, no randomness and no I/O in `decide`, `state` and `event`.

#![warn(missing_docs)]

pub mod answer;
pub mod clock;
pub mod command;
pub mod decide;
pub mod error;
pub mod event;
pub mod model;
pub mod refusal;
pub mod state;
mod store;
#[cfg(any(test, feature = "testing"))]
pub mod testing;

pub use answer::Answer;
pub use clock::{Clock, SharedClock, SystemClock};
pub use command::Command;
pub use error::Error;
pub use refusal::Refusal;
pub use store::{
    AddressChange, AddressState, Changes, Checked, ClusterReleased, ClusterRow, Density,
    DifferencePage, DifferenceQuery, Event, EventQuery, FollowQuery, Followed, GarbageFailure,
    GarbageList, GarbageResult, HistoryPlace, HistoryQuery, Hold, HoldPage, HoldQuery, Ledger,
    MapQuery, Migrated, Moment, ReleaseCluster, Reservation, ReservationQuery, SpaceRow,
    StoreConfig, Subject, Wakeup, Wakeups, begin_epoch, check, migrate, set_app_password,
};
