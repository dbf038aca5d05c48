//! The newest events about an address or a pod, a page at a time.

use ledger::{Event, HistoryQuery, Subject};
use maud::{Markup, html};

use super::links;
use crate::app::App;
use crate::context::RequestContext;
use crate::input::Cursor;
use crate::problem::Failure;
use crate::routes::history::Place;

/// Events on a page.
pub(super) const AT_ONCE: u32 = 200;

/// Whose events.
pub(super) struct About {
    pub(super) subject: Subject,
    /// Only in this cluster.
    pub(super) cluster: Option<String>,
    /// Only in this space.
    pub(super) space: Option<String>,
}

/// The newest ones, or those behind the place that a cursor names; one more than a page has, if
/// there are more.
pub(super) async fn newest(
    app: &App,
    context: &RequestContext,
    about: About,
    given: Option<&str>,
    cursor: &Cursor,
) -> Result<Vec<Event>, Failure> {
    let query = HistoryQuery {
        subject: about.subject,
        cluster: about.cluster,
        space: about.space,
        since: None,
        until: None,
        newest_first: true,
        after: Place::place(given, cursor)?,
        limit: AT_ONCE + 1,
    };
    app.read(context, app.ledger.history(&query)).await
}

/// Cuts what is too much for a page, and links to it.
pub(super) fn older(
    events: &mut Vec<Event>,
    cursor: &Cursor,
    here: &str,
) -> Result<Markup, Failure> {
    Ok(match cursor.cut(events, AT_ONCE, Place::of)? {
        Some(next) => {
            let next = links::with(here, "cursor", &next);
            html! { p.ways { a href=(next) rel="next" { "Older events" } } }
        }
        None => html! {},
    })
}
