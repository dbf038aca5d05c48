//! The CNI IPAM plugin: one short-lived process per call. It reads the call, asks the ledger's
//! HTTP API, and prints the result in the shape of the requested `cniVersion`.
//!
//! Data goes one way: `input` reads and judges what the runtime and the user wrote, `verbs`
//! decides with the API's answer, [`result`] and [`error`] give it the form of the protocol. What
//! could not be delivered waits in the [`queue`]. Everything outside comes in through [`Call`],
//! so every path can be tested in process.

pub mod error;
pub mod install;
pub mod queue;
pub mod result;

mod commands;
mod host;
mod input;
mod log;
mod verbs;
mod version;

use std::ffi::OsString;
use std::io::{Read, Write};

pub use host::Host;
pub use version::CniVersion;

/// Everything a run of the plugin sees of the world.
pub struct Call<'a> {
    /// The command line, with the name that the program was called by.
    pub arguments: &'a [OsString],
    /// Reads one environment variable.
    pub variable: &'a dyn Fn(&str) -> Option<OsString>,
    /// The network configuration.
    pub stdin: &'a mut dyn Read,
    /// The protocol: one JSON object or nothing.
    pub stdout: &'a mut dyn Write,
    /// Messages for people.
    pub stderr: &'a mut dyn Write,
    /// Files, boot and time of the node.
    pub host: &'a Host,
}

/// Runs one call and returns the exit status: 0 for success, anything else for a failure that
/// was printed.
pub fn dispatch(call: Call<'_>) -> u8 {
    match (call.variable)("CNI_COMMAND").filter(|command| !command.is_empty()) {
        Some(_) => verbs::run(call),
        None => commands::run(call),
    }
}

/// Reads a call as ADD does, with everything that can be wrong with it, and says what it would
/// ask the API for, without asking; `None` if it needs nothing of the API. What reads costs and
/// whether it can fail in any unforeseen way is measured here.
///
/// # Errors
/// What ADD would print.
pub fn plan(
    call: Call<'_>,
) -> Result<Option<ipledger_client::types::AllocateRequest>, error::CniError> {
    verbs::plan(call)
}
