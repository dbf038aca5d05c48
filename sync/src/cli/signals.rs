//! SIGINT and SIGTERM.

use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::sync::CancellationToken;

/// A token that the first SIGINT or SIGTERM cancels. A second signal ends the process at once:
/// whoever sends it does not want to wait.
pub(super) fn shutdown() -> io::Result<CancellationToken> {
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let token = CancellationToken::new();
    let stop = token.clone();
    tokio::spawn(async move {
        let first = either(&mut interrupt, &mut terminate).await;
        tracing::info!(signal = first, "stopping");
        stop.cancel();
        let second = either(&mut interrupt, &mut terminate).await;
        tracing::warn!(signal = second, "stopping at once");
        std::process::exit(1);
    });
    Ok(token)
}

async fn either(interrupt: &mut Signal, terminate: &mut Signal) -> &'static str {
    tokio::select! {
        _ = interrupt.recv() => "SIGINT",
        _ = terminate.recv() => "SIGTERM",
    }
}
