//! Reading lists of the API, and the tables of what several commands show.

use ipledger_client::types::{Event, EventPage, Hold, HoldPage};

use crate::connect::Api;
use crate::error::Error;
use crate::listing::{Cell, Column, Listing, column, wide};

/// The most events of one page: they carry evidence.
const EVENT_PAGE: &str = "500";
const HOLD_PAGE: &str = "5000";

/// Query parameters; absent ones are left out.
pub(crate) type Parameters<'a> = Vec<(&'static str, Option<&'a str>)>;

/// Events of a list, at most so many, and whether there are more.
pub(crate) async fn events(
    api: &Api,
    path: &str,
    mut parameters: Parameters<'_>,
    limit: usize,
) -> Result<(Vec<Event>, bool), Error> {
    let mut events: Vec<Event> = Vec::new();
    parameters.push(("limit", Some(EVENT_PAGE)));
    let take = |page: EventPage| {
        events.extend(page.events);
        page.next.filter(|_| events.len() <= limit)
    };
    api.client
        .pages(path, &parameters, api.budget(), take)
        .await?;
    let more = events.len() > limit;
    events.truncate(limit);
    Ok((events, more))
}

/// All holds that the parameters let through, and the positions that they belong to.
pub(crate) async fn holds(
    api: &Api,
    mut parameters: Parameters<'_>,
) -> Result<(Vec<Hold>, std::collections::BTreeMap<String, u64>), Error> {
    let (mut holds, mut as_of) = (Vec::new(), None);
    parameters.push(("limit", Some(HOLD_PAGE)));
    let take = |page: HoldPage| {
        holds.extend(page.holds);
        as_of.get_or_insert(page.as_of);
        page.next
    };
    api.client
        .pages("/v1/holds", &parameters, api.budget(), take)
        .await?;
    Ok((holds, as_of.unwrap_or_default()))
}

/// One event by its position.
pub(crate) async fn event_at(api: &Api, space: &str, seq: u64) -> Result<Option<Event>, Error> {
    let after = seq.saturating_sub(1).to_string();
    let parameters = [
        ("space", Some(space)),
        ("after", Some(after.as_str())),
        ("limit", Some("1")),
    ];
    let mut found = None;
    let take = |page: EventPage| {
        found = page.events.into_iter().next();
        None
    };
    api.client
        .pages("/v1/events", &parameters, api.budget(), take)
        .await?;
    Ok(found.filter(|event| event.seq == seq))
}

const EVENT_COLUMNS: &[Column] = &[
    column("AGE"),
    wide("CLAIMED"),
    column("SPACE"),
    column("SEQ"),
    column("ADDRESS"),
    wide("STEP"),
    column("KIND"),
    column("POD"),
    wide("UID"),
    column("NODE"),
    wide("NETWORK"),
    wide("CONTAINER"),
    wide("IFNAME"),
    column("REASON"),
    column("ACTOR"),
];

/// Events as rows.
pub(crate) fn event_listing(events: &[Event]) -> Result<Listing, Error> {
    Listing::new(EVENT_COLUMNS, events, |event| {
        let kind = match event.kind.as_str() {
            "allocated" => Cell::Begins(event.kind.clone()),
            "released" => Cell::Ends(event.kind.clone()),
            _ => Cell::text(&event.kind),
        };
        vec![
            Cell::time(&event.recorded_at),
            Cell::time(event.claimed_at.clone().unwrap_or_default()),
            Cell::text(&event.space),
            Cell::text(event.seq.to_string()),
            Cell::text(event.address.clone().unwrap_or_default()),
            Cell::text(event.step.map(|step| step.to_string()).unwrap_or_default()),
            kind,
            Cell::text(pod(&event.owner("namespace"), &event.owner("name"))),
            Cell::text(event.owner("uid")),
            Cell::text(event.owner("node")),
            Cell::text(event.attachment("network")),
            Cell::text(event.attachment("container_id")),
            Cell::text(event.attachment("ifname")),
            Cell::text(event.reason()),
            Cell::text(event.actor()),
        ]
    })
}

const HOLD_COLUMNS: &[Column] = &[
    column("ADDRESS"),
    column("SPACE"),
    column("POD"),
    column("NODE"),
    column("AGE"),
    wide("UID"),
    wide("CLUSTER"),
    wide("NETWORK"),
    wide("CONTAINER"),
    wide("IFNAME"),
    wide("POOL"),
    wide("STEP"),
    wide("SEQ"),
];

/// Holds as rows.
pub(crate) fn hold_listing(holds: &[Hold]) -> Result<Listing, Error> {
    Listing::new(HOLD_COLUMNS, holds, |hold| {
        let owner = hold.owner.as_ref();
        vec![
            Cell::text(&hold.address),
            Cell::text(&hold.space),
            Cell::text(pod_of(hold)),
            Cell::text(owner.and_then(|o| o.node.clone()).unwrap_or_default()),
            Cell::time(&hold.recorded_at),
            Cell::text(owner.and_then(|o| o.uid.clone()).unwrap_or_default()),
            Cell::text(&hold.attachment.cluster),
            Cell::text(&hold.attachment.network),
            Cell::text(&hold.attachment.container_id),
            Cell::text(&hold.attachment.ifname),
            Cell::text(&hold.pool),
            Cell::text(hold.step.to_string()),
            Cell::text(hold.seq.to_string()),
        ]
    })
}

/// `namespace/name`; empty if it is not known.
pub(crate) fn pod(namespace: &str, name: &str) -> String {
    match name.is_empty() {
        true => String::new(),
        false => format!("{namespace}/{name}"),
    }
}

/// The pod behind a hold.
pub(crate) fn pod_of(hold: &Hold) -> String {
    let owner = hold.owner.as_ref();
    owner.map_or(String::new(), |owner| pod(&owner.namespace, &owner.name))
}
