//! The HTTP API of ipledger.
//!
//! ```text
//! listen ──▶ serve (connections) ──▶ exchange (id, log, metrics, problem bodies)
//!                                       │
//!                                       ▼
//!            input, check ──▶ routes ──▶ ledger ──SQL──▶ PostgreSQL
//! ```
//!
//! [`serve::run`] takes listeners, clock, ids and shutdown from its caller; [`cli`] is the only
//! place that takes them from the operating system.

mod app;
mod check;
pub mod cli;
pub mod config;
mod context;
mod dev;
mod exchange;
pub mod identity;
mod input;
pub mod listen;
mod metrics;
mod openapi;
pub mod operation;
pub mod problem;
mod program;
mod read;
mod represent;
mod routes;
pub mod serve;
mod wire;

pub use app::{IdSource, SharedIds, SystemIds};
pub use config::ServeConfig;
pub use context::REQUEST_ID_HEADER;
pub use listen::{ListenAddress, Listener};
pub use routes::openapi_text;
