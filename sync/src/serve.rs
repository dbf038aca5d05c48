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

use crate::lease::Held;
use crate::metrics::Metrics;
use crate::reclaim::{Reclaim, ReclaimState};

/// What is shown.
pub(crate) struct Shown {
    /// Under `/metrics`.
    pub(crate) metrics: Metrics,
    /// Decides about `/readyz`.
    pub(crate) reclaim: ReclaimState,
    /// Whether this replica acts.
    pub(crate) held: Held,
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
    if shown.held.left().is_zero() {
        return (StatusCode::OK, "standing by\n".to_owned());
    }
    match shown.reclaim.get() {
        Reclaim::Active => (StatusCode::OK, "acting\n".to_owned()),
        Reclaim::Starting => (StatusCode::SERVICE_UNAVAILABLE, "starting\n".to_owned()),
        Reclaim::OnHold {
            reason, message, ..
        } => (
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
