//! The command line: every value is a flag and an environment variable.

mod arguments;
mod commands;
mod signals;
mod telemetry;

use std::io::Write as _;
use std::process::ExitCode;

use clap::Parser as _;

use arguments::{Arguments, Command};

/// Runs the program: 0 for success, 1 for a failure (one line on stderr), 2 for wrong arguments.
#[must_use]
pub fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match run(arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // With its causes, in one line. If stderr is closed there is nobody to tell.
            let _ = writeln!(std::io::stderr(), "ipledger-api: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: Arguments) -> anyhow::Result<()> {
    if let Command::Openapi = arguments.command {
        std::io::stdout().write_all(crate::routes::openapi_text().as_bytes())?;
        return Ok(());
    }
    telemetry::start(&arguments.log)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    runtime.block_on(commands::run(arguments.command))
}
