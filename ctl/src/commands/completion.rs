//! `completion`: what a shell needs to complete command lines.

use clap::{Args, CommandFactory as _};
use clap_complete::Shell;

use crate::arguments::Arguments;
use crate::error::{Ended, Error};
use crate::output::print;

/// Completion for a shell.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ipledgerctl completion bash")]
pub(crate) struct Completion {
    /// The shell.
    #[arg(value_enum)]
    shell: Shell,
}

impl Completion {
    pub(crate) fn run(&self) -> Result<Ended, Error> {
        let mut text = Vec::new();
        let mut command = Arguments::command();
        clap_complete::generate(self.shell, &mut command, "ipledgerctl", &mut text);
        print(&String::from_utf8_lossy(&text))?;
        Ok(Ended::Done)
    }
}
