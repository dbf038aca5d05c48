//! The newest events, and those that come.

use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use axum::response::Response;
use ledger::{Event, EventQuery, FollowQuery};
use maud::html;

use super::answer::{Asked, View};
use super::stamp::Stamp;
use super::{events_table, links};
use crate::app::App;
use crate::check;
use crate::context::RequestContext;
use crate::input::Query;
use crate::openapi::problems::ListInSpaceProblems;
use crate::problem::Failure;
use crate::routes::follow;

/// Events that are there when the page opens.
const RECENT: u64 = 50;
/// Of so many spaces, those with the newest events.
const SPACES: usize = 10;

/// Live events
///
/// A web page: the newest events, and each new one as it is recorded.
#[utoipa::path(
    get, path = "/live", operation_id = "page_live", tag = "pages",
    params(
        ("space" = Option<String>, Query, description = "Only this space."),
        ("csv" = Option<String>, Query, description = "Only this table, as CSV."),
    ),
    responses(
        (status = 200, description = "The page.", body = String, content_type = "text/html"),
        ListInSpaceProblems,
    ),
)]
pub(crate) async fn show(
    State(app): State<Arc<App>>,
    Extension(context): Extension<Arc<RequestContext>>,
    asked: Asked,
    mut query: Query,
) -> Response {
    let csv = query.text("csv");
    let view = view(&app, &context, query).await;
    asked.answer(&context, csv.as_deref(), view)
}

async fn view(app: &App, context: &RequestContext, mut query: Query) -> Result<View, Failure> {
    let space = query.text("space");
    query.end()?;
    if let Some(space) = &space {
        check::space("space", space)?;
    }
    let stamp = Stamp::read(app, context, space.as_deref(), None).await?;
    let follow = FollowQuery {
        space: space.clone(),
        cluster: None,
        positions: None,
        limit: 1,
    };
    let heads = app
        .read(context, app.ledger.follow(&follow, async {}))
        .await?;
    let events = recent(app, context, &heads.positions).await?;
    // The stream goes on exactly where the table ends.
    let place = follow::resume(space.as_deref(), heads.epoch, heads.positions)?;
    let stream = links::url(
        "/v1/follow",
        &[("space", space.as_deref()), ("last_event_id", Some(&place))],
    );
    let lead = html! {
        div.live #live data-stream=(stream) {
            p #live-state role="status" { "Live events need the script; this page shows the newest ones." }
            button #live-switch type="button" hidden { "Pause" }
        }
        @if space.is_none() {
            p.hint { "At first the newest " (RECENT) " events of the " (SPACES) " busiest spaces; then every new one." }
        }
    };
    let table = events_table::table(
        "events",
        "Events, newest first".to_owned(),
        &events,
        stamp.now,
    );
    Ok(View {
        title: match &space {
            Some(space) => format!("Live events of space {space}"),
            None => "Live events".to_owned(),
        },
        here: links::url("/live", &[("space", space.as_deref())]),
        stamp,
        lead,
        tables: vec![table],
        after: html! {},
    })
}

/// The newest events up to these positions, the newest first.
async fn recent(
    app: &App,
    context: &RequestContext,
    positions: &std::collections::BTreeMap<String, u64>,
) -> Result<Vec<Event>, Failure> {
    let mut spaces = app.read(context, app.ledger.spaces()).await?;
    spaces.retain(|row| positions.contains_key(&row.name));
    spaces.sort_by_key(|row| std::cmp::Reverse(row.recorded_at));
    let mut events: Vec<Event> = Vec::new();
    for row in spaces.iter().take(SPACES) {
        let head = positions.get(&row.name).copied().unwrap_or(0);
        let query = EventQuery {
            space: row.name.clone(),
            address: None,
            after_seq: head.saturating_sub(RECENT),
            limit: u32::try_from(RECENT.min(head)).unwrap_or(0),
        };
        events.extend(app.read(context, app.ledger.events(&query)).await?);
    }
    events.sort_by_key(|event| std::cmp::Reverse((event.recorded_at, event.seq)));
    events.truncate(usize::try_from(RECENT).unwrap_or(usize::MAX));
    Ok(events)
}
