//! The command line: every value is a flag and an environment variable.

mod arguments;
mod commands;
mod connect;
mod cron;
mod duration;
mod projection;
mod signals;
mod takeover;
mod telemetry;

use std::io::Write as _;
use std::process::ExitCode;

use clap::Parser as _;

use arguments::{Arguments, Command};

/// Something differs, for `once`; is odd or missing, for `import-whereabouts` and `cut-over`.
const DIFFERS: u8 = 1;
/// It failed, for those, where 1 says something else. Wrong arguments end so everywhere.
const FAILED: u8 = 2;

/// Runs the program. `run`: 0 after a signal, 1 for a failure (one line on stderr). `once`: 0 if
/// nothing differs, 1 if something does, 2 for a failure; so the commands for taking over. Wrong
/// arguments: 2.
#[must_use]
pub fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let failed = match arguments.command {
        Command::Run(_) => ExitCode::FAILURE,
        Command::Once(_) | Command::ImportWhereabouts(_) | Command::CutOver(_) => {
            ExitCode::from(FAILED)
        }
    };
    match run(arguments) {
        Ok(commands::Ended::Well) => ExitCode::SUCCESS,
        Ok(commands::Ended::Differs) => ExitCode::from(DIFFERS),
        Err(error) => {
            // With its causes. If stderr is closed there is nobody to tell.
            let _ = writeln!(std::io::stderr(), "ipledger-sync: {error:#}");
            failed
        }
    }
}

fn run(arguments: Arguments) -> anyhow::Result<commands::Ended> {
    telemetry::start(&arguments.log)?;
    tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?
        .block_on(commands::run(arguments.command))
}

/// To standard output.
fn print(text: &str) -> anyhow::Result<()> {
    let mut stdout = std::io::stdout().lock();
    stdout.write_all(text.as_bytes())?;
    Ok(stdout.flush()?)
}
