//! Integration tests of the ledger on a real PostgreSQL; one database per test.

mod clusters;
mod encoding;
mod epoch;
mod faults;
mod guard;
mod history;
mod model;
mod outcomes;
mod owners;
mod smoke;
mod support;
mod waiting;
