//! Events: the ledger itself, row by row.

use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use axum::response::Response;
use ipledger_client::types::EventPage;
use ledger::EventQuery;
use utoipa::IntoParams;

use crate::app::App;
use crate::check;
use crate::context::RequestContext;
use crate::input::{Cursor, Query};
use crate::openapi::problems::ListInSpaceProblems;
use crate::problem::Failure;
use crate::represent::Wanted;
use crate::wire;

const USUAL_LIMIT: u32 = 500;
const MOST: u32 = 5000;

/// Which events.
#[derive(Debug, IntoParams)]
#[into_params(parameter_in = Query)]
#[expect(
    dead_code,
    reason = "read parameter by parameter; here for the documentation"
)]
pub(super) struct EventsQuery {
    /// Name of the space.
    space: String,
    /// Only events about this address.
    address: Option<String>,
    /// Only events later than this position of the space.
    #[param(default = 0)]
    after: Option<u64>,
    /// How many events a page has at most.
    #[param(minimum = 1, maximum = 5000, default = 500)]
    limit: Option<u32>,
    /// `next` of the page before, with the same other parameters.
    cursor: Option<String>,
}

/// List events
///
/// In order of position, oldest first, which is the order of commit and of cause. With an
/// address it is the history of that address.
///
/// With `Accept: text/csv` or `application/x-ndjson` the rows come alone, and the cursor of the
/// next page in the header `X-Ipledger-Next`.
#[utoipa::path(
    get, path = "/v1/events", operation_id = "list_events", tag = "history",
    params(EventsQuery),
    responses(
        (status = 200, description = "A page of events.", body = EventPage),
        (status = 304, description = "The page has the entity tag of `If-None-Match`."),
        ListInSpaceProblems,
    ),
)]
pub(super) async fn list(
    State(app): State<Arc<App>>,
    Extension(context): Extension<Arc<RequestContext>>,
    wanted: Wanted,
    mut query: Query,
) -> Result<Response, Failure> {
    let space = query.required("space")?;
    check::space("space", &space)?;
    let address = query.address("address")?;
    let after = query.number("after")?;
    let limit = query.limit(USUAL_LIMIT, MOST)?;
    let given = query.text("cursor");
    query.end()?;
    let address_text = address.map(|ip| ip.to_string());
    let after_text = after.map(|seq| seq.to_string());
    let parameters = [
        ("space", Some(space.as_str())),
        ("address", address_text.as_deref()),
        ("after", after_text.as_deref()),
    ];
    let cursor = Cursor::new("events", parameters);
    let after_seq: u64 = given.map_or(Ok(after.unwrap_or(0)), |text| cursor.read(&text))?;
    let query = EventQuery {
        space,
        address,
        after_seq,
        // One more than asked for tells whether there is a next page.
        limit: limit + 1,
    };
    let mut events = app.read(&context, app.ledger.events(&query)).await?;
    let next = cursor.cut(&mut events, limit, |last| last.seq)?;
    let page = EventPage {
        events: events.into_iter().map(wire::event).collect(),
        next,
    };
    wanted.page(&page, |page| &page.events, page.next.as_deref())
}
