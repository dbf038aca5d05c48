//! A pod: what it holds, and its history across rebirths.

use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use axum::response::Response;
use ipledger_client::types::ProblemCode;
use jiff::Timestamp;
use ledger::{Hold, HoldQuery, Subject};
use maud::html;

use super::answer::{Asked, View};
use super::newest::{AT_ONCE, About, newest, older};
use super::stamp::Stamp;
use super::table::{Cell, Table};
use super::{events_table, links, past, words};
use crate::app::App;
use crate::check;
use crate::context::RequestContext;
use crate::input::{Cursor, Query};
use crate::openapi::problems::ListInSpaceProblems;
use crate::problem::Failure;
use crate::wire;

/// Pod
///
/// A web page: what the pods of a name hold now or at a past moment, and every event about them,
/// the newest first.
#[utoipa::path(
    get, path = "/pod", operation_id = "page_pod", tag = "pages",
    params(
        ("namespace" = String, Query, description = "Namespace of the pod."),
        ("pod" = String, Query, description = "Name of the pod."),
        ("cluster" = Option<String>, Query, description = "Only in this cluster."),
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
    let namespace = query.required("namespace")?;
    let pod = query.required("pod")?;
    let cluster = query.text("cluster");
    let at = app.past(&mut query)?;
    let given = query.text("cursor");
    query.end()?;
    check::pod_name("namespace", &namespace)?;
    check::pod_name("pod", &pod)?;
    if let Some(cluster) = &cluster {
        check::cluster("cluster", cluster)?;
    }
    let parameters = [
        ("namespace", Some(namespace.as_str())),
        ("pod", Some(pod.as_str())),
        ("cluster", cluster.as_deref()),
    ];
    let cursor = Cursor::new("page_pod", parameters);
    let stamp = Stamp::read(app, context, None, at).await?;
    let asked = About {
        subject: Subject::Pod {
            namespace: namespace.clone(),
            name: pod.clone(),
        },
        cluster: cluster.clone(),
        space: None,
    };
    let mut events = newest(app, context, asked, given.as_deref(), &cursor).await?;
    if events.is_empty() && given.is_none() {
        let detail =
            format!("pod \"{namespace}/{pod}\" has no event: it never had an address here");
        return Err(Failure::new(ProblemCode::NotFound, detail).about("pod", &pod));
    }
    let holds = HoldQuery {
        at,
        cluster: cluster.clone(),
        namespace: Some(namespace.clone()),
        pod: Some(pod.clone()),
        limit: AT_ONCE,
        ..HoldQuery::default()
    };
    let holds = app.read(context, app.ledger.holds(&holds)).await?.holds;
    let here = links::pod(cluster.as_deref(), &namespace, &pod);
    let here = at.map_or(here.clone(), |at| links::with(&here, "at", &wire::time(at)));
    let older = older(&mut events, &cursor, &here)?;
    let mut others = vec![("namespace", namespace.clone()), ("pod", pod.clone())];
    others.extend(cluster.map(|cluster| ("cluster", cluster)));
    let first = events.last().map(|event| event.recorded_at);
    let caption = format!("Events of {namespace}/{pod}, newest first");
    Ok(View {
        title: format!("Pod {namespace}/{pod}"),
        here: match &given {
            Some(cursor) => links::with(&here, "cursor", cursor),
            None => here,
        },
        lead: html! { (past::form("/pod", &others, first, stamp.now, at)) },
        tables: vec![
            holds_table(&holds, at, stamp.now),
            events_table::table("events", caption, &events, stamp.now),
        ],
        stamp,
        after: older,
    })
}

fn holds_table(holds: &[Hold], at: Option<Timestamp>, now: Timestamp) -> Table {
    let row = |hold: &Hold| {
        let owner = hold.owner.as_ref();
        let text = |text: Option<&String>| Cell::text(text.map(String::as_str).unwrap_or_default());
        vec![
            Cell::link(hold.ip, links::address(Some(&hold.space), hold.ip, at)),
            Cell::text(&hold.space),
            Cell::link(hold.pool, links::pool(&hold.space, hold.pool, None, at)),
            Cell::text(&hold.attachment.ifname),
            text(owner.and_then(|owner| owner.node.as_ref())),
            text(owner.and_then(|owner| owner.uid.as_ref())),
            Cell::text(&hold.attachment.container_id),
            Cell::shown(
                wire::time(hold.recorded_at),
                words::aged(now, hold.recorded_at),
            ),
            Cell::link(hold.seq, links::event(&hold.space, hold.seq)),
        ]
    };
    Table {
        name: "holds",
        caption: match at {
            Some(at) => format!("Held at {}", words::plain(at)),
            None => "Held now".to_owned(),
        },
        columns: &[
            "Address",
            "Space",
            "Pool",
            "Interface",
            "Node",
            "Pod UID",
            "Sandbox",
            "Since",
            "Event",
        ],
        rows: holds.iter().map(row).collect(),
    }
}
