//! The first page: how full the pools are, clusters and their gates, streams.

use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use axum::response::Response;
use jiff::Timestamp;
use ledger::answer::WindowCounts;
use ledger::command::Count;
use ledger::{ClusterRow, SpaceRow};
use maud::html;

use super::answer::{Asked, View};
use super::stamp::Stamp;
use super::table::{Cell, Table};
use super::{links, words};
use crate::app::App;
use crate::check;
use crate::context::RequestContext;
use crate::input::Query;
use crate::openapi::problems::ListInSpaceProblems;
use crate::problem::Failure;
use crate::routes::pools::window_place;
use crate::wire;

/// Rows of a table; the lists of the API have the others.
const MOST: usize = 1000;
const MOST_CLUSTERS: u32 = 1000;

/// Overview
///
/// A web page: windows of all pools with what is held, cooling, reserved and free; clusters with
/// their gates; spaces with position and age.
#[utoipa::path(
    get, path = "/", operation_id = "page", tag = "pages",
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
    let mut spaces = app.read(context, app.ledger.spaces()).await?;
    if let Some(space) = &space {
        spaces.retain(|row| row.name == *space);
        if spaces.is_empty() {
            return Err(Failure::no_such_space(space));
        }
    }
    let clusters = app
        .read(context, app.ledger.clusters(None, MOST_CLUSTERS))
        .await?;
    let mut counted = app.count(context, Count::Recorded(space.clone())).await?;
    counted.windows.sort_by_cached_key(window_place);
    let now = app.clock.now();
    let closed = clusters
        .iter()
        .filter(|c| c.gate.as_ref().is_some_and(|g| g.closed));
    let lead = html! {
        @for cluster in closed {
            p.notice { "The gate of cluster " b { (cluster.name) } " is closed: it gets no address." }
        }
        @if counted.windows.len() > MOST || spaces.len() > MOST {
            p.notice {
                "Only the first " (MOST) " rows are shown; choose a space below, or read "
                a href="/v1/windows" { "/v1/windows" } "."
            }
        }
    };
    Ok(View {
        title: match &space {
            Some(space) => format!("Space {space}"),
            None => "Overview".to_owned(),
        },
        here: links::url("/", &[("space", space.as_deref())]),
        stamp: match (&space, spaces.first()) {
            (Some(_), Some(row)) => Stamp::of(now, row),
            _ => Stamp::all(now, &spaces),
        },
        lead,
        tables: vec![
            pools(&counted.windows),
            clusters_table(&clusters, now),
            spaces_table(&spaces, now),
        ],
        after: html! {},
    })
}

fn pools(windows: &[WindowCounts]) -> Table {
    Table {
        name: "pools",
        caption: "Pools and their windows".to_owned(),
        columns: &[
            "Pool", "Space", "First", "Last", "Use", "Held", "Cooling", "Reserved", "Free",
            "Capacity",
        ],
        rows: windows.iter().take(MOST).map(pool).collect(),
    }
}

fn pool(counts: &WindowCounts) -> Vec<Cell> {
    let window = wire::window(counts);
    let capacity = counts.window.capacity();
    let used = words::percent(counts.taken.held, capacity);
    let label = words::share(counts.taken.held, capacity);
    let bar = html! {
        meter min="0" max="100" low="75" high="90" optimum="0" value=(used)
            aria-label=(format!("held in {}", window.pool)) { (label) }
        " " (label)
    };
    let link = links::pool(&counts.space, counts.window.cidr(), None, None);
    let space = links::url("/", &[("space", Some(&counts.space))]);
    vec![
        Cell::link(&window.pool, link),
        Cell::link(&counts.space, space),
        Cell::text(&window.start),
        Cell::text(&window.end),
        Cell::shown(label.clone(), bar),
        Cell::text(&window.counts.held),
        Cell::text(&window.counts.cooling),
        Cell::text(&window.counts.reserved),
        Cell::text(&window.counts.free),
        Cell::text(&window.counts.capacity),
    ]
}

fn clusters_table(clusters: &[ClusterRow], now: Timestamp) -> Table {
    let row = |cluster: &ClusterRow| {
        let (state, reason, since) = match &cluster.gate {
            Some(gate) if gate.closed => ("closed", gate.reason.clone(), Some(gate.since)),
            Some(gate) => ("open", gate.reason.clone(), Some(gate.since)),
            None => ("open", String::new(), None),
        };
        vec![
            Cell::text(&cluster.name),
            Cell::text(cluster.holds),
            Cell::text(state),
            Cell::text(reason),
            time(since, now),
            time(cluster.bound_at, now),
            Cell::text(cluster.uid.as_deref().unwrap_or_default()),
        ]
    };
    Table {
        name: "clusters",
        caption: "Clusters and their gates".to_owned(),
        columns: &["Cluster", "Holds", "Gate", "Why", "Since", "Bound", "UID"],
        rows: clusters.iter().map(row).collect(),
    }
}

fn time(at: Option<Timestamp>, now: Timestamp) -> Cell {
    match at {
        Some(at) => Cell::shown(wire::time(at), words::aged(now, at)),
        None => Cell::default(),
    }
}

fn spaces_table(spaces: &[SpaceRow], now: Timestamp) -> Table {
    let row = |space: &SpaceRow| {
        let members: Vec<String> = space
            .members
            .iter()
            .map(|(cluster, network)| match network.as_str() {
                "" => cluster.clone(),
                network => format!("{cluster}/{network}"),
            })
            .collect();
        vec![
            Cell::link(
                &space.name,
                links::url("/live", &[("space", Some(&space.name))]),
            ),
            Cell::text(space.seq),
            time(space.recorded_at, now),
            Cell::text(members.join(", ")),
        ]
    };
    Table {
        name: "spaces",
        caption: "Spaces and the heads of their streams".to_owned(),
        columns: &["Space", "Position", "Last event", "Members"],
        rows: spaces.iter().take(MOST).map(row).collect(),
    }
}
