//! `/metrics`, `/healthz` and `/readyz`.

use std::sync::Arc;

use anyhow::Context as _;
use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::metrics::Metrics;
use crate::reclaim::{Reclaim, ReclaimState};

/// What is shown.
pub(crate) struct Shown {
    /// Under `/metrics`.
    pub(crate) metrics: Metrics,
    /// Decides about `/readyz`.
    pub(crate) reclaim: ReclaimState,
    /// What this replica does.
    pub(crate) role: Box<dyn Fn() -> Role + Send + Sync>,
}

/// What a replica does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// It has not reached the API server yet.
    Starting,
    /// Another replica acts.
    StandingBy,
    /// It has the Lease.
    Acting,
}

/// Answers until the shutdown.
///
/// # Errors
/// The listener failed.
pub(crate) async fn serve(
    listener: TcpListener,
    shown: Shown,
    shutdown: CancellationToken,
) -> anyhow::Result<()> {
    let router = Router::new()
        .route("/healthz", get(async || "ok\n"))
        .route("/readyz", get(ready))
        .route("/metrics", get(metrics))
        .with_state(Arc::new(shown));
    axum::serve(listener, router)
        .with_graceful_shutdown(shutdown.cancelled_owned())
        .await
        .context("the metrics server failed")
}

/// Ready to act, or to take over. Not while holds cannot be judged: whoever rolls a new version
/// out should see that.
async fn ready(State(shown): State<Arc<Shown>>) -> (StatusCode, String) {
    match ((shown.role)(), shown.reclaim.get()) {
        (Role::StandingBy, _) => (StatusCode::OK, "standing by\n".to_owned()),
        (Role::Acting, Reclaim::Active) => (StatusCode::OK, "acting\n".to_owned()),
        (Role::Starting, _) | (Role::Acting, Reclaim::Starting) => {
            (StatusCode::SERVICE_UNAVAILABLE, "starting\n".to_owned())
        }
        (
            Role::Acting,
            Reclaim::OnHold {
                reason, message, ..
            },
        ) => (
            StatusCode::SERVICE_UNAVAILABLE,
            format!("reclaim is on hold, {reason}: {message}\n"),
        ),
    }
}

async fn metrics(State(shown): State<Arc<Shown>>) -> Response {
    match shown.metrics.encode() {
        Ok(text) => {
            let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
            ([(CONTENT_TYPE, kind)], text).into_response()
        }
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()).into_response(),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Mutex, PoisonError};

    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpStream;

    use super::*;
    use crate::reclaim::Trouble;

    async fn get(listener: std::net::SocketAddr, path: &str) -> String {
        let mut stream = TcpStream::connect(listener).await.unwrap();
        let request = format!("GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        answer
    }

    #[tokio::test]
    async fn readiness_follows_what_the_replica_does() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let metrics = Metrics::new();
        let reclaim = ReclaimState::new(metrics.clone());
        let role = Arc::new(Mutex::new(Role::Starting));
        let now = Arc::clone(&role);
        let shown = Shown {
            metrics,
            reclaim: reclaim.clone(),
            role: Box::new(move || *now.lock().unwrap_or_else(PoisonError::into_inner)),
        };
        let shutdown = CancellationToken::new();
        let server = tokio::spawn(serve(listener, shown, shutdown.clone()));
        let ready = async |status: &str, body: &str| {
            let answer = get(address, "/readyz").await;
            assert!(
                answer.starts_with(&format!("HTTP/1.1 {status} ")),
                "{answer}"
            );
            assert!(answer.ends_with(body), "{answer}");
        };
        let be = |new| *role.lock().unwrap() = new;
        let t = jiff::Timestamp::UNIX_EPOCH;
        ready("503", "starting\n").await;
        be(Role::StandingBy);
        ready("200", "standing by\n").await;
        be(Role::Acting);
        ready("503", "starting\n").await;
        reclaim.update(None, t);
        ready("200", "acting\n").await;
        let trouble = Trouble {
            reason: "forbidden",
            message: "no rights".to_owned(),
        };
        reclaim.update(Some(trouble), t);
        ready("503", "reclaim is on hold, forbidden: no rights\n").await;
        assert!(get(address, "/healthz").await.ends_with("ok\n"));
        let text = get(address, "/metrics").await;
        assert!(text.contains(r#"ipledger_sync_reclaim_on_hold{reason="forbidden"} 1"#));
        shutdown.cancel();
        server.await.unwrap().unwrap();
    }
}
