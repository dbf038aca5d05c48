//! An address: who has it, who had it, event by event.

use std::net::IpAddr;
use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use axum::response::Response;
use ipledger_client::types::ProblemCode;
use jiff::Timestamp;
use ledger::{Hold, HoldQuery, Subject};
use maud::{Markup, html};

use super::answer::{Asked, View};
use super::newest::{AT_ONCE, About, newest, older};
use super::stamp::Stamp;
use super::{events_table, links, past, strip, words};
use crate::app::App;
use crate::check;
use crate::context::RequestContext;
use crate::input::{Cursor, Query};
use crate::openapi::problems::ListInSpaceProblems;
use crate::problem::Failure;
use crate::wire;

/// Address
///
/// A web page: who holds an address now or at a past moment, and its time line, the newest event
/// first, over all spaces or in one.
#[utoipa::path(
    get, path = "/address", operation_id = "page_address", tag = "pages",
    params(
        ("address" = String, Query, description = "The address."),
        ("space" = Option<String>, Query, description = "Only this space."),
        ("at" = Option<String>, Query, description = "A past moment, in RFC 3339."),
        ("cursor" = Option<String>, Query, description = "Events older than those of another page."),
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
    let ip = query
        .address("address")?
        .ok_or_else(|| Failure::missing("address"))?;
    let space = query.text("space");
    let at = app.past(&mut query)?;
    let given = query.text("cursor");
    query.end()?;
    if let Some(space) = &space {
        check::space("space", space)?;
    }
    let ip_text = ip.to_string();
    let parameters = [
        ("address", Some(ip_text.as_str())),
        ("space", space.as_deref()),
    ];
    let cursor = Cursor::new("page_address", parameters);
    let stamp = Stamp::read(app, context, space.as_deref(), at).await?;
    let asked = About {
        subject: Subject::Address(ip),
        cluster: None,
        space: space.clone(),
    };
    let mut events = newest(app, context, asked, given.as_deref(), &cursor).await?;
    if events.is_empty() && given.is_none() {
        let place = space.map_or_else(
            || "any space".to_owned(),
            |space| format!("space {space:?}"),
        );
        let detail = format!("address \"{ip}\" has no event in {place}: it was never used");
        return Err(Failure::new(ProblemCode::NotFound, detail).about("address", &ip_text));
    }
    let holds = HoldQuery {
        space: space.clone(),
        at,
        address: Some(ip),
        limit: AT_ONCE,
        ..HoldQuery::default()
    };
    let holds = app.read(context, app.ledger.holds(&holds)).await?.holds;
    let here = links::address(space.as_deref(), ip, at);
    let older = older(&mut events, &cursor, &here)?;
    let mut others = vec![("address", ip_text.clone())];
    others.extend(space.clone().map(|space| ("space", space)));
    let first = events.last().map(|event| event.recorded_at);
    let lead = html! {
        (past::form("/address", &others, first, stamp.now, at))
        (holders(ip, &holds, at, stamp.now))
        (strip::strip(&events, stamp.now))
    };
    let caption = format!("Events of {ip}, newest first");
    Ok(View {
        title: match &space {
            Some(space) => format!("Address {ip} in space {space}"),
            None => format!("Address {ip}"),
        },
        here: match &given {
            Some(cursor) => links::with(&here, "cursor", cursor),
            None => here,
        },
        tables: vec![events_table::table("events", caption, &events, stamp.now)],
        stamp,
        lead,
        after: older,
    })
}

fn holders(ip: IpAddr, holds: &[Hold], at: Option<Timestamp>, now: Timestamp) -> Markup {
    html! {
        section.answer aria-label="Holder" {
            @match at {
                Some(at) => p { "At " time datetime=(wire::time(at)) { (words::plain(at)) } ":" },
                None => p { "Now:" },
            }
            @if holds.is_empty() { p { b { (ip) } (if at.is_some() { " was held by nobody." } else { " is held by nobody." }) } }
            @for hold in holds {
                p {
                    b { (ip) } " in space " b { (hold.space) } " held by "
                    @match &hold.owner {
                        Some(owner) => {
                            a href=(links::pod(Some(&hold.attachment.cluster), &owner.namespace, &owner.name)) {
                                (owner.namespace) "/" (owner.name)
                            }
                            @if let Some(node) = &owner.node { " on node " (node) }
                        }
                        None => { "sandbox " (hold.attachment.container_id) }
                    }
                    ", interface " (hold.attachment.ifname) ", since " (words::aged(now, hold.recorded_at)) ", "
                    a href=(links::event(&hold.space, hold.seq)) { "event " (hold.seq) }
                }
            }
        }
    }
}
