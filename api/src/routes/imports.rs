//! Holds that another address manager made.

use std::sync::Arc;

use axum::extract::State;
use axum::{Extension, Json};
use ipledger_client::types::{ImportRequest, ImportResponse};
use ledger::answer::ImportOutcome;
use ledger::command::{Import, SpaceSelector};

use crate::app::App;
use crate::check;
use crate::context::RequestContext;
use crate::input::JsonBody;
use crate::openapi::problems::ImportProblems;
use crate::problem::{Failure, Keys};

/// Import a hold
///
/// Records an address that whereabouts gave out, with where it was read as evidence. Importing
/// the same hold again changes nothing, and one that has ended is never revived.
#[utoipa::path(
    post, path = "/v1/holds/import", operation_id = "import_hold", tag = "holds",
    request_body = ImportRequest,
    responses(
        (status = 200, description = "What became of it; durable.", body = ImportResponse),
        ImportProblems,
    ),
)]
pub(super) async fn import(
    State(app): State<Arc<App>>,
    Extension(context): Extension<Arc<RequestContext>>,
    JsonBody { value, .. }: JsonBody<ImportRequest>,
) -> Result<Json<ImportResponse>, Failure> {
    let command = command(value, &context)?;
    match app.ledger.import(command, context.time_left(None)).await {
        Ok(imported) => Ok(Json(ImportResponse {
            outcome: match imported.outcome {
                ImportOutcome::Imported => "imported",
                ImportOutcome::Held => "held",
                ImportOutcome::Ended => "ended",
            }
            .to_owned(),
            step: imported.step,
            seq: imported.seq,
        })),
        Err(error) => Err(app.explain(error, Keys::default()).await),
    }
}

fn command(request: ImportRequest, context: &RequestContext) -> Result<Import, Failure> {
    check::cluster("cluster", &request.cluster)?;
    if let Some(uid) = &request.cluster_uid {
        check::cluster_uid("cluster_uid", uid)?;
    }
    if let Some(name) = &request.network_name {
        check::network_name("network_name", name)?;
    }
    let pool = check::cidr("range", &request.range)?;
    let ip = check::address("address", &request.address)?;
    if !pool.contains(&ip) {
        let problem = format!("is not in the range {pool}");
        return Err(Failure::invalid("address", &request.address, &problem));
    }
    check::container_id("container_id", &request.container_id)?;
    if let Some(ifname) = &request.ifname {
        check::ifname("ifname", ifname)?;
    }
    let owner = check::owner(request.owner)?;
    let evidence = check::evidence(request.evidence)?;
    Ok(Import {
        space: SpaceSelector {
            cluster: request.cluster,
            network_name: request.network_name.unwrap_or_default(),
            overlapping: request.enable_overlapping_ranges,
        },
        cluster_uid: request.cluster_uid,
        pool,
        ip,
        container_id: request.container_id,
        ifname: request.ifname,
        owner,
        evidence,
        // The ledger looks it up in its history.
        ended_before: None,
        provenance: context.provenance(None),
    })
}
