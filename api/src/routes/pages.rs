//! The page at `/`: what there is, in plain HTML without anything from elsewhere.

use std::fmt::Write as _;
use std::sync::Arc;

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::HeaderValue;
use http::header::{CONTENT_SECURITY_POLICY, CONTENT_TYPE};
use utoipa::openapi::path::Operation;
use utoipa::openapi::{OpenApi, RefOr, Required};

use crate::app::App;
use crate::openapi::operations;
use crate::openapi::problems::PlainProblems;

const HEAD: &str = "<!doctype html>
<html lang=\"en\">
<meta charset=\"utf-8\">
<meta name=\"viewport\" content=\"width=device-width\">
<title>ipledger</title>
<style>
body { font: 16px/1.5 system-ui, sans-serif; max-width: 56rem; margin: 2rem auto; padding: 0 1rem;
  color-scheme: light dark; }
table { border-collapse: collapse; width: 100%; }
td, th { text-align: left; padding: .3rem .8rem .3rem 0; border-bottom: 1px solid #8885; }
</style>
<h1>ipledger</h1>
<p>Addresses of pods, kept in an append-only ledger. The whole API is described in
<a href=\"/openapi.json\">/openapi.json</a>.</p>
<table>
<tr><th>Method<th>Path<th>What it does
";

/// The text of the page.
pub(super) fn index(document: &OpenApi) -> String {
    let mut page = HEAD.to_owned();
    for (method, path, operation) in operations(document) {
        let summary = escape(operation.summary.as_deref().unwrap_or_default());
        let link = match method == "GET" && !needs_parameters(operation) {
            true => format!("<a href=\"{path}\">{path}</a>"),
            false => escape(path),
        };
        let _ = writeln!(page, "<tr><td>{method}<td>{link}<td>{summary}");
    }
    page.push_str("</table>\n");
    page
}

fn needs_parameters(operation: &Operation) -> bool {
    let parameters = operation.parameters.iter().flatten();
    parameters
        .into_iter()
        .any(|parameter| matches!(parameter, RefOr::T(p) if p.required == Required::True))
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

/// This page
///
/// What there is, in HTML.
#[utoipa::path(
    get, path = "/", operation_id = "page", tag = "service",
    responses(
        (status = 200, description = "The page.", body = String, content_type = "text/html"),
        PlainProblems,
    ),
)]
pub(super) async fn page(State(app): State<Arc<App>>) -> Response {
    let headers = [
        (
            CONTENT_TYPE,
            HeaderValue::from_static("text/html; charset=utf-8"),
        ),
        (
            CONTENT_SECURITY_POLICY,
            HeaderValue::from_static("default-src 'none'; style-src 'unsafe-inline'"),
        ),
    ];
    (headers, app.documents.page.clone()).into_response()
}
