//! The command line: flags that all commands share, and the commands.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::commands::{completion, diff, events, history, holds, pools, release, spaces, who};

/// Who has an address, who had it, and who said so.
#[derive(Debug, Parser)]
#[command(
    name = "ipledgerctl",
    version,
    disable_help_subcommand = true,
    after_help = "Times are RFC 3339 (2026-11-24T07:42:00Z), local (2026-11-24 07:42, 07:42), \
        relative (2h ago, 90m ago) or by the day (yesterday 07:42, tuesday 07:42).\n\n\
        Exit codes: 0 done; 1 nothing was found; 2 the arguments cannot be meant; 3 the API cannot \
        be reached or does not answer; 4 the API refused."
)]
pub(crate) struct Arguments {
    #[command(flatten)]
    pub(crate) shared: Shared,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What every command takes.
#[derive(Debug, Args)]
pub(crate) struct Shared {
    /// Addresses of the API, separated by commas, tried in turn.
    #[arg(
        long,
        global = true,
        env = "IPLEDGER_API_URL",
        default_value = "http://127.0.0.1:8311",
        value_name = "URL"
    )]
    pub(crate) api_url: String,
    /// File with the token to send.
    #[arg(long, global = true, env = "IPLEDGER_TOKEN_FILE", value_name = "FILE")]
    pub(crate) token_file: Option<PathBuf>,
    /// How the answer is written.
    #[arg(short, long, global = true, value_enum, default_value_t = Format::Table)]
    pub(crate) output: Format,
    /// Times as they were recorded, not relative to now.
    #[arg(long, global = true)]
    pub(crate) absolute: bool,
    /// How long the API may take, in seconds.
    #[arg(long, global = true, default_value_t = 30, value_name = "SECONDS",
        value_parser = clap::value_parser!(u64).range(1..=3600))]
    pub(crate) timeout: u64,
}

/// How an answer is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// A table for people.
    Table,
    /// The same with more columns.
    Wide,
    /// One JSON document, with `items`.
    Json,
    /// One YAML document, with `items`.
    Yaml,
    /// CSV with a head line.
    Csv,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Who has an address, or had it at some time, and who said so.
    Who(who::Who),
    /// What happened to an address, a pod, a node, a sandbox or a network.
    History(history::History),
    /// What is held, now or at some time.
    Holds(holds::Holds),
    /// Pools and how full they are.
    Pools(pools::Pools),
    /// The ledger row by row, one event in full, or as events come.
    Events(events::Events),
    /// Which addresses changed hands between two times.
    Diff(diff::Diff),
    /// End a hold by hand; the reason is recorded.
    Release(release::Release),
    /// Spaces and the heads of their streams.
    Spaces(spaces::Spaces),
    /// Completion for a shell.
    Completion(completion::Completion),
}
