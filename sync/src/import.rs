//! Takes over what whereabouts recorded: its objects are read once, deliberately, and become holds
//! in the ledger.
//!
//! [`Inventory`] is what was read, from a cluster or from files; [`analyse`] says what of it is
//! inconsistent and what is to be imported. These are pure. An entry that cannot be right is
//! reported and left out; one that may be in use is imported even if something about it is odd,
//! because an address that the ledger does not know is handed out again.

mod analysis;
mod definitions;
mod entries;
mod evidence;
mod finding;
mod inventory;
mod live;
mod pods;
mod report;
mod submit;

pub use analysis::{Analysis, Choices, Importable, analyse};
pub use definitions::Definitions;
pub use finding::{Finding, FindingKind, Outcome};
pub use inventory::{Inventory, ReadError, SourceObject};
pub use live::{LiveError, read_cluster};
pub use pods::{NodeFacts, PodFacts, PodName, Pods};
pub use report::Report;
pub use submit::{Refused, SubmitError, Submitted, submit};
