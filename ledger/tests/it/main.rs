//! Integration tests of the ledger on a real PostgreSQL; one database per test.

mod encoding;
mod faults;
mod guard;
mod model;
mod outcomes;
mod owners;
mod smoke;
mod support;
