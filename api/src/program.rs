//! The service wired to the operating system: its sockets, its clock, its signals.

use std::sync::Arc;

use anyhow::Context as _;
use ledger::{Ledger, SharedClock, StoreConfig, SystemClock};
use tokio_util::sync::CancellationToken;

use crate::app::SystemIds;
use crate::config::ServeConfig;
use crate::listen::{ListenAddress, Listener};
use crate::serve::{self, Outside};

/// Listeners that are bound; whoever connects waits until the ledger is open.
pub(crate) struct Bound(Vec<Listener>);

impl Bound {
    /// Binds all addresses, or none: a wrong one should not wait for the database.
    pub(crate) async fn bind(listen: &[ListenAddress]) -> anyhow::Result<Self> {
        let mut listeners = Vec::with_capacity(listen.len());
        for address in listen {
            listeners.push(Listener::bind(address).await?);
        }
        Ok(Self(listeners))
    }

    /// Where they listen; with the ports that were taken, if any was right.
    pub(crate) fn addresses(&self) -> anyhow::Result<Vec<ListenAddress>> {
        let addresses = self.0.iter().map(Listener::address);
        addresses
            .collect::<Result<_, _>>()
            .context("the address of a listener is not known")
    }

    /// Opens the ledger. `None` if the shutdown came meanwhile.
    pub(crate) async fn open(
        self,
        store: &StoreConfig,
        shutdown: &CancellationToken,
    ) -> anyhow::Result<Option<Service>> {
        let clock: SharedClock = Arc::new(SystemClock);
        let opening = Ledger::open(store, Arc::clone(&clock));
        let Some(opened) = shutdown.run_until_cancelled(opening).await else {
            return Ok(None);
        };
        Ok(Some(Service {
            listeners: self.0,
            ledger: opened.context("the ledger cannot be opened")?,
            clock,
        }))
    }
}

/// A service that has all it needs and does not answer yet.
pub(crate) struct Service {
    listeners: Vec<Listener>,
    ledger: Ledger,
    clock: SharedClock,
}

impl Service {
    /// Answers until the shutdown.
    pub(crate) async fn run(self, config: ServeConfig, shutdown: &CancellationToken) {
        let outside = Outside {
            clock: self.clock,
            ids: Arc::new(SystemIds),
        };
        let shutdown = shutdown.cancelled();
        serve::run(config, self.listeners, self.ledger, outside, shutdown).await;
    }
}
