//! The client for tokio against servers that misbehave on purpose, over TCP and unix sockets.
#![expect(
    clippy::unwrap_used,
    reason = "a helper that fails is a test that fails"
)]

mod asynchronous;
#[path = "../it/server.rs"]
mod server;
