//! Changes: when the streams of a cluster's spaces have moved.

use std::sync::Arc;

use axum::extract::State;
use axum::{Extension, Json};
use ipledger_client::types::{ChangePage, SpaceHead};
use utoipa::IntoParams;

use crate::app::App;
use crate::check;
use crate::context::RequestContext;
use crate::input::{Cursor, Query};
use crate::openapi::problems::ListProblems;
use crate::problem::Failure;

/// Which changes.
#[derive(Debug, IntoParams)]
#[into_params(parameter_in = Query)]
#[expect(
    dead_code,
    reason = "read parameter by parameter; here for the documentation"
)]
pub(super) struct ChangesQuery {
    /// Name of the cluster: only spaces that it is a member of.
    cluster: String,
    /// `next` of the answer before; without it the answer comes at once.
    since: Option<String>,
    /// How long to wait for a change if there is none, in seconds.
    #[param(minimum = 0, maximum = 60, default = 0)]
    wait_seconds: Option<u32>,
}

/// Wait for changes
///
/// The heads of all spaces that a cluster is a member of. Answers at once when they are not those
/// of `since`, else as soon as one of them moves, else with the same heads when the time is over.
#[utoipa::path(
    get, path = "/v1/changes", operation_id = "list_changes", tag = "history",
    params(ChangesQuery),
    responses((status = 200, description = "The heads.", body = ChangePage), ListProblems),
)]
pub(super) async fn list(
    State(app): State<Arc<App>>,
    Extension(context): Extension<Arc<RequestContext>>,
    mut query: Query,
) -> Result<Json<ChangePage>, Failure> {
    let cluster = query.required("cluster")?;
    check::cluster("cluster", &cluster)?;
    let since = query.text("since");
    let wait = query.wait()?;
    query.end()?;
    let cursor = Cursor::named("since", "changes", [("cluster", Some(cluster.as_str()))]);
    let known: Option<u64> = since.map(|text| cursor.read(&text)).transpose()?;
    let end = app.end_of_wait(wait);
    let changes = app.ledger.changes(&cluster, known, end);
    let changes = app.wait_for(&context, wait, changes).await?;
    let epoch = changes.epoch;
    let head = |(space, seq)| SpaceHead { space, seq, epoch };
    Ok(Json(ChangePage {
        changed: changes.changed,
        next: cursor.write(&changes.fingerprint)?,
        heads: changes.heads.into_iter().map(head).collect(),
    }))
}
