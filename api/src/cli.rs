//! The command line: every value is a flag and an environment variable.

mod arguments;
mod commands;
mod health;
mod signals;
mod telemetry;

use std::io::Write as _;
use std::process::ExitCode;

use clap::Parser as _;

use arguments::Arguments;

/// Runs the program: 0 for success, 1 for a failure (one line on stderr), 2 for wrong arguments.
#[must_use]
pub fn main() -> ExitCode {
    match run(Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // With its causes. If stderr is closed there is nobody to tell.
            let _ = writeln!(std::io::stderr(), "ipledger-api: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: Arguments) -> anyhow::Result<()> {
    telemetry::start(&arguments.log)?;
    tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?
        .block_on(commands::run(arguments.command))
}
