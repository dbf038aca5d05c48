//! The log: to stderr, as text on a terminal, as JSON elsewhere.

use std::io::{IsTerminal as _, stderr};

use anyhow::Context as _;
use tracing_subscriber::EnvFilter;

/// Starts logging what the filter lets through.
pub(super) fn start(filter: &str) -> anyhow::Result<()> {
    let filter = EnvFilter::try_new(filter)
        .with_context(|| format!("log {filter:?} is not a filter; write one such as info"))?;
    let builder = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(stderr);
    let started = if stderr().is_terminal() {
        builder.try_init()
    } else {
        builder.json().flatten_event(true).try_init()
    };
    started.map_err(|error| anyhow::anyhow!("the log cannot be started: {error}"))
}
