//! `ipledgerctl`: the ledger's history and state for auditors and on-call engineers, over HTTP.
//!
//! One file per command in `commands/`: its arguments, its examples, and what it does. A command
//! makes a [`listing::Listing`]; `output` writes it as a table, JSON, YAML or CSV.

mod arguments;
mod commands;
mod connect;
mod error;
mod listing;
mod lists;
mod output;
mod time;

use std::io::Write as _;
use std::process::ExitCode;

use clap::Parser as _;

use arguments::Arguments;
use error::Ended;

/// Runs the program. Exit codes: 0 done, 1 nothing was found, 2 the arguments cannot be meant, 3
/// the API cannot be reached or does not answer, 4 the API refused.
#[must_use]
pub fn main() -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => {
            // If the stream is closed there is nobody to tell.
            let _ = error.print();
            return ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(error::USAGE));
        }
    };
    match run(arguments) {
        Ok(Ended::Done) => ExitCode::SUCCESS,
        Ok(Ended::NothingFound) => ExitCode::from(error::NOTHING_FOUND),
        Err(error) if error.is_closed_pipe() => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "ipledgerctl: {error}");
            ExitCode::from(error.exit_code())
        }
    }
}

fn run(arguments: Arguments) -> Result<Ended, error::Error> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(error::Error::Output)?;
    runtime.block_on(commands::run(arguments))
}
