//! Reading: short statements on the pool, never inside the lane.

mod changes;
mod clusters;
mod difference;
mod events;
mod explain;
mod history;
mod holds;
mod map;
mod moment;
mod reservations;
pub(super) mod rows;
mod spaces;
mod wakeups;

pub use changes::Changes;
pub use clusters::ClusterRow;
pub use difference::{AddressChange, DifferencePage, DifferenceQuery, Moment};
pub use events::{Event, EventQuery};
pub use history::{HistoryPlace, HistoryQuery, Subject};
pub use holds::{Hold, HoldPage, HoldQuery};
pub use map::{AddressState, Density, MapQuery};
pub use reservations::{Reservation, ReservationQuery};
pub use spaces::SpaceRow;
pub use wakeups::{Wakeup, Wakeups};
