//! Flags and environment variables.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand};
use ledger::StoreConfig;

use crate::config::ServeConfig;
use crate::listen::{ListenAddress, ListenError};

/// HTTP API over the address ledger: allocate, release, history.
///
/// Every flag can also be set by the environment variable beside it; the flag wins.
#[derive(Debug, Parser)]
#[command(name = "ipledger-api", version, max_term_width = 100, after_help = EXAMPLES)]
pub(super) struct Arguments {
    #[command(subcommand)]
    pub(super) command: Command,
    /// What to log: a level, or levels by target.
    ///
    /// `info` logs every request that was refused or failed. To see all requests, write
    /// `info,ipledger_api::request=debug`. On a terminal the log is text, elsewhere JSON.
    #[arg(
        long,
        env = "IPLEDGER_LOG",
        value_name = "FILTER",
        default_value = "info,sqlx=warn",
        global = true
    )]
    pub(super) log: String,
}

const EXAMPLES: &str = "\
Examples:
  Try it, with a PostgreSQL of its own:
    ipledger-api dev

  Set a database up, then serve:
    ipledger-api migrate --database-url postgres://postgres@db/ipledger
    ipledger-api serve --database-url postgres://ipledger_app@db/ipledger \\
      --listen 127.0.0.1:8311,unix:/run/ipledger/api.sock

  Ask for an address:
    curl http://127.0.0.1:8311/v1/allocate -H 'Content-Type: application/json' -d '{
      \"attachment\": {\"cluster\": \"prod\", \"network\": \"macvlan-conf\",
                     \"container_id\": \"4fe2a1\", \"ifname\": \"net1\"},
      \"ranges\": [{\"range\": \"10.10.3.0/24\"}]}'";

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Answer requests until SIGINT or SIGTERM.
    ///
    /// On the signal, no new connection is accepted, every request that was accepted is
    /// answered (for at most the drain time), and the process ends with 0.
    Serve(Serve),
    /// Bring the database's schema up to date.
    ///
    /// Forward only, under a lock, so several replicas may start it at once. Refused against a
    /// newer schema and a PostgreSQL older than 14. Needs a role that may create roles, or
    /// <database>_migrator after the first time.
    Migrate(Migrate),
    /// Say that history may have been shortened: after a restore, or an unsafe failover.
    ///
    /// Every event and receipt from then on carries the new epoch, which is printed. Run it before
    /// the service is started again. Needs the role that migrates.
    BeginEpoch(BeginEpoch),
    /// Run everything on this machine: PostgreSQL, migrations and the service.
    ///
    /// Finds the PostgreSQL server binaries, keeps a cluster in a directory of its own with
    /// durable settings, reachable over a unix socket only, and stops it on SIGINT or SIGTERM.
    /// After a crash or kill -9, start it again: it recovers by itself.
    Dev(Dev),
    /// Check that the database is set up as it must be: schema, constraints, triggers, grants.
    Check(Database),
    /// Ask a running service whether it would serve requests, for the health check of a container.
    ///
    /// Asks every address that it listens on. Ends with 0 if all are ready, else with 1 and the
    /// reason, within 2 seconds.
    Health(Listen),
    /// Print the OpenAPI document.
    Openapi,
}

#[derive(Debug, Args)]
pub(super) struct Database {
    /// Where the ledger is, for example postgres://ipledger_app@db/ipledger.
    #[arg(
        long,
        env = "IPLEDGER_DATABASE_URL",
        value_name = "URL",
        hide_env_values = true
    )]
    pub(super) database_url: String,
}

