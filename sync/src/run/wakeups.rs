//! Wake-ups: somewhere an allocate was refused for lack of an address.

use std::sync::Arc;
use std::time::Duration;

use ipledger_client::ClientError;
use ipledger_client::asynchronous::Client;
use ipledger_client::types::WakeupPage;
use tokio::sync::mpsc;

use crate::metrics::Metrics;
use crate::window::Window;

/// How long the ledger is to wait for one.
const WAIT: Duration = Duration::from_secs(25);
/// After a failure.
const PAUSE: Duration = Duration::from_secs(1);

/// Waits for wake-ups of this cluster and hands their windows on, until nobody takes them any
/// more. Those from before the start are passed over: the first pass looks at everything.
pub(super) async fn follow(
    ledger: Arc<Client>,
    cluster: String,
    metrics: Metrics,
    windows: mpsc::Sender<Window>,
) {
    let (mut after, mut caught_up) = (0, false);
    loop {
        let wait = if caught_up { WAIT } else { Duration::ZERO };
        let Some(page) = or_pause(ledger.wakeups(&cluster, after, wait).await).await else {
            continue;
        };
        after = page.next;
        if !caught_up {
            caught_up = page.wakeups.is_empty();
            continue;
        }
        for wakeup in &page.wakeups {
            metrics.wakeups.inc();
            let Some(window) = Window::of(wakeup) else {
                tracing::warn!(id = wakeup.id, "a wake-up names no addresses");
                continue;
            };
            if windows.send(window).await.is_err() {
                return;
            }
        }
    }
}

/// A failure is told by the passes, which need the ledger too.
async fn or_pause(page: Result<WakeupPage, ClientError>) -> Option<WakeupPage> {
    match page {
        Ok(page) => Some(page),
        Err(error) => {
            tracing::debug!(kind = error.kind(), %error, "no wake-ups");
            tokio::time::sleep(PAUSE).await;
            None
        }
    }
}
