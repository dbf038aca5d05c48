//! Addresses that a person sets aside: list them, set one aside, give one back.

use std::net::IpAddr;
use std::sync::Arc;

use axum::extract::State;
use axum::{Extension, Json};
use ipledger_client::types::{
    GiveBackRequest, ReleaseHoldResponse, ReservationPage, ReserveRequest, ReserveResponse,
};
use ledger::answer::Answer;
use ledger::command::{GiveBack, Reserve, SpaceSelector};
use ledger::{Command, ReservationQuery};
use serde::{Deserialize, Serialize};
use utoipa::IntoParams;

use crate::app::App;
use crate::check;
use crate::context::RequestContext;
use crate::input::{Cursor, JsonBody, Query};
use crate::openapi::problems::{GiveBackProblems, ListInSpaceProblems, ReserveProblems};
use crate::problem::{Failure, Keys};
use crate::wire;

const USUAL_LIMIT: u32 = 500;
const MOST: u32 = 5000;

/// Which reservations.
#[derive(Debug, IntoParams)]
#[into_params(parameter_in = Query)]
#[expect(
    dead_code,
    reason = "read parameter by parameter; here for the documentation"
)]
pub(super) struct ReservationsQuery {
    /// Name of the space; without it, of all spaces.
    space: Option<String>,
    /// How many a page has at most.
    #[param(minimum = 1, maximum = 5000, default = 500)]
    limit: Option<u32>,
    /// `next` of the page before, with the same other parameters.
    cursor: Option<String>,
}

/// Where a page begins: behind this address.
#[derive(Serialize, Deserialize)]
struct Place {
    space: String,
    address: IpAddr,
}

/// List reservations
///
/// Addresses that are set aside now, in order of space and address, with who did it and why.
#[utoipa::path(
    get, path = "/v1/reservations", operation_id = "list_reservations", tag = "reservations",
    params(ReservationsQuery),
    responses(
        (status = 200, description = "A page of reservations.", body = ReservationPage),
        ListInSpaceProblems,
    ),
)]
pub(super) async fn list(
    State(app): State<Arc<App>>,
    Extension(context): Extension<Arc<RequestContext>>,
    mut query: Query,
) -> Result<Json<ReservationPage>, Failure> {
    let space = query.text("space");
    if let Some(space) = &space {
        check::space("space", space)?;
    }
    let limit = query.limit(USUAL_LIMIT, MOST)?;
    let given = query.text("cursor");
    query.end()?;
    let cursor = Cursor::new("reservations", [("space", space.as_deref())]);
    let place: Option<Place> = given.map(|text| cursor.read(&text)).transpose()?;
    let wanted = ReservationQuery {
        space,
        after: place.map(|place| (place.space, place.address)),
        // One more than asked for tells whether there is a next page.
        limit: limit + 1,
    };
    let mut found = app.read(&context, app.ledger.reservations(&wanted)).await?;
    let next = cursor.cut(&mut found, limit, |last| Place {
        space: last.space.clone(),
        address: last.ip,
    })?;
    Ok(Json(ReservationPage {
        reservations: found.into_iter().map(wire::reservation).collect(),
        next,
    }))
}

/// Set an address aside
///
/// Nobody is given it from then on, also not as a fixed address, until it is given back. Refused
/// while somebody holds it or it is kept for somebody; asking again for the same reason is a
/// success.
#[utoipa::path(
    post, path = "/v1/reservations", operation_id = "reserve", tag = "reservations",
    request_body = ReserveRequest,
    responses(
        (status = 200, description = "The reservation; durable.", body = ReserveResponse),
        ReserveProblems,
    ),
)]
pub(super) async fn reserve(
    State(app): State<Arc<App>>,
    Extension(context): Extension<Arc<RequestContext>>,
    JsonBody { value, .. }: JsonBody<ReserveRequest>,
) -> Result<Json<ReserveResponse>, Failure> {
    let wait = context.time_left(value.deadline_ms);
    let command = Command::Reserve(Box::new(reserve_command(value, &context)?));
    match app.ledger.execute(command, wait).await {
        Ok(Answer::Reserved(reserved)) => Ok(Json(wire::reserved(reserved))),
        Ok(_) => Err(Failure::wrong_answer()),
        Err(error) => Err(app.explain(error, Keys::default()).await),
    }
}

fn reserve_command(request: ReserveRequest, context: &RequestContext) -> Result<Reserve, Failure> {
    check::cluster("cluster", &request.cluster)?;
    if let Some(name) = &request.network_name {
        check::network_name("network_name", name)?;
    }
    Ok(Reserve {
        pool: check::cidr("range", &request.range)?,
        ip: check::address("address", &request.address)?,
        reason: check::reason(request.reason)?,
        provenance: context.provenance(check::time("claimed_at", request.claimed_at.as_deref())?),
        space: SpaceSelector {
            cluster: request.cluster,
            network_name: request.network_name.unwrap_or_default(),
            overlapping: request.enable_overlapping_ranges,
        },
    })
}

/// Give an address back
///
/// Ends a reservation, named by address and step. A hold is never ended here; the release of this
/// very reservation, repeated, is a success.
#[utoipa::path(
    post, path = "/v1/reservations/release", operation_id = "give_back", tag = "reservations",
    request_body = GiveBackRequest,
    responses(
        (status = 200, description = "The release; durable.", body = ReleaseHoldResponse),
        GiveBackProblems,
    ),
)]
pub(super) async fn give_back(
    State(app): State<Arc<App>>,
    Extension(context): Extension<Arc<RequestContext>>,
    JsonBody { value, .. }: JsonBody<GiveBackRequest>,
) -> Result<Json<ReleaseHoldResponse>, Failure> {
    let wait = context.time_left(value.deadline_ms);
    let command = Command::GiveBack(Box::new(give_back_command(value, &context)?));
    match app.ledger.execute(command, wait).await {
        Ok(Answer::HoldReleased(answer)) => Ok(Json(ReleaseHoldResponse {
            released: wire::released_address(answer.released),
            repeated: answer.repeated,
            epoch: answer.epoch,
        })),
        Ok(_) => Err(Failure::wrong_answer()),
        Err(error) => Err(app.explain(error, Keys::default()).await),
    }
}

fn give_back_command(
    request: GiveBackRequest,
    context: &RequestContext,
) -> Result<GiveBack, Failure> {
    check::space("space", &request.space)?;
    let claimed_at = check::time("claimed_at", request.claimed_at.as_deref())?;
    Ok(GiveBack {
        ip: check::address("address", &request.address)?,
        step: check::step(request.step)?,
        reason: check::reason(request.reason)?,
        provenance: context.provenance(claimed_at),
        space: request.space,
    })
}
