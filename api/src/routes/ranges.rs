//! Ranges of a definition: would they serve an allocate now?

use std::sync::Arc;

use axum::extract::State;
use axum::{Extension, Json};
use ipledger_client::types::{CheckRangesRequest, CheckRangesResponse};
use ledger::command::{Count, SpaceSelector};

use crate::app::App;
use crate::check;
use crate::context::RequestContext;
use crate::input::JsonBody;
use crate::openapi::problems::CheckRangesProblems;
use crate::problem::Failure;
use crate::wire;

/// Check ranges
///
/// Counts the ranges of a definition, whether they were ever used or not; for CNI STATUS. Writes
/// nothing.
#[utoipa::path(
    post, path = "/v1/ranges/check", operation_id = "check_ranges", tag = "addresses",
    request_body = CheckRangesRequest,
    responses(
        (status = 200, description = "The counts.", body = CheckRangesResponse),
        CheckRangesProblems,
    ),
)]
pub(super) async fn check(
    State(app): State<Arc<App>>,
    Extension(context): Extension<Arc<RequestContext>>,
    JsonBody { value, .. }: JsonBody<CheckRangesRequest>,
) -> Result<Json<CheckRangesResponse>, Failure> {
    check::cluster("cluster", &value.cluster)?;
    if let Some(name) = &value.network_name {
        check::network_name("network_name", name)?;
    }
    let ranges = check::ranges(&value.ranges)?;
    let selector = SpaceSelector {
        cluster: value.cluster,
        network_name: value.network_name.unwrap_or_default(),
        overlapping: value.enable_overlapping_ranges,
    };
    let counted = app.count(&context, Count::Ranges(selector, ranges)).await?;
    Ok(Json(CheckRangesResponse {
        windows: counted.windows.iter().map(wire::window).collect(),
        servable: counted.windows.iter().all(|counts| counts.free() > 0),
    }))
}
