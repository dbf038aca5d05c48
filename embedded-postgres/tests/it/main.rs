//! Against the PostgreSQL of this machine.

mod binaries;
mod crash;
mod directories;
mod lifecycle;
mod orphans;
mod support;
mod test_database;
mod with_postgres;
