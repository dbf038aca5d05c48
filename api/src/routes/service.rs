//! The service itself: health, readiness, metrics, and the description of the API.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::HeaderValue;
use http::header::CONTENT_TYPE;
use ipledger_client::types::ProblemCode;
use ledger::Command;
use ledger::answer::{Answer, Counted};
use ledger::command::Count;

use crate::app::App;
use crate::openapi::problems::{PlainProblems, ReadyProblems};
use crate::problem::{Failure, Keys};

/// How long `/readyz` waits for the database.
const READY_PATIENCE: Duration = Duration::from_secs(2);
/// How long `/metrics` waits for the counts of the windows.
const COUNT_PATIENCE: Duration = Duration::from_secs(1);

/// The process is alive
///
/// Says nothing about the database: restarting this process would not help it.
#[utoipa::path(
    get, path = "/healthz", operation_id = "health", tag = "service",
    responses(
        (status = 200, description = "`ok`.", body = String, content_type = "text/plain"),
        PlainProblems,
    ),
)]
pub(super) async fn health() -> &'static str {
    "ok\n"
}

/// Requests would be served
///
/// The database is reachable, its schema is the right one, its guard was asserted, and the
/// service is not stopping.
#[utoipa::path(
    get, path = "/readyz", operation_id = "ready", tag = "service",
    responses(
        (status = 200, description = "`ready`.", body = String, content_type = "text/plain"),
        ReadyProblems,
    ),
)]
pub(super) async fn ready(State(app): State<Arc<App>>) -> Result<&'static str, Failure> {
    if app.is_stopping() {
        return Err(Failure::new(
            ProblemCode::ShuttingDown,
            "the service is stopping",
        ));
    }
    match tokio::time::timeout(READY_PATIENCE, app.ledger.ready()).await {
        Ok(Ok(())) => Ok("ready\n"),
        // Whoever asks here is an operator: what is missing is the answer.
        Ok(Err(ledger::Error::Guard(text))) => Err(Failure::new(ProblemCode::Internal, text)),
        Ok(Err(error)) => Err(app.explain(error, Keys::default()).await),
        Err(_) => {
            let seconds = READY_PATIENCE.as_secs();
            let detail = format!("the database did not answer within {seconds} s");
            Err(Failure::new(ProblemCode::DatabaseUnavailable, detail))
        }
    }
}

/// Metrics
///
/// OpenMetrics text: requests, the writer lane, and how full the windows are (at most 1000 of
/// them one by one; `ipledger_windows_left_out` counts the others).
#[utoipa::path(
    get, path = "/metrics", operation_id = "metrics", tag = "service",
    responses(
        (
            status = 200, description = "The metrics.", body = String,
            content_type = "application/openmetrics-text",
        ),
        PlainProblems,
    ),
)]
pub(super) async fn metrics(State(app): State<Arc<App>>) -> Result<Response, Failure> {
    let windows = windows(&app).await;
    let text = app
        .metrics
        .encode(windows.as_ref())
        .map_err(|error| Failure::internal(format!("metrics: {error}")))?;
    let content_type = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    Ok((
        [(CONTENT_TYPE, HeaderValue::from_static(content_type))],
        text,
    )
        .into_response())
}

/// The counts, unless the ledger is too busy or away: the other metrics matter all the more then.
async fn windows(app: &App) -> Option<Counted> {
    let count = Command::Count(Box::new(Count::Recorded(None)));
    match app.ledger.execute(count, COUNT_PATIENCE).await {
        Ok(Answer::Counted(counted)) => Some(counted),
        Ok(_) => None,
        Err(error) => {
            tracing::warn!(kind = error.kind(), %error, "metrics without windows");
            None
        }
    }
}

/// This document
///
/// OpenAPI 3.1, made from the code that serves.
#[utoipa::path(
    get, path = "/openapi.json", operation_id = "openapi", tag = "service",
    responses(
        (
            status = 200, description = "The document.", body = serde_json::Value,
            content_type = "application/json",
        ),
        PlainProblems,
    ),
)]
pub(super) async fn openapi(State(app): State<Arc<App>>) -> Response {
    let content_type = HeaderValue::from_static("application/json");
    (
        [(CONTENT_TYPE, content_type)],
        app.documents.openapi.clone(),
    )
        .into_response()
}
