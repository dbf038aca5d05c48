//! What the database itself refuses, and what is asserted about it before anything is served.

mod append;
mod call;
pub(crate) mod chain;
mod contention;
mod crowd;
mod raw;
mod rights;
pub(crate) mod sql;