#[derive(Debug, Args)]
pub(super) struct Migrate {
    #[command(flatten)]
    pub(super) database: Database,
    /// File with the password that the services' role <database>_app gets.
    ///
    /// IPLEDGER_APP_PASSWORD may hold the password itself. Without either the role keeps what
    /// it has: none at first, so only peer, trust or certificate authentication let it in.
    #[arg(long, env = "IPLEDGER_APP_PASSWORD_FILE", value_name = "FILE")]
    pub(super) app_password_file: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(super) struct BeginEpoch {
    #[command(flatten)]
    pub(super) database: Database,
    /// What happened, for whoever reads the history later.
    #[arg(
        long,
        env = "IPLEDGER_EPOCH_REASON",
        value_name = "TEXT",
        value_parser = reason
    )]
    pub(super) reason: String,
}

fn reason(text: &str) -> Result<String, String> {
    match text.trim() {
        "" => Err("a reason is needed".to_owned()),
        text if text.chars().count() > 500 => Err("is longer than 500 characters".to_owned()),
        text if text.chars().any(char::is_control) => Err("has control characters".to_owned()),
        text => Ok(text.to_owned()),
    }
}

#[derive(Debug, Args)]
pub(super) struct Serve {
    #[command(flatten)]
    pub(super) database: Database,
    #[command(flatten)]
    pub(super) serving: Serving,
}

#[derive(Debug, Args)]
pub(super) struct Dev {
    /// Where PostgreSQL keeps its data; made if it is absent.
    ///
    /// Without it: $XDG_DATA_HOME/ipledger/dev, else $HOME/.local/share/ipledger/dev; as root
    /// /var/lib/ipledger/dev, since PostgreSQL then runs as another user.
    #[arg(long, env = "IPLEDGER_DATA_DIR", value_name = "DIR")]
    pub(super) data_dir: Option<PathBuf>,
    /// Directory of the PostgreSQL server binaries; found by itself if not given.
    #[arg(long, env = "IPLEDGER_POSTGRES_BIN", value_name = "DIR")]
    pub(super) postgres_bin: Option<PathBuf>,
    /// Let PostgreSQL listen on 127.0.0.1 at this port as well, with a password.
    #[arg(long, env = "IPLEDGER_POSTGRES_PORT", value_name = "PORT",
          value_parser = clap::value_parser!(u16).range(1..))]
    pub(super) postgres_port: Option<u16>,
    #[command(flatten)]
    pub(super) serving: Serving,
}

#[derive(Debug, Args)]
pub(super) struct Listen {
    /// Where the service listens: several, separated by commas.
    ///
    /// host:port on loopback, or unix:/path (mode 0660). Other addresses are refused: this
    /// version cannot tell callers apart.
    #[arg(
        long,
        env = "IPLEDGER_LISTEN",
        value_name = "ADDRESS",
        value_delimiter = ',',
        default_value = "127.0.0.1:8311"
    )]
    listen: Vec<String>,
}

impl Listen {
    /// Read here and not by the parser, whose refusal would take three lines.
    pub(super) fn addresses(&self) -> Result<Vec<ListenAddress>, ListenError> {
        self.listen.iter().map(|text| text.parse()).collect()
    }
}

