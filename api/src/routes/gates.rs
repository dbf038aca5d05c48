//! Gates: whether a cluster may get addresses.

use std::sync::Arc;

use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use axum::{Extension, Json};
use ipledger_client::types::{GateRequest, GateResponse};
use ledger::command::SetGate;

use super::clusters::cluster_of;
use crate::app::App;
use crate::check;
use crate::context::RequestContext;
use crate::input::JsonBody;
use crate::openapi::problems::GateProblems;
use crate::problem::{Failure, Keys};
use crate::wire;

/// Close or open a cluster's gate
///
/// While it is closed, every new allocate of the cluster is refused with `gated`, by every replica
/// and from this answer on; releases and imports go on, and an attachment that asks again for what
/// it holds gets its answer. For a cut-over: no second address manager may give addresses out. The
/// same request again changes nothing.
#[utoipa::path(
    post, path = "/v1/clusters/{cluster}/gate", operation_id = "set_gate", tag = "clusters",
    params(("cluster" = String, Path, description = "Name of the cluster.")),
    request_body = GateRequest,
    responses(
        (status = 200, description = "The gate; durable.", body = GateResponse),
        GateProblems,
    ),
)]
pub(super) async fn set(
    State(app): State<Arc<App>>,
    Extension(context): Extension<Arc<RequestContext>>,
    name: Result<Path<String>, PathRejection>,
    JsonBody { value, .. }: JsonBody<GateRequest>,
) -> Result<Json<GateResponse>, Failure> {
    let cluster = cluster_of(name)?;
    let reason = check::reason(value.reason)?;
    if let Some(uid) = &value.cluster_uid {
        check::cluster_uid("cluster_uid", uid)?;
    }
    let set = SetGate {
        cluster: cluster.clone(),
        cluster_uid: value.cluster_uid,
        closed: value.closed,
        reason,
        // The ledger reads them.
        spaces: Vec::new(),
        read_at: 0,
        provenance: context.provenance(None),
    };
    match app.ledger.set_gate(set, context.time_left(None)).await {
        Ok(set) => Ok(Json(GateResponse {
            cluster,
            gate: wire::gate(set.gate),
            repeated: set.repeated,
        })),
        Err(error) => Err(app.explain(error, Keys::default()).await),
    }
}
