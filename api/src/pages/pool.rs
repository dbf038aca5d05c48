//! A pool as a map: a grid of addresses if it is small, of parts if it is large.

mod grid;
mod parts;

use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use axum::response::Response;
use ipnet::IpNet;
use jiff::Timestamp;
use ledger::MapQuery;
use ledger::answer::WindowCounts;
use ledger::command::Count;
use maud::{Markup, html};

use super::answer::{Asked, View};
use super::stamp::{Position, Stamp};
use super::table::Table;
use super::{links, past, stamp};
use crate::app::App;
use crate::check;
use crate::context::RequestContext;
use crate::input::Query;
use crate::openapi::problems::ListInSpaceProblems;
use crate::problem::Failure;

/// Ranges of so many bits are shown address by address.
const GRID_BITS: u8 = 10;
/// Larger ones in so many parts, as a power of two.
const PARTS_BITS: u8 = 8;

/// Pool
///
/// A web page: the pool as a map, now or at a past moment; each address, or in large pools each
/// part, with its state by colour and by shape.
#[utoipa::path(
    get, path = "/pool", operation_id = "page_pool", tag = "pages",
    params(
        ("space" = String, Query, description = "Name of the space."),
        ("cidr" = String, Query, description = "CIDR of the pool."),
        ("part" = Option<String>, Query, description = "Only this part of the pool."),
        ("at" = Option<String>, Query, description = "A past moment, in RFC 3339."),
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

/// What is shown of which pool.
struct Shown {
    space: String,
    pool: IpNet,
    range: IpNet,
    at: Option<Timestamp>,
    /// The windows of the pool.
    windows: Vec<WindowCounts>,
}

async fn view(app: &App, context: &RequestContext, query: Query) -> Result<View, Failure> {
    let shown = read_query(app, context, query).await?;
    let stamp = Stamp::read(app, context, Some(&shown.space), shown.at).await?;
    let Position::Space { seq, .. } = stamp.position else {
        return Err(Failure::wrong_answer());
    };
    let map_query = MapQuery {
        space: shown.space.clone(),
        range: shown.range,
        position: seq,
        moment: shown.at.unwrap_or(stamp.now),
    };
    let bits = shown.range.max_prefix_len() - shown.range.prefix_len();
    let (map, table) = if bits <= GRID_BITS {
        let states = app
            .read(context, app.ledger.address_map(&map_query))
            .await?;
        (
            grid::map(&shown, &states),
            grid::table(&shown, &states, stamp.now),
        )
    } else {
        let length = shown.range.prefix_len() + PARTS_BITS;
        let reading = app.ledger.density_map(&map_query, length);
        let parts = app.read(context, reading).await?;
        (
            parts::map(&shown, &parts, length),
            parts::table(&shown, &parts),
        )
    };
    let first = stamp::recorded_at(app, context, &shown.space, 1).await?;
    Ok(view_of(&shown, stamp, &map, table, first))
}

fn view_of(
    shown: &Shown,
    stamp: Stamp,
    map: &Markup,
    table: Table,
    first: Option<Timestamp>,
) -> View {
    let part = (shown.range != shown.pool).then_some(shown.range);
    let mut others = vec![
        ("space", shown.space.clone()),
        ("cidr", shown.pool.to_string()),
    ];
    others.extend(part.map(|part| ("part", part.to_string())));
    let lead = html! {
        (past::form("/pool", &others, first, stamp.now, shown.at))
        p.ways {
            @if shown.at.is_some() { a href=(links::pool(&shown.space, shown.pool, part, None)) { "Back to now" } " · " }
            @if part.is_some() {
                a href=(links::pool(&shown.space, shown.pool, None, shown.at)) { "Whole pool " (shown.pool) } " · "
            }
            a href=(links::url("/live", &[("space", Some(&shown.space))])) { "Live events of " (shown.space) }
        }
        (map)
    };
    View {
        title: match part {
            Some(part) => format!("Part {part} of pool {}", shown.pool),
            None => format!("Pool {}", shown.pool),
        },
        here: links::pool(&shown.space, shown.pool, part, shown.at),
        stamp,
        lead,
        tables: vec![table],
        after: html! {},
    }
}

async fn read_query(
    app: &App,
    context: &RequestContext,
    mut query: Query,
) -> Result<Shown, Failure> {
    let space = query.required("space")?;
    let cidr_text = query.required("cidr")?;
    let part_text = query.text("part");
    let at = app.past(&mut query)?;
    query.end()?;
    check::space("space", &space)?;
    let pool = check::cidr("cidr", &cidr_text)?;
    let part = part_text.as_deref().map(|text| check::cidr("part", text));
    let range = part.transpose()?.unwrap_or(pool);
    if !pool.contains(&range) {
        let problem = format!("is no part of {pool}");
        return Err(Failure::invalid("part", &range.to_string(), &problem));
    }
    let count = Count::Recorded(Some(space.clone()));
    let mut windows = app.count(context, count).await?.windows;
    if windows.is_empty() {
        app.require_space(context, &space).await?;
    }
    windows.retain(|counts| counts.window.cidr() == pool);
    if windows.is_empty() {
        let detail = format!("cidr {cidr_text:?} is no pool of space {space:?}");
        let code = ipledger_client::types::ProblemCode::NotFound;
        return Err(Failure::new(code, detail).about("cidr", &cidr_text));
    }
    Ok(Shown {
        space,
        pool,
        range,
        at,
        windows,
    })
}
