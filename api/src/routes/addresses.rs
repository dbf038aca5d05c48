//! Addresses of an attachment: allocate, release, look up.

use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::State;
use axum::{Extension, Json};
use ipledger_client::types::{
    self, AllocateRequest, AllocateResponse, Attachment, ProblemCode, ReleaseRequest,
    ReleaseResponse,
};
use ledger::answer::Answer;
use ledger::command::{AddressOrder, Allocate, Release, SpaceSelector};
use ledger::{Command, Error, EventQuery, Hold, Refusal};
use utoipa::IntoParams;

use crate::app::App;
use crate::check;
use crate::context::RequestContext;
use crate::input::{JsonBody, Query};
use crate::openapi::problems::{AllocateProblems, LookUpProblems, ReleaseProblems};
use crate::problem::{Failure, Keys};
use crate::wire;

const ALLOCATE_KEYS: Keys = Keys {
    address: "ips",
    cluster_uid: "cluster_uid",
};

/// Allocate addresses
///
/// One address out of each range, all or none. Asking again for the same attachment gives the
/// same addresses and appends nothing; asking with other content is a conflict that names the
/// field. A newer sandbox of the same pod takes the addresses of the older one over.
#[utoipa::path(
    post, path = "/v1/allocate", operation_id = "allocate", tag = "addresses",
    request_body = AllocateRequest,
    responses(
        (status = 200, description = "The addresses; durable.", body = AllocateResponse),
        AllocateProblems,
    ),
)]
pub(super) async fn allocate(
    State(app): State<Arc<App>>,
    Extension(context): Extension<Arc<RequestContext>>,
    JsonBody { value, bytes }: JsonBody<AllocateRequest>,
) -> Result<Json<AllocateResponse>, Failure> {
    let deadline_ms = value.deadline_ms;
    let command = Command::Allocate(Box::new(allocate_command(value, &context)?));
    match app
        .ledger
        .execute(command, context.time_left(deadline_ms))
        .await
    {
        Ok(Answer::Allocated(allocated)) => Ok(Json(wire::allocated(allocated))),
        Ok(_) => Err(Failure::wrong_answer()),
        Err(Error::Refused(refusal)) => {
            let differs = differing_field(&app, &context, &bytes, &refusal).await;
            let failure = app.explain(Error::Refused(refusal), ALLOCATE_KEYS).await;
            Err(differs.unwrap_or(failure))
        }
        Err(error) => Err(app.explain(error, ALLOCATE_KEYS).await),
    }
}

fn allocate_command(
    request: AllocateRequest,
    context: &RequestContext,
) -> Result<Allocate, Failure> {
    let attachment = check::attachment("attachment.", request.attachment)?;
    let owner = check::owner(request.owner)?;
    if let Some(uid) = &request.cluster_uid {
        check::cluster_uid("cluster_uid", uid)?;
    }
    let token = request.token.as_ref().map(check::token).transpose()?;
    if let Some(name) = &request.network_name {
        check::network_name("network_name", name)?;
    }
    let ranges = check::ranges(&request.ranges)?;
    let ips = check::fixed_addresses(&request.ips, ranges.len())?;
    let cooldown_seconds = check::rest_seconds("cooldown_seconds", request.cooldown_seconds)?;
    let sticky_seconds = check::rest_seconds("sticky_seconds", request.sticky_seconds)?;
    let claimed_at = check::time("claimed_at", request.claimed_at.as_deref())?;
    Ok(Allocate {
        space: SpaceSelector {
            cluster: attachment.cluster.clone(),
            network_name: request.network_name.unwrap_or_default(),
            overlapping: request.enable_overlapping_ranges,
        },
        attachment,
        owner,
        cluster_uid: request.cluster_uid,
        token,
        ranges,
        ips,
        order: match request.order {
            None | Some(types::AddressOrder::LowestFree) => AddressOrder::LowestFree,
            Some(types::AddressOrder::LongestIdle) => AddressOrder::LongestIdle,
        },
        cooldown_seconds,
        sticky_seconds,
        dry_run: request.dry_run,
        provenance: context.provenance(claimed_at),
    })
}

/// In which field the request differs from the one that the attachment's addresses come from.
/// The command is gone by then, so it is made once more from the body: only a conflict pays.
async fn differing_field(
    app: &App,
    context: &RequestContext,
    bytes: &Bytes,
    refusal: &Refusal,
) -> Option<Failure> {
    let Refusal::AttachmentConflict { hold, .. } = refusal else {
        return None;
    };
    let request = JsonBody::<AllocateRequest>::read_again(bytes)?;
    let value = serde_json::to_value(&request).ok()?;
    let command = allocate_command(request, context).ok()?;
    let key = app.ledger.differing_field(&command, hold).await.ok()?;
    let detail = format!(
        "{key}: the attachment holds {} of another request, which differs in {key}; \
         release it first",
        hold.ip
    );
    let value = value_of(&value, &key);
    Some(Failure::new(ProblemCode::AttachmentConflict, detail).about(key, &value))
}

