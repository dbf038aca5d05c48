//! Integration tests of the ledger on a real PostgreSQL; one database per test.

mod faults;
mod guard;
mod model;
mod owners;
mod smoke;
mod support;
