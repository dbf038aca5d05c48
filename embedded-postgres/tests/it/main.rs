//! Against the PostgreSQL of this machine.

mod test_database;
