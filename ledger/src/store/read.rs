//! Reading: short statements on the pool, never inside the lane.

mod events;
mod holds;
mod rows;
mod spaces;

pub use events::{Event, EventQuery};
pub use holds::{Hold, HoldPage, HoldQuery};
pub use spaces::SpaceRow;
