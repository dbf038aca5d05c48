//! Pools and their windows, with counts that sum to the capacity.

use std::sync::Arc;

use axum::extract::State;
use axum::{Extension, Json};
use ipledger_client::types::{Pool, PoolPage, WindowPage};
use ipnet::IpNet;
use ledger::answer::{Counted, WindowCounts};
use ledger::command::Count;
use utoipa::IntoParams;

use crate::app::App;
use crate::check;
use crate::context::RequestContext;
use crate::input::{Cursor, Query};
use crate::openapi::problems::ListInSpaceProblems;
use crate::problem::Failure;
use crate::wire;

const USUAL_LIMIT: u32 = 500;
const MOST: u32 = 5000;

/// Which pools or windows.
#[derive(Debug, IntoParams)]
#[into_params(parameter_in = Query)]
#[expect(
    dead_code,
    reason = "read parameter by parameter; here for the documentation"
)]
pub(super) struct PoolsQuery {
    /// Name of the space. Without it, all spaces.
    space: Option<String>,
    /// How many entries a page has at most.
    #[param(minimum = 1, maximum = 5000, default = 500)]
    limit: Option<u32>,
    /// `next` of the page before, with the same other parameters.
    cursor: Option<String>,
}

/// What a page is asked with.
struct Page {
    limit: usize,
    cursor: Cursor,
    given: Option<String>,
    space: Option<String>,
}

impl Page {
    fn read(mut query: Query, list: &'static str) -> Result<Self, Failure> {
        let space = query.text("space");
        if let Some(space) = &space {
            check::space("space", space)?;
        }
        let limit = usize::try_from(query.limit(USUAL_LIMIT, MOST)?).unwrap_or(usize::MAX);
        let given = query.text("cursor");
        query.end()?;
        let cursor = Cursor::new(list, [("space", space.as_deref())]);
        Ok(Self {
            limit,
            cursor,
            given,
            space,
        })
    }

    /// The recorded windows in their order, all counted at one moment.
    async fn count(&self, app: &App, context: &RequestContext) -> Result<Counted, Failure> {
        let count = Count::Recorded(self.space.clone());
        let mut counted = app.count(context, count).await?;
        if let (true, Some(space)) = (counted.windows.is_empty(), &self.space) {
            app.require_space(context, space).await?;
        }
        counted.windows.sort_by_cached_key(window_place);
        Ok(counted)
    }
}

/// Where a window stands in the list.
pub(crate) type WindowPlace = (String, IpNet, u128, u128, Vec<String>);

pub(crate) fn window_place(counts: &WindowCounts) -> WindowPlace {
    let window = &counts.window;
    let (first, last) = (window.first(), window.last());
    (
        counts.space.clone(),
        window.cidr(),
        first,
        last,
        window.exclude_text(),
    )
}

/// List pools
///
/// Every CIDR that was ever asked for, in order of space and CIDR, with its windows.
#[utoipa::path(
    get, path = "/v1/pools", operation_id = "list_pools", tag = "spaces",
    params(PoolsQuery),
    responses(
        (status = 200, description = "A page of pools.", body = PoolPage),
        ListInSpaceProblems,
    ),
)]
pub(super) async fn list_pools(
    State(app): State<Arc<App>>,
    Extension(context): Extension<Arc<RequestContext>>,
    query: Query,
) -> Result<Json<PoolPage>, Failure> {
    let page = Page::read(query, "pools")?;
    let after: Option<(String, IpNet)> = page
        .given
        .as_deref()
        .map(|text| page.cursor.read(text))
        .transpose()?;
    let counted = page.count(&app, &context).await?;
    let place = |counts: &WindowCounts| (counts.space.clone(), counts.window.cidr());
    let pools: Vec<&[WindowCounts]> = counted
        .windows
        .chunk_by(|a, b| place(a) == place(b))
        .filter(|windows| {
            after
                .as_ref()
                .is_none_or(|after| place(&windows[0]) > *after)
        })
        .collect();
    let shown = &pools[..pools.len().min(page.limit)];
    let next = match shown.last() {
        Some(last) if pools.len() > shown.len() => Some(page.cursor.write(&place(&last[0]))?),
        _ => None,
    };
    Ok(Json(PoolPage {
        pools: shown.iter().map(|windows| pool(windows)).collect(),
        as_of: counted.as_of,
        next,
    }))
}

fn pool(windows: &[WindowCounts]) -> Pool {
    Pool {
        space: windows[0].space.clone(),
        cidr: windows[0].window.cidr().to_string(),
        windows: windows.iter().map(wire::window).collect(),
    }
}

/// List windows
///
/// Every part of a pool that some definition hands out, with how full it is:
/// `held + cooling + reserved + free = capacity`.
#[utoipa::path(
    get, path = "/v1/windows", operation_id = "list_windows", tag = "spaces",
    params(PoolsQuery),
    responses(
        (status = 200, description = "A page of windows.", body = WindowPage),
        ListInSpaceProblems,
    ),
)]
pub(super) async fn list_windows(
    State(app): State<Arc<App>>,
    Extension(context): Extension<Arc<RequestContext>>,
    query: Query,
) -> Result<Json<WindowPage>, Failure> {
    let page = Page::read(query, "windows")?;
    let after: Option<WindowPlace> = page
        .given
        .as_deref()
        .map(|text| page.cursor.read(text))
        .transpose()?;
    let counted = page.count(&app, &context).await?;
    let begin = after.map_or(0, |after| {
        counted
            .windows
            .partition_point(|counts| window_place(counts) <= after)
    });
    let rest = &counted.windows[begin..];
    let shown = &rest[..rest.len().min(page.limit)];
    let next = match shown.last() {
        Some(last) if rest.len() > shown.len() => Some(page.cursor.write(&window_place(last))?),
        _ => None,
    };
    Ok(Json(WindowPage {
        windows: shown.iter().map(wire::window).collect(),
        as_of: counted.as_of,
        next,
    }))
}
