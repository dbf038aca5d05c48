//! History: the events of an address, a pod, a node, a sandbox or a network.

use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use axum::response::Response;
use ipledger_client::types::{EventPage, ProblemCode};
use jiff::Timestamp;
use ledger::{Event, HistoryPlace, HistoryQuery, Subject};
use serde::{Deserialize, Serialize};
use utoipa::IntoParams;

use crate::app::App;
use crate::check;
use crate::context::RequestContext;
use crate::input::{Cursor, Query};
use crate::openapi::problems::ListHoldsProblems;
use crate::problem::Failure;
use crate::represent::Wanted;
use crate::wire;

const USUAL_LIMIT: u32 = 500;
const MOST: u32 = 5000;

/// Whose history: exactly one of `address`, `pod`, `pod_uid`, `node`, `container_id`, `network`.
#[derive(Debug, IntoParams)]
#[into_params(parameter_in = Query)]
#[expect(
    dead_code,
    reason = "read parameter by parameter; here for the documentation"
)]
pub(super) struct HistoryParameters {
    /// An address.
    address: Option<String>,
    /// Name of a pod: all pods that ever had it, one after the other. Needs `namespace`.
    pod: Option<String>,
    /// Namespace of the pod.
    namespace: Option<String>,
    /// UID of a pod.
    pod_uid: Option<String>,
    /// Name of a node.
    node: Option<String>,
    /// A sandbox.
    container_id: Option<String>,
    /// `name` of a CNI network configuration.
    network: Option<String>,
    /// Only in this cluster; of an address: in the spaces that this cluster is a member of.
    cluster: Option<String>,
    /// Only in this space.
    space: Option<String>,
    /// Only events recorded at this time or later, in RFC 3339.
    since: Option<String>,
    /// Only events recorded before this time, in RFC 3339.
    until: Option<String>,
    /// `oldest` (the usual) or `newest`: which event comes first.
    order: Option<String>,
    /// How many events a page has at most.
    #[param(minimum = 1, maximum = 5000, default = 500)]
    limit: Option<u32>,
    /// `next` of the page before, with the same other parameters.
    cursor: Option<String>,
}

/// Where a page begins: behind this event.
#[derive(Serialize, Deserialize)]
pub(crate) struct Place {
    at_us: i64,
    space: String,
    seq: u64,
    step: u32,
}

impl Place {
    pub(crate) fn of(event: &Event) -> Place {
        Place {
            at_us: event.recorded_at.as_microsecond(),
            space: event.space.clone(),
            seq: event.seq,
            step: event.step.unwrap_or(0),
        }
    }

    /// The place that a cursor names; none without one.
    pub(crate) fn place(
        given: Option<&str>,
        cursor: &Cursor,
    ) -> Result<Option<HistoryPlace>, Failure> {
        let place: Option<Place> = given.map(|text| cursor.read(text)).transpose()?;
        place.map(behind).transpose()
    }
}

/// Show a history
///
/// Every event about an address, a pod by name (across rebirths) or UID, a node, a sandbox or a
/// network, over all spaces, in order of the time of record; within a space that is the order of
/// position. A release is in the history of whom it took the address from, whoever asked for it.
/// Each event has two times: `recorded_at` is the ledger's and the one that everything is ordered
/// by; `claimed_at` is what the actor said, if it said anything.
///
/// With `Accept: text/csv` or `application/x-ndjson` the rows come alone, and the cursor of the
/// next page in the header `X-Ipledger-Next`.
#[utoipa::path(
    get, path = "/v1/history", operation_id = "history", tag = "history",
    params(HistoryParameters),
    responses(
        (status = 200, description = "A page of events.", body = EventPage),
        (status = 304, description = "The page has the entity tag of `If-None-Match`."),
        ListHoldsProblems,
    ),
)]
pub(super) async fn show(
    State(app): State<Arc<App>>,
    Extension(context): Extension<Arc<RequestContext>>,
    wanted: Wanted,
    query: Query,
) -> Result<Response, Failure> {
    let (query, cursor) = read_query(query)?;
    let mut events = app.read(&context, app.ledger.history(&query)).await?;
    let next = cursor.cut(&mut events, query.limit - 1, Place::of)?;
    let page = EventPage {
        events: events.into_iter().map(wire::event).collect(),
        next,
    };
    wanted.page(&page, |page| &page.events, page.next.as_deref())
}

