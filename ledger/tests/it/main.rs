//! Integration tests of the ledger on a real PostgreSQL; one database per test.

mod model;
mod smoke;
mod support;
