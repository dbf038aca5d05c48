//! `ipledgerctl` as a process, against the real service on a real PostgreSQL.

mod bad_input;
mod commands;
mod documents;
mod following;
mod support;