/// Whose history, and which part of it: together they make the query, as they were given.
const SUBJECTS: [&str; 7] = [
    "address",
    "pod",
    "namespace",
    "pod_uid",
    "node",
    "container_id",
    "network",
];
const FILTERS: [&str; 5] = ["cluster", "space", "since", "until", "order"];

fn read_query(mut query: Query) -> Result<(HistoryQuery, Cursor), Failure> {
    let subjects = SUBJECTS.map(|key| query.text(key));
    let filters = FILTERS.map(|key| query.text(key));
    let limit = query.limit(USUAL_LIMIT, MOST)?;
    let cursor_text = query.text("cursor");
    query.end()?;
    let keys = SUBJECTS.into_iter().chain(FILTERS);
    let given = subjects.iter().chain(&filters).map(Option::as_deref);
    let cursor = Cursor::new("history", keys.zip(given));
    let subject = subject(subjects)?;
    let [cluster, space, since, until, order] = filters;
    if let Some(cluster) = &cluster {
        check::cluster("cluster", cluster)?;
    }
    if let Some(space) = &space {
        check::space("space", space)?;
    }
    let after = Place::place(cursor_text.as_deref(), &cursor)?;
    let query = HistoryQuery {
        subject,
        cluster,
        space,
        since: check::time("since", since.as_deref())?,
        until: check::time("until", until.as_deref())?,
        newest_first: newest_first(order.as_deref())?,
        after,
        // One more than asked for tells whether there is a next page.
        limit: limit + 1,
    };
    Ok((query, cursor))
}

fn behind(place: Place) -> Result<HistoryPlace, Failure> {
    let recorded_at = Timestamp::from_microsecond(place.at_us)
        .map_err(|_| Failure::invalid("cursor", "", "is not a cursor of this service"))?;
    Ok(HistoryPlace {
        recorded_at,
        space: place.space,
        seq: place.seq,
        step: place.step,
    })
}

fn newest_first(order: Option<&str>) -> Result<bool, Failure> {
    match order {
        None | Some("oldest") => Ok(false),
        Some("newest") => Ok(true),
        Some(other) => Err(Failure::invalid(
            "order",
            other,
            "is neither \"oldest\" nor \"newest\"",
        )),
    }
}

fn subject(given: [Option<String>; 7]) -> Result<Subject, Failure> {
    let [
        address,
        pod,
        namespace,
        pod_uid,
        node,
        container_id,
        network,
    ] = given;
    let mut subjects: Vec<(&'static str, Subject)> = Vec::new();
    if let Some(text) = address {
        let ip = check::address("address", &text)?;
        subjects.push(("address", Subject::Address(ip)));
    }
    match (pod, namespace) {
        (Some(name), Some(namespace)) => {
            check::pod_name("namespace", &namespace)?;
            check::pod_name("pod", &name)?;
            subjects.push(("pod", Subject::Pod { namespace, name }));
        }
        (Some(_), None) => return Err(Failure::missing("namespace")),
        (None, Some(_)) => return Err(Failure::missing("pod")),
        (None, None) => {}
    }
    if let Some(uid) = pod_uid {
        check::pod_uid("pod_uid", &uid)?;
        subjects.push(("pod_uid", Subject::PodUid(uid)));
    }
    if let Some(name) = node {
        check::node("node", &name)?;
        subjects.push(("node", Subject::Node(name)));
    }
    if let Some(id) = container_id {
        check::container_id("container_id", &id)?;
        subjects.push(("container_id", Subject::Sandbox(id)));
    }
    if let Some(name) = network {
        check::network("network", &name)?;
        subjects.push(("network", Subject::Network(name)));
    }
    match subjects.len() {
        1 => Ok(subjects.remove(0).1),
        0 => {
            let detail = "address is missing, or pod with namespace, pod_uid, node, container_id \
                          or network: a history is about one of them";
            Err(Failure::new(ProblemCode::InvalidRequest, detail).about("address", ""))
        }
        _ => {
            let (first, second) = (subjects[0].0, subjects[1].0);
            let detail = format!("{second} stands beside {first}: a history is about one of them");
            Err(Failure::new(ProblemCode::InvalidRequest, detail).about(second, ""))
        }
    }
}
