//! Connections: one task each.

use std::convert::Infallible;
use std::future::Future;
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::app::App;
use crate::exchange;
use crate::identity::Peer;
use crate::listen::Listener;

/// Pause after a failed accept: the usual reason is that no file descriptor is left, and those
/// come back only when other connections end.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// What every connection needs.
#[derive(Clone)]
pub(super) struct Server {
    pub(super) app: Arc<App>,
    pub(super) router: Router,
    pub(super) connections: TaskTracker,
    /// Finish what was accepted, take nothing new.
    pub(super) stop: CancellationToken,
    /// Drop what is left.
    pub(super) abandon: CancellationToken,
}

/// Accepts until the server stops. The listener is closed then, and a socket file removed.
pub(super) async fn accept(server: Server, listener: Listener) {
    loop {
        tokio::select! {
            biased;
            () = server.stop.cancelled() => return,
            accepted = accept_one(&server, &listener) => if let Err(error) = accepted {
                tracing::warn!(%error, "a connection could not be accepted");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            },
        }
    }
}

async fn accept_one(server: &Server, listener: &Listener) -> io::Result<()> {
    match listener {
        Listener::Tcp(listener) => {
            let (stream, _) = listener.accept().await?;
            // Answers are small and complete: waiting for more to send only delays them.
            stream.set_nodelay(true)?;
            server.spawn(stream, Peer::loopback());
        }
        Listener::Unix(listener, _) => {
            let (stream, _) = listener.accept().await?;
            let uid = stream.peer_cred()?.uid();
            server.spawn(stream, Peer::unix(uid));
        }
    }
    Ok(())
}

impl Server {
    fn spawn(&self, stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static, peer: Peer) {
        let server = self.clone();
        self.connections.spawn(server.serve(stream, peer));
    }

    async fn serve(self, stream: impl AsyncRead + AsyncWrite + Unpin + Send, peer: Peer) {
        let service = service_fn(|request| {
            let answer = exchange::answer(
                Arc::clone(&self.app),
                self.router.clone(),
                peer.clone(),
                request,
            );
            async { Ok::<_, Infallible>(answer.await) }
        });
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(self.app.config.header_time)
            .serve_connection(TokioIo::new(stream), service);
        let mut connection = pin!(connection);
        let ended = tokio::select! {
            biased;
            ended = connection.as_mut() => ended,
            () = self.stop.cancelled() => {
                connection.as_mut().graceful_shutdown();
                unless(&self.abandon, connection).await
            }
        };
        if let Err(error) = ended {
            // The caller's doing: cut off, too slow, or no HTTP. Whoever looks for it finds it.
            tracing::debug!(%error, "a connection ended early");
        }
    }
}

async fn unless<E>(
    abandon: &CancellationToken,
    connection: impl Future<Output = Result<(), E>>,
) -> Result<(), E> {
    tokio::select! {
        biased;
        ended = connection => ended,
        () = abandon.cancelled() => Ok(()),
    }
}
