//! What the commands do.

use std::io::Write as _;
use std::sync::Arc;

use anyhow::Context as _;
use ledger::{Ledger, SharedClock, StoreConfig, SystemClock};
use tokio_util::sync::CancellationToken;

use super::arguments::{Command, Database, Serve};
use super::signals;
use crate::app::SystemIds;
use crate::config::ServeConfig;
use crate::listen::{ListenAddress, Listener};
use crate::serve::{self, Outside};

pub(super) async fn run(command: Command) -> anyhow::Result<()> {
    match command {
        Command::Serve(arguments) => serve(&arguments).await,
        Command::Migrate(arguments) => migrate(&arguments).await,
        Command::Check(arguments) => check(&arguments).await,
        Command::Openapi => Ok(()),
    }
}

async fn serve(arguments: &Serve) -> anyhow::Result<()> {
    let shutdown = signals::shutdown()?;
    let store = arguments.serving.store(&arguments.database.database_url);
    let Some(server) = Server::open(&store, &arguments.serving.listen, &shutdown).await? else {
        return Ok(());
    };
    for address in server.addresses()? {
        tracing::info!(%address, "listening");
    }
    server.run(arguments.serving.config(), &shutdown).await;
    Ok(())
}

/// A server that is bound and has its ledger open, but does not answer yet.
pub(super) struct Server {
    listeners: Vec<Listener>,
    ledger: Ledger,
    clock: SharedClock,
}

impl Server {
    /// Binds first, since a wrong address should not wait for the database. `None` if the
    /// shutdown came meanwhile.
    pub(super) async fn open(
        store: &StoreConfig,
        listen: &[ListenAddress],
        shutdown: &CancellationToken,
    ) -> anyhow::Result<Option<Self>> {
        let mut listeners = Vec::with_capacity(listen.len());
        for address in listen {
            listeners.push(Listener::bind(address).await?);
        }
        let clock: SharedClock = Arc::new(SystemClock);
        let opening = Ledger::open(store, Arc::clone(&clock));
        let Some(opened) = shutdown.run_until_cancelled(opening).await else {
            return Ok(None);
        };
        Ok(Some(Self {
            listeners,
            ledger: opened.context("the ledger cannot be opened")?,
            clock,
        }))
    }

    /// Where it listens.
    pub(super) fn addresses(&self) -> anyhow::Result<Vec<ListenAddress>> {
        let addresses = self.listeners.iter().map(Listener::address);
        addresses
            .collect::<Result<_, _>>()
            .context("the address of a listener is not known")
    }

    /// Answers until the shutdown.
    pub(super) async fn run(self, config: ServeConfig, shutdown: &CancellationToken) {
        let outside = Outside {
            clock: self.clock,
            ids: Arc::new(SystemIds),
        };
        let shutdown = shutdown.cancelled();
        serve::run(config, self.listeners, self.ledger, outside, shutdown).await;
    }
}

async fn migrate(arguments: &Database) -> anyhow::Result<()> {
    let migrated = ledger::migrate(&arguments.database_url).await?;
    let (applied, version) = (migrated.applied, migrated.version);
    say(&format!(
        "the schema is at version {version}; {applied} migrations were applied"
    ))
}

async fn check(arguments: &Database) -> anyhow::Result<()> {
    let checked = ledger::check(&arguments.database_url).await?;
    let version = checked.version;
    say(&format!(
        "the schema is at version {version}, and the guard is whole"
    ))
}

/// A line of data on stdout.
pub(super) fn say(line: &str) -> anyhow::Result<()> {
    writeln!(std::io::stdout(), "{line}").context("stdout is closed")
}
