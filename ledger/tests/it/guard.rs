//! What the database itself refuses, and what is asserted about it before anything is served.

mod append;
pub(crate) mod call;
pub(crate) mod chain;
mod contention;
mod crowd;
mod dropped;
mod migrating;
mod opening;
mod opening_rights;
mod plans;
mod raw;
mod rights;
pub(crate) mod sql;