/// The value at a key like `owner.name`, as the problem repeats it.
fn value_of(request: &serde_json::Value, key: &str) -> String {
    let pointer = format!("/{}", key.replace(['.', '['], "/").replace(']', ""));
    match request.pointer(&pointer) {
        Some(serde_json::Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
        None => String::new(),
    }
}

/// Release addresses
///
/// Ends exactly what this attachment holds, in every space. An attachment that holds nothing is
/// a success; so is a call that a later one has overtaken, which changes nothing.
#[utoipa::path(
    post, path = "/v1/release", operation_id = "release", tag = "addresses",
    request_body = ReleaseRequest,
    responses(
        (status = 200, description = "What was freed; durable.", body = ReleaseResponse),
        ReleaseProblems,
    ),
)]
pub(super) async fn release(
    State(app): State<Arc<App>>,
    Extension(context): Extension<Arc<RequestContext>>,
    JsonBody { value, .. }: JsonBody<ReleaseRequest>,
) -> Result<Json<ReleaseResponse>, Failure> {
    let deadline_ms = value.deadline_ms;
    let command = Command::Release(Box::new(release_command(value, &context)?));
    match app
        .ledger
        .execute(command, context.time_left(deadline_ms))
        .await
    {
        Ok(Answer::Released(answer)) => Ok(Json(ReleaseResponse {
            released: answer
                .released
                .into_iter()
                .map(wire::released_address)
                .collect(),
            stale: answer.stale,
            epoch: answer.epoch,
        })),
        Ok(_) => Err(Failure::wrong_answer()),
        Err(error) => Err(app.explain(error, Keys::default()).await),
    }
}

fn release_command(request: ReleaseRequest, context: &RequestContext) -> Result<Release, Failure> {
    let attachment = check::attachment("attachment.", request.attachment)?;
    let owner = check::owner(request.owner)?;
    if let Some(uid) = &request.cluster_uid {
        check::cluster_uid("cluster_uid", uid)?;
    }
    let token = request.token.as_ref().map(check::token).transpose()?;
    let claimed_at = check::time("claimed_at", request.claimed_at.as_deref())?;
    Ok(Release {
        attachment,
        owner,
        cluster_uid: request.cluster_uid,
        token,
        provenance: context.provenance(claimed_at),
    })
}

/// Which attachment to look up.
#[derive(Debug, IntoParams)]
#[into_params(parameter_in = Query)]
#[expect(
    dead_code,
    reason = "read parameter by parameter; here for the documentation"
)]
pub(super) struct AttachmentQuery {
    /// Name of the cluster.
    cluster: String,
    /// `name` of the CNI network configuration.
    network: String,
    /// `CNI_CONTAINERID`: the sandbox.
    container_id: String,
    /// `CNI_IFNAME`.
    ifname: String,
}

/// Look an attachment up
///
/// The addresses that this attachment holds, as the allocate answered; for CNI CHECK.
#[utoipa::path(
    get, path = "/v1/attachments", operation_id = "look_up", tag = "addresses",
    params(AttachmentQuery),
    responses(
        (status = 200, description = "The addresses; `repeated` is true.", body = AllocateResponse),
        LookUpProblems,
    ),
)]
pub(super) async fn look_up(
    State(app): State<Arc<App>>,
    Extension(context): Extension<Arc<RequestContext>>,
    mut query: Query,
) -> Result<Json<AllocateResponse>, Failure> {
    let given = Attachment {
        cluster: query.required("cluster")?,
        network: query.required("network")?,
        container_id: query.required("container_id")?,
        ifname: query.required("ifname")?,
    };
    query.end()?;
    let attachment = check::attachment("", given)?;
    let holds = app.read(&context, app.ledger.lookup(&attachment)).await?;
    if holds.is_empty() {
        let detail = format!(
            "container_id {:?} holds no address with ifname {:?} on network {:?} of cluster {:?}",
            attachment.container_id, attachment.ifname, attachment.network, attachment.cluster
        );
        let failure = Failure::new(ProblemCode::NotFound, detail);
        return Err(failure.about("container_id", &attachment.container_id));
    }
    let epoch = epoch_of(&app, &context, &holds[0]).await?;
    Ok(Json(AllocateResponse {
        addresses: holds.into_iter().map(wire::held_address).collect(),
        repeated: true,
        dry_run: false,
        epoch,
    }))
}

/// The epoch that the hold was recorded in: the one of its receipt.
async fn epoch_of(app: &App, context: &RequestContext, hold: &Hold) -> Result<u32, Failure> {
    let query = EventQuery {
        space: hold.space.clone(),
        address: None,
        after_seq: hold.seq - 1,
        limit: 1,
    };
    let events = app.read(context, app.ledger.events(&query)).await?;
    let event = events.first();
    event
        .map(|event| event.epoch)
        .ok_or_else(|| Failure::internal(format!("{} seq {} is not there", hold.space, hold.seq)))
}
