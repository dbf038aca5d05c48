//! The HTTP API of ipledger as Rust types, and the small blocking client that the CNI plugin
//! uses. No SQL and no Kubernetes in here: what crosses the wire is all this crate knows.
//!
//! Times are RFC 3339 text in UTC with microseconds; addresses are canonical text; durations
//! carry their unit in the name.

#![warn(missing_docs)]

pub mod blocking;
pub mod types;
