//! A database of its own for every test, on one server per test run.
//!
//! ```no_run
//! # async fn test() {
//! use embedded_postgres::testing::TestDatabase;
//!
//! let database = TestDatabase::create().await;
//! let (client, connection) =
//!     tokio_postgres::connect(&database.url(), tokio_postgres::NoTls).await.unwrap();
//! # }
//! ```
//!
//! The server is the one that `IPLEDGER_TEST_POSTGRES` names (the program `with-postgres` sets
//! it for a whole run), else one that this process starts when the first test asks for it.

mod database;
mod server;
mod watchdog;

pub use database::TestDatabase;
pub use server::{SERVER_VARIABLE, TestServer};
