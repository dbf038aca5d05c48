//! The projection, the import and the cut-over against a real API server, the real API and a real
//! PostgreSQL.
#![cfg(test)]

mod consistency;
mod cut_over;
mod import;
mod incumbent;
mod large;
mod reporter;
mod restore;
mod support;
mod withheld;
