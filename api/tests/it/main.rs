//! The API over HTTP, on a real PostgreSQL: one binary, so that it links once and shares one
//! server.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests, which the lint does not recognise"
)]

mod allocate;
mod bad_input;
mod clusters;
mod dev;
mod documents;
mod events;
mod faults;
mod follow;
mod garbage;
mod history;
mod holds;
mod imports;
mod limits;
mod program;
mod release;
mod service;
mod shutdown;
mod spaces;
mod support;
mod unix;
mod waiting;
mod windows;
