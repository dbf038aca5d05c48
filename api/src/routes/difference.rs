//! The difference between two moments.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use axum::response::Response;
use ipledger_client::types::DifferencePage;
use ledger::{DifferenceQuery, Moment};
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

/// Which two moments.
#[derive(Debug, IntoParams)]
#[into_params(parameter_in = Query)]
#[expect(
    dead_code,
    reason = "read parameter by parameter; here for the documentation"
)]
pub(super) struct DifferenceParameters {
    /// The earlier moment: a time in RFC 3339, or a position, which needs `space`.
    from: String,
    /// The later moment, likewise; the present one without it.
    to: Option<String>,
    /// Name of the space.
    space: Option<String>,
    /// How many addresses a page has at most.
    #[param(minimum = 1, maximum = 5000, default = 500)]
    limit: Option<u32>,
    /// `next` of the page before, with the same other parameters.
    cursor: Option<String>,
}

/// Where a page begins: behind this address, in the same reading.
#[derive(Serialize, Deserialize)]
struct Place {
    space: String,
    address: IpAddr,
    from: BTreeMap<String, u64>,
    to: BTreeMap<String, u64>,
}

/// Show a difference
///
/// The addresses whose holder differs between two moments, each with both holders. What came and
/// went in between is not told; the history of the address tells it. All pages that one cursor
/// leads to compare the same positions.
///
/// With `Accept: text/csv` or `application/x-ndjson` the rows come alone, and the cursor of the
/// next page in the header `X-Ipledger-Next`.
#[utoipa::path(
    get, path = "/v1/diff", operation_id = "difference", tag = "history",
    params(DifferenceParameters),
    responses(
        (status = 200, description = "A page of changes.", body = DifferencePage),
        (status = 304, description = "The page has the entity tag of `If-None-Match`."),
        ListHoldsProblems,
    ),
)]
pub(super) async fn show(
    State(app): State<Arc<App>>,
    Extension(context): Extension<Arc<RequestContext>>,
    wanted: Wanted,
    mut query: Query,
) -> Result<Response, Failure> {
    let from = query.required("from")?;
    let to = query.text("to");
    let space = query.text("space");
    let limit = query.limit(USUAL_LIMIT, MOST)?;
    let given = query.text("cursor");
    query.end()?;
    if let Some(space) = &space {
        check::space("space", space)?;
    }
    let parameters = [
        ("from", Some(from.as_str())),
        ("to", to.as_deref()),
        ("space", space.as_deref()),
    ];
    let cursor = Cursor::new("diff", parameters);
    let place: Option<Place> = given.map(|text| cursor.read(&text)).transpose()?;
    let (after, positions) = match place {
        Some(place) => (
            Some((place.space, place.address)),
            Some((place.from, place.to)),
        ),
        None => (None, None),
    };
    let query = DifferenceQuery {
        from: moment("from", &from, space.as_deref())?,
        to: to
            .map(|text| moment("to", &text, space.as_deref()))
            .transpose()?,
        space,
        after,
        positions,
        limit,
    };
    let found = app.read(&context, app.ledger.difference(&query)).await?;
    let next = match found.changes.last().filter(|_| found.more) {
        Some(last) => Some(cursor.write(&Place {
            space: last.space.clone(),
            address: last.ip,
            from: found.from.clone(),
            to: found.to.clone(),
        })?),
        None => None,
    };
    let page = DifferencePage {
        changes: found.changes.into_iter().map(wire::change).collect(),
        from: found.from,
        to: found.to,
        next,
    };
    wanted.page(&page, |page| &page.changes, page.next.as_deref())
}

/// A position if it is a number, else a time.
fn moment(key: &'static str, text: &str, space: Option<&str>) -> Result<Moment, Failure> {
    if let Ok(seq) = text.parse::<u64>() {
        return match space {
            Some(_) => Ok(Moment::Position(check::position(key, Some(seq))?)),
            None => Err(Failure::missing("space")),
        };
    }
    let at = check::time(key, Some(text))?;
    at.map(Moment::Time).ok_or_else(|| Failure::missing(key))
}