/// How to serve.
#[derive(Debug, Args)]
pub(super) struct Serving {
    #[command(flatten)]
    listen: Listen,
    /// Longest request body, in bytes.
    #[arg(long, env = "IPLEDGER_BODY_LIMIT_BYTES", value_name = "BYTES", default_value_t = 1 << 20,
          value_parser = clap::value_parser!(u32).range(1..))]
    body_limit_bytes: u32,
    /// How long the head of a request may take, and a connection may be idle.
    #[arg(long, env = "IPLEDGER_HEADER_SECONDS", value_name = "SECONDS", default_value_t = 30,
          value_parser = clap::value_parser!(u32).range(1..))]
    header_seconds: u32,
    /// How long a request may take in all; its own deadline_ms may be shorter.
    #[arg(long, env = "IPLEDGER_REQUEST_SECONDS", value_name = "SECONDS", default_value_t = 30,
          value_parser = clap::value_parser!(u32).range(1..))]
    request_seconds: u32,
    /// How long the shutdown waits for requests that were accepted.
    #[arg(
        long,
        env = "IPLEDGER_DRAIN_SECONDS",
        value_name = "SECONDS",
        default_value_t = 30
    )]
    drain_seconds: u32,
    /// How far apart two CNI GC lists must be for the second to free an address.
    #[arg(
        long,
        env = "IPLEDGER_GC_GRACE_SECONDS",
        value_name = "SECONDS",
        default_value_t = 60
    )]
    gc_grace_seconds: u32,
    /// How many requests may wait for the writer; more are answered with 503.
    #[arg(long, env = "IPLEDGER_MAX_WAITING", value_name = "COUNT", default_value_t = 4096,
          value_parser = clap::value_parser!(u32).range(1..))]
    max_waiting: u32,
    /// How many requests are written in one transaction at most.
    #[arg(long, env = "IPLEDGER_BATCH_MAX", value_name = "COUNT", default_value_t = 256,
          value_parser = clap::value_parser!(u32).range(1..))]
    batch_max: u32,
    /// How many requests may read, or wait for a connection to do so; more are answered with 503.
    #[arg(long, env = "IPLEDGER_MAX_READING", value_name = "COUNT", default_value_t = 256,
          value_parser = clap::value_parser!(u32).range(1..))]
    max_reading: u32,
    /// How many database connections reads may use.
    #[arg(long, env = "IPLEDGER_READ_CONNECTIONS", value_name = "COUNT", default_value_t = 8,
          value_parser = clap::value_parser!(u32).range(1..))]
    read_connections: u32,
}

impl Serving {
    /// Where to listen.
    pub(super) fn listen(&self) -> Result<Vec<ListenAddress>, ListenError> {
        self.listen.addresses()
    }

    /// Limits and times of the server.
    pub(super) fn config(&self) -> ServeConfig {
        let seconds = |seconds: u32| Duration::from_secs(seconds.into());
        ServeConfig {
            body_limit_bytes: count(self.body_limit_bytes),
            header_time: seconds(self.header_seconds),
            request_time: seconds(self.request_seconds),
            drain_time: seconds(self.drain_seconds),
            max_reading: count(self.max_reading),
            garbage_grace: seconds(self.gc_grace_seconds),
        }
    }

    /// The ledger behind this URL.
    pub(super) fn store(&self, database_url: &str) -> StoreConfig {
        StoreConfig {
            max_waiting: count(self.max_waiting),
            batch_max: count(self.batch_max),
            read_connections: self.read_connections,
            ..StoreConfig::new(database_url)
        }
    }
}

fn count(number: u32) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    fn parse(line: &str) -> Result<Arguments, clap::Error> {
        Arguments::try_parse_from(line.split(' '))
    }

    #[test]
    fn the_definition_is_sound() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn every_setting_has_an_environment_variable_and_a_text() {
        for command in Arguments::command().get_subcommands() {
            let own = |id: &str| !matches!(id, "help" | "version");
            for argument in command.get_arguments().filter(|a| own(a.get_id().as_str())) {
                let id = argument.get_id();
                let variable = argument.get_env().and_then(|name| name.to_str());
                assert!(
                    variable.is_some_and(|name| name.starts_with("IPLEDGER_")),
                    "{id}"
                );
                assert!(argument.get_help().is_some(), "{id}");
            }
        }
    }

    #[test]
    fn several_addresses_are_listened_on() {
        let line = "ipledger-api serve --database-url postgres://x \
                    --listen 127.0.0.1:0,unix:/tmp/s";
        let Command::Serve(serve) = parse(line).unwrap().command else {
            panic!("serve was asked for");
        };
        let listen = serve.serving.listen().unwrap();
        let listen: Vec<String> = listen.iter().map(ToString::to_string).collect();
        assert_eq!(listen, ["127.0.0.1:0", "unix:/tmp/s"]);
    }
}
