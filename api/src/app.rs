//! What all requests share.

use std::sync::Arc;

use axum::body::Bytes;
use ledger::{Ledger, SharedClock};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::config::ServeConfig;
use crate::metrics::Metrics;
use crate::problem::Explainer;

/// Followers of events at a time; each holds a page of them in memory.
const MOST_FOLLOWERS: usize = 256;

/// Makes the ids of requests that come without one.
pub trait IdSource: Send + Sync + 'static {
    /// A new id.
    fn next(&self) -> Uuid;
}

/// UUIDs of version 7: they sort by time.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemIds;

impl IdSource for SystemIds {
    fn next(&self) -> Uuid {
        Uuid::now_v7()
    }
}

/// A shared source of ids.
pub type SharedIds = Arc<dyn IdSource>;

/// What all requests share.
pub(crate) struct App {
    pub(crate) ledger: Ledger,
    pub(crate) clock: SharedClock,
    pub(crate) ids: SharedIds,
    pub(crate) config: ServeConfig,
    pub(crate) metrics: Metrics,
    pub(crate) explainer: Explainer,
    pub(crate) documents: Documents,
    pub(crate) stopping: CancellationToken,
    /// Taken before a connection is, so that whoever has none costs nothing.
    pub(crate) reading: Semaphore,
    /// Taken by each who follows events, for as long as it does.
    pub(crate) following: Arc<Semaphore>,
}

/// Documents that are written once.
pub(crate) struct Documents {
    /// `/openapi.json`.
    pub(crate) openapi: Bytes,
    /// `/`.
    pub(crate) page: Bytes,
}

impl App {
    pub(crate) fn new(
        ledger: Ledger,
        clock: SharedClock,
        ids: SharedIds,
        config: ServeConfig,
        documents: Documents,
    ) -> Self {
        let metrics = Metrics::new(&ledger);
        let reading = Semaphore::new(config.max_reading);
        Self {
            ledger,
            clock,
            ids,
            config,
            metrics,
            explainer: Explainer::default(),
            documents,
            stopping: CancellationToken::new(),
            reading,
            following: Arc::new(Semaphore::new(MOST_FOLLOWERS)),
        }
    }

    /// From here on `/readyz` says no, so that nobody sends new work; and whoever waits for
    /// something new is answered.
    pub(crate) fn stop(&self) {
        self.stopping.cancel();
    }

    pub(crate) fn is_stopping(&self) -> bool {
        self.stopping.is_cancelled()
    }
}
