//! CNI GC: lists of attachments that a runtime says are still valid.

use std::sync::Arc;

use axum::extract::State;
use axum::{Extension, Json};
use ipledger_client::types::{GarbageError, GarbageRequest, GarbageResponse};
use ledger::{GarbageFailure, GarbageList};

use crate::app::App;
use crate::check;
use crate::context::RequestContext;
use crate::input::JsonBody;
use crate::openapi::problems::GarbageProblems;
use crate::problem::{Failure, Keys};

/// How many failures an answer tells.
const SHOWN: usize = 10;

/// Collect garbage
///
/// A list of the attachments that are valid on one node, in one boot, on one network. What it
/// does not name becomes suspect; a second list at least a grace later (60 s unless the service
/// is set otherwise) frees it. Holds that are younger than the call are left alone. A hold that
/// cannot be freed does not keep the others: the answer counts what was done, and says what was
/// not.
#[utoipa::path(
    post, path = "/v1/gc", operation_id = "collect_garbage", tag = "holds",
    request_body = GarbageRequest,
    responses(
        (status = 200, description = "What was freed; durable.", body = GarbageResponse),
        GarbageProblems,
    ),
)]
pub(super) async fn collect(
    State(app): State<Arc<App>>,
    Extension(context): Extension<Arc<RequestContext>>,
    JsonBody { value, .. }: JsonBody<GarbageRequest>,
) -> Result<Json<GarbageResponse>, Failure> {
    let wait = context.time_left(value.deadline_ms);
    let list = list(value, &context, app.config.garbage_grace)?;
    let _permit = app.may_read()?;
    match app.ledger.collect_garbage(list, wait).await {
        Ok(result) => Ok(Json(GarbageResponse {
            released: result.released,
            suspect: result.suspect,
            failed: u32::try_from(result.failed.len()).unwrap_or(u32::MAX),
            errors: result.failed.into_iter().take(SHOWN).map(shown).collect(),
        })),
        Err(error) => Err(app.explain(error, Keys::default()).await),
    }
}

fn shown(failure: GarbageFailure) -> GarbageError {
    GarbageError {
        about: failure.about,
        code: failure.kind.to_owned(),
        detail: failure.reason,
    }
}

fn list(
    request: GarbageRequest,
    context: &RequestContext,
    grace: std::time::Duration,
) -> Result<GarbageList, Failure> {
    check::cluster("cluster", &request.cluster)?;
    if let Some(uid) = &request.cluster_uid {
        check::cluster_uid("cluster_uid", uid)?;
    }
    check::node("node", &request.node)?;
    check::network("network", &request.network)?;
    let token = check::token(&request.token)?;
    let mut valid = Vec::with_capacity(request.valid.len());
    for (index, entry) in request.valid.into_iter().enumerate() {
        let name = |part: &str| format!("valid[{index}].{part}");
        check::container_id(name("container_id").as_str(), &entry.container_id)?;
        check::ifname(name("ifname").as_str(), &entry.ifname)?;
        valid.push((entry.container_id, entry.ifname));
    }
    Ok(GarbageList {
        cluster: request.cluster,
        cluster_uid: request.cluster_uid,
        node: request.node,
        network: request.network,
        token,
        valid,
        grace,
        provenance: context.provenance(None),
    })
}
