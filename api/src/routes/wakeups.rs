//! Wake-ups: where allocates were refused and a hold of a pod that is gone may be in the way.

use std::sync::Arc;

use axum::extract::State;
use axum::{Extension, Json};
use ipledger_client::types::WakeupPage;
use utoipa::IntoParams;

use crate::app::App;
use crate::check;
use crate::context::RequestContext;
use crate::input::Query;
use crate::openapi::problems::ListProblems;
use crate::problem::Failure;
use crate::wire;

/// Which wake-ups.
#[derive(Debug, IntoParams)]
#[into_params(parameter_in = Query)]
#[expect(
    dead_code,
    reason = "read parameter by parameter; here for the documentation"
)]
pub(super) struct WakeupsQuery {
    /// Name of the cluster: only windows in which it holds an address.
    cluster: String,
    /// `next` of the answer before; 0 to begin.
    #[param(default = 0)]
    after: Option<u64>,
    /// How long to wait for one if there is none, in seconds.
    #[param(minimum = 0, maximum = 60, default = 0)]
    wait_seconds: Option<u32>,
}

/// Wait for wake-ups
///
/// An allocate was refused because a window is full, or because a fixed address is held. Answers
/// at once when there are such refusals after `after`, else as soon as there is one, else without
/// any when the time is over.
#[utoipa::path(
    get, path = "/v1/wakeups", operation_id = "list_wakeups", tag = "holds",
    params(WakeupsQuery),
    responses(
        (status = 200, description = "Wake-ups, or none.", body = WakeupPage),
        ListProblems,
    ),
)]
pub(super) async fn list(
    State(app): State<Arc<App>>,
    Extension(context): Extension<Arc<RequestContext>>,
    mut query: Query,
) -> Result<Json<WakeupPage>, Failure> {
    let cluster = query.required("cluster")?;
    check::cluster("cluster", &cluster)?;
    let after = check::position("after", query.number("after")?)?;
    let wait = query.wait()?;
    query.end()?;
    let end = app.end_of_wait(wait);
    let page = app.wait_for(&context, wait, app.ledger.wakeups(&cluster, after, end));
    Ok(Json(wire::wakeups(page.await?)))
}
