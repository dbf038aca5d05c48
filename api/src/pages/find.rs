//! From what somebody typed to the page about it.

use std::net::IpAddr;
use std::sync::Arc;

use axum::Extension;
use axum::extract::State;
use axum::response::{IntoResponse, Redirect, Response};
use ipledger_client::types::ProblemCode;
use ipnet::IpNet;
use ledger::command::Count;

use super::answer::Asked;
use super::links;
use crate::app::App;
use crate::context::RequestContext;
use crate::input::Query;
use crate::openapi::problems::ListInSpaceProblems;
use crate::problem::Failure;

/// Find
///
/// Leads to the page of an address, of a pool (by CIDR), or of a pod (`namespace/pod`).
#[utoipa::path(
    get, path = "/find", operation_id = "page_find", tag = "pages",
    params(("q" = String, Query, description = "An address, a CIDR, or namespace/pod.")),
    responses(
        (status = 200, description = "Never: it leads elsewhere.", body = String, content_type = "text/html"),
        (status = 303, description = "The page is at `Location`."),
        ListInSpaceProblems,
    ),
)]
pub(crate) async fn show(
    State(app): State<Arc<App>>,
    Extension(context): Extension<Arc<RequestContext>>,
    asked: Asked,
    query: Query,
) -> Response {
    match find(&app, &context, query).await {
        Ok(url) => Redirect::to(&url).into_response(),
        Err(failure) => asked.failed(&context, failure),
    }
}

async fn find(app: &App, context: &RequestContext, mut query: Query) -> Result<String, Failure> {
    let text = query.required("q")?;
    query.end()?;
    let text = text.trim();
    if let Ok(ip) = text.parse::<IpAddr>() {
        return Ok(links::address(None, ip, None));
    }
    if let Ok(cidr) = text.parse::<IpNet>() {
        return pool(app, context, cidr).await;
    }
    match text.split_once('/') {
        Some((namespace, pod)) if !namespace.is_empty() && !pod.is_empty() => {
            Ok(links::pod(None, namespace, pod))
        }
        _ => Err(Failure::invalid(
            "q",
            text,
            "is neither an address, nor a CIDR, nor namespace/pod",
        )),
    }
}

/// The pool of that CIDR; with several spaces that have one, the first of them.
async fn pool(app: &App, context: &RequestContext, cidr: IpNet) -> Result<String, Failure> {
    let counted = app.count(context, Count::Recorded(None)).await?;
    let pools = counted
        .windows
        .iter()
        .map(|w| (w.space.as_str(), w.window.cidr()));
    let found = pools.filter(|(_, pool)| pool.contains(&cidr)).min();
    let Some((space, pool)) = found else {
        let detail = format!("q \"{cidr}\" lies in no pool of any space");
        let failure = Failure::new(ProblemCode::NotFound, detail);
        return Err(failure.about("q", &cidr.to_string()));
    };
    let part = (pool != cidr).then_some(cidr);
    Ok(links::pool(space, pool, part, None))
}
