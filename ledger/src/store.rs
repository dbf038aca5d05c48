//! Storing and reading: around the pure core, the only SQL of the project.
//!
//! One writer lane decides and appends (tokio-postgres, because it shows server notices); reads
//! go through a pool (sqlx) and never wait for the lane.

mod append;
mod batch;
mod boots;
mod calls;
mod catch_up;
mod clusters;
mod connection;
mod epoch;
mod follow;
mod garbage;
mod guard;
mod lane;
mod ledger;
mod load;
mod metrics;
mod migrate;
mod read;
mod subjects;
mod tls;
mod wake;
mod watch;

pub use clusters::{ClusterReleased, ReleaseCluster};
pub use epoch::begin_epoch;
pub use follow::{FollowQuery, Followed};
pub use garbage::{GarbageFailure, GarbageList, GarbageResult};
pub use guard::{Checked, check};
pub use ledger::{Ledger, StoreConfig};
pub use migrate::{Migrated, migrate, set_app_password};
pub use read::{
    AddressChange, AddressState, Changes, ClusterRow, Density, DifferencePage, DifferenceQuery,
    Event, EventQuery, HistoryPlace, HistoryQuery, Hold, HoldPage, HoldQuery, MapQuery, Moment,
    Reservation, ReservationQuery, SpaceRow, Subject, Wakeup, Wakeups,
};
