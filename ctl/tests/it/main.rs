//! `ipledgerctl` as a process, against the real service on a real PostgreSQL.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests, which the lint does not recognise"
)]

mod bad_input;
mod commands;
mod documents;
mod following;
mod support;
