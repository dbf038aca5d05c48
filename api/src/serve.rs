//! Serving: accept, answer, and stop without leaving anybody unanswered.

mod connection;

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use ledger::{Ledger, SharedClock};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::app::{App, SharedIds};
use crate::config::ServeConfig;
use crate::listen::Listener;
use crate::routes;

/// How long callers get to read the last answers after the drain time.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// What a server takes from the outside world.
pub struct Outside {
    /// Tells the time.
    pub clock: SharedClock,
    /// Makes the ids of requests.
    pub ids: SharedIds,
}

/// Serves until `shutdown` is done: then accepts nothing more, answers every request that was
/// accepted (for at most the drain time), and closes the ledger.
pub async fn run(
    config: ServeConfig,
    listeners: Vec<Listener>,
    ledger: Ledger,
    outside: Outside,
    shutdown: impl Future<Output = ()>,
) {
    let drain_time = config.drain_time;
    let (router, documents) = routes::assemble();
    let app = Arc::new(App::new(
        ledger.clone(),
        outside.clock,
        outside.ids,
        config,
        documents,
    ));
    let router = router.with_state(Arc::clone(&app));
    let server = connection::Server {
        app: Arc::clone(&app),
        router,
        connections: TaskTracker::new(),
        stop: CancellationToken::new(),
        abandon: CancellationToken::new(),
    };
    let acceptors = TaskTracker::new();
    for listener in listeners {
        acceptors.spawn(connection::accept(server.clone(), listener));
    }
    acceptors.close();
    shutdown.await;
    tracing::info!(
        requests_in_flight = app.metrics.in_flight.get(),
        "stopping: no new connections"
    );
    app.stop();
    server.stop.cancel();
    acceptors.wait().await;
    drain(&server, drain_time).await;
    // The lane ends when the last handle on it is gone.
    drop((server, app));
    ledger.close().await;
    tracing::info!("stopped");
}

/// Waits for the connections to end by themselves.
async fn drain(server: &connection::Server, drain_time: Duration) {
    server.connections.close();
    if tokio::time::timeout(drain_time, server.connections.wait())
        .await
        .is_ok()
    {
        return;
    }
    tracing::warn!(
        connections = server.connections.len(),
        drain_seconds = drain_time.as_secs(),
        "the drain time is over; the remaining connections are closed"
    );
    server.abandon.cancel();
    // Cancelled connections end at their next wake-up, which the token gives them.
    let _ = tokio::time::timeout(LAST_WORDS, server.connections.wait()).await;
}
