//! Web pages: the ledger to look at. Rendered here, read through the ledger's read functions; the
//! few lines of script only make pages handier, nothing needs them but the live events.
//!
//! ```text
//! query ──▶ one file per page: View (lead, tables, stamp) ──▶ answer: HTML, or one table as CSV
//! ```

pub(crate) mod address;
mod answer;
pub(crate) mod assets;
pub(crate) mod event;
mod events_table;
pub(crate) mod find;
mod layout;
mod links;
pub(crate) mod live;
mod newest;
pub(crate) mod operations;
pub(crate) mod overview;
mod past;
pub(crate) mod pod;
pub(crate) mod pool;
mod stamp;
mod strip;
mod table;
mod words;
