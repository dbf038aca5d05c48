//! Holds: list them, and end one by address and step.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use axum::{Extension, Json};
use ipledger_client::types::{HoldPage, ReleaseHoldRequest, ReleaseHoldResponse};
use ledger::HoldQuery;
use ledger::command::ReleaseHold;
use serde::{Deserialize, Serialize};
use utoipa::IntoParams;

use crate::app::App;
use crate::check;
use crate::context::RequestContext;
use crate::input::{Cursor, JsonBody, Query};
use crate::openapi::problems::{ListHoldsProblems, ReleaseHoldProblems};
use crate::problem::{Failure, Keys};
use crate::represent::Wanted;
use crate::wire;

const USUAL_LIMIT: u32 = 500;
const MOST: u32 = 5000;

/// Which holds.
#[derive(Debug, IntoParams)]
#[into_params(parameter_in = Query)]
#[expect(
    dead_code,
    reason = "read parameter by parameter; here for the documentation"
)]
pub(super) struct HoldsQuery {
    /// Name of the space. Without it, all spaces are read at one moment.
    space: Option<String>,
    /// The position of the space to read at; needs `space`. Without it, the present one.
    as_of: Option<u64>,
    /// The time to read at, in RFC 3339: what was recorded until then. Not beside `as_of`.
    at: Option<String>,
    /// Name of the cluster.
    cluster: Option<String>,
    /// `name` of the CNI network configuration.
    network: Option<String>,
    /// Namespace of the pod.
    namespace: Option<String>,
    /// Name of the pod.
    pod: Option<String>,
    /// UID of the pod.
    pod_uid: Option<String>,
    /// Name of the node.
    node: Option<String>,
    /// The sandbox.
    container_id: Option<String>,
    /// The address.
    address: Option<String>,
    /// Only addresses of this CIDR.
    range: Option<String>,
    /// How many holds a page has at most.
    #[param(minimum = 1, maximum = 5000, default = 500)]
    limit: Option<u32>,
    /// `next` of the page before, with the same other parameters.
    cursor: Option<String>,
}

/// Where a page of holds begins: behind this hold, in the same reading.
#[derive(Serialize, Deserialize)]
struct Place {
    space: String,
    address: IpAddr,
    positions: BTreeMap<String, u64>,
}

/// List holds
///
/// In order of space and address. All pages that one cursor leads to show the holds at the same
/// positions, whatever happens in between.
///
/// With `Accept: text/csv` or `application/x-ndjson` the rows come alone, and the cursor of the
/// next page in the header `X-Ipledger-Next`.
#[utoipa::path(
    get, path = "/v1/holds", operation_id = "list_holds", tag = "holds",
    params(HoldsQuery),
    responses(
        (status = 200, description = "A page of holds.", body = HoldPage),
        (status = 304, description = "The page has the entity tag of `If-None-Match`."),
        ListHoldsProblems,
    ),
)]
pub(super) async fn list(
    State(app): State<Arc<App>>,
    Extension(context): Extension<Arc<RequestContext>>,
    wanted: Wanted,
    query: Query,
) -> Result<Response, Failure> {
    let (query, cursor) = read_query(query)?;
    let page = app.read(&context, app.ledger.holds(&query)).await?;
    let next = match page.holds.last().filter(|_| page.more) {
        Some(last) => Some(cursor.write(&Place {
            space: last.space.clone(),
            address: last.ip,
            // Spaces that come before are done.
            positions: page.as_of.range(last.space.clone()..).map(pair).collect(),
        })?),
        None => None,
    };
    let page = HoldPage {
        holds: page.holds.into_iter().map(wire::hold).collect(),
        as_of: page.as_of,
        next,
    };
    wanted.page(&page, |page| &page.holds, page.next.as_deref())
}

fn pair((space, seq): (&String, &u64)) -> (String, u64) {
    (space.clone(), *seq)
}

type Check = for<'a> fn(&'static str, &'a str) -> Result<(), Failure>;

/// The filters that are plain texts, and what each must look like.
const FILTERS: [(&str, Check); 8] = [
    ("space", |key, value| check::space(key, value)),
    ("cluster", |key, value| check::cluster(key, value)),
    ("network", |key, value| check::network(key, value)),
    ("namespace", |key, value| check::pod_name(key, value)),
    ("pod", |key, value| check::pod_name(key, value)),
    ("pod_uid", |key, value| check::pod_uid(key, value)),
    ("node", |key, value| check::node(key, value)),
    ("container_id", |key, value| check::container_id(key, value)),
];

