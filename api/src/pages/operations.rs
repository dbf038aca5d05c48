//! The operations of the API, one by one.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use maud::{Markup, html};
use utoipa::openapi::path::Operation;
use utoipa::openapi::{OpenApi, RefOr, Required};

use super::{answer, layout};
use crate::app::App;
use crate::openapi::operations;
use crate::openapi::problems::PlainProblems;

/// The page: it says nothing of the ledger, and is written once.
pub(crate) fn index(document: &OpenApi) -> Markup {
    let content = html! {
        h1 { "API" }
        p {
            "The whole API is described in " a href="/openapi.json" { "/openapi.json" }
            ". This page is about the service and not about the ledger: it has no position."
        }
        div.scroll role="region" aria-labelledby="operations" tabindex="0" {
            table {
                caption #operations { "Operations" }
                thead { tr { th scope="col" { "Path" } th scope="col" { "Method" } th scope="col" { "What it does" } } }
                tbody {
                    @for (method, path, operation) in operations(document) {
                        tr {
                            th scope="row" {
                                @if method == "GET" && !needs_parameters(operation) { a href=(path) { (path) } }
                                @else { (path) }
                            }
                            td { (method) }
                            td { (operation.summary.as_deref().unwrap_or_default()) }
                        }
                    }
                }
            }
        }
    };
    layout::frame("API", "/api", &content)
}

fn needs_parameters(operation: &Operation) -> bool {
    let parameters = operation.parameters.iter().flatten();
    parameters
        .into_iter()
        .any(|parameter| matches!(parameter, RefOr::T(p) if p.required == Required::True))
}

/// Operations
///
/// A web page: every operation of this API.
#[utoipa::path(
    get, path = "/api", operation_id = "page_api", tag = "pages",
    responses(
        (status = 200, description = "The page.", body = String, content_type = "text/html"),
        PlainProblems,
    ),
)]
pub(crate) async fn show(State(app): State<Arc<App>>) -> Response {
    let mut response = Response::new(Body::from(app.documents.page.clone()));
    answer::set_headers(response.headers_mut());
    response
}
