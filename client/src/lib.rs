//! The HTTP API of ipledger as Rust types, and two clients: a small blocking one, which the CNI
//! plugin uses, and with the feature `asynchronous` one for tokio. No SQL and no Kubernetes in
//! here: what crosses the wire is all this crate knows.
//!
//! Times are RFC 3339 text in UTC with microseconds; addresses are canonical text; durations
//! carry their unit in the name.

#![warn(missing_docs)]

mod address;
#[cfg(feature = "asynchronous")]
pub mod asynchronous;
mod backoff;
pub mod blocking;
mod budget;
mod error;
mod header;
mod outcome;
mod target;
pub mod types;

pub use address::{ApiAddress, ApiAddressError};
pub use budget::Budget;
pub use error::{AddressFailure, ClientError, io_error_text};