fn read_query(mut query: Query) -> Result<(HoldQuery, Cursor), Failure> {
    let mut texts: [Option<String>; 8] = Default::default();
    for ((key, check), text) in FILTERS.into_iter().zip(&mut texts) {
        *text = query.text(key);
        if let Some(value) = text {
            check(key, value)?;
        }
    }
    let as_of = query.number("as_of")?;
    let at_text = query.text("at");
    let at = check::time("at", at_text.as_deref())?;
    let address = query.address("address")?;
    let range_text = query.text("range");
    let range = range_text.as_deref().map(|text| check::cidr("range", text));
    let range = range.transpose()?;
    let limit = query.limit(USUAL_LIMIT, MOST)?;
    let given = query.text("cursor");
    query.end()?;
    if texts[0].is_none() && as_of.is_some() {
        return Err(Failure::missing("space"));
    }
    if let (Some(_), Some(at)) = (as_of, &at_text) {
        return Err(Failure::invalid(
            "at",
            at,
            "stands beside as_of: one of them",
        ));
    }
    let (as_of_text, address_text) = (
        as_of.map(|seq| seq.to_string()),
        address.map(|ip| ip.to_string()),
    );
    let filters = FILTERS
        .into_iter()
        .zip(&texts)
        .map(|((key, _), text)| (key, text.as_deref()));
    let others = [
        ("as_of", as_of_text.as_deref()),
        ("at", at_text.as_deref()),
        ("range", range_text.as_deref()),
        ("address", address_text.as_deref()),
    ];
    let cursor = Cursor::new("holds", filters.chain(others));
    let place: Option<Place> = given.map(|text| cursor.read(&text)).transpose()?;
    let [
        space,
        cluster,
        network,
        namespace,
        pod,
        pod_uid,
        node,
        container_id,
    ] = texts;
    let (after, positions) = match place {
        Some(place) => (Some((place.space, place.address)), Some(place.positions)),
        None => (None, None),
    };
    let query = HoldQuery {
        space,
        as_of,
        at,
        cluster,
        network,
        namespace,
        pod,
        pod_uid,
        node,
        container_id,
        address,
        range,
        after,
        positions,
        limit,
    };
    Ok((query, cursor))
}

/// End one hold
///
/// Named by address and step, with a reason and the evidence for it: for `ipledger-sync` and for
/// people. A hold that this step does not name any more is never touched; its own release,
/// repeated, is a success.
#[utoipa::path(
    post, path = "/v1/holds/release", operation_id = "release_hold", tag = "holds",
    request_body = ReleaseHoldRequest,
    responses(
        (status = 200, description = "The release; durable.", body = ReleaseHoldResponse),
        ReleaseHoldProblems,
    ),
)]
pub(super) async fn release(
    State(app): State<Arc<App>>,
    Extension(context): Extension<Arc<RequestContext>>,
    JsonBody { value, .. }: JsonBody<ReleaseHoldRequest>,
) -> Result<Json<ReleaseHoldResponse>, Failure> {
    let wait = context.time_left(value.deadline_ms);
    let cluster_uid = value.cluster_uid.clone();
    if let Some(uid) = &cluster_uid {
        check::cluster_uid("cluster_uid", uid)?;
    }
    let command = release_command(value, &context)?;
    match app
        .ledger
        .release_hold(command, cluster_uid.as_deref(), wait)
        .await
    {
        Ok(answer) => Ok(Json(ReleaseHoldResponse {
            released: wire::released_address(answer.released),
            repeated: answer.repeated,
            epoch: answer.epoch,
        })),
        Err(error) => Err(app.explain(error, Keys::default()).await),
    }
}

fn release_command(
    request: ReleaseHoldRequest,
    context: &RequestContext,
) -> Result<ReleaseHold, Failure> {
    check::space("space", &request.space)?;
    let ip = check::address("address", &request.address)?;
    let step = check::step(request.step)?;
    let reason = check::reason(request.reason)?;
    let evidence = check::evidence(request.evidence)?;
    let claimed_at = check::time("claimed_at", request.claimed_at.as_deref())?;
    Ok(ReleaseHold {
        space: request.space,
        ip,
        step,
        reason,
        evidence,
        provenance: context.provenance(claimed_at),
    })
}
