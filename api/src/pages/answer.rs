//! From what a page shows to the answer: HTML, one of its tables as CSV, or an error page.

use axum::body::Body;
use axum::extract::FromRequestParts;
use axum::response::{IntoResponse, Response};
use http::header::{
    ACCEPT, CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_SECURITY_POLICY, CONTENT_TYPE,
    REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
};
use http::request::Parts;
use http::{HeaderMap, HeaderName, HeaderValue};
use maud::Markup;

use super::layout;
use super::stamp::Stamp;
use super::table::Table;
use crate::context::RequestContext;
use crate::problem::{Failure, InHtml};

const HTML: HeaderValue = HeaderValue::from_static("text/html; charset=utf-8");
const POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; \
     form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
);

/// What a page shows.
pub(super) struct View {
    /// The heading, and the title of the window.
    pub(super) title: String,
    /// Path and query of this view, as it can be pasted elsewhere.
    pub(super) here: String,
    /// What it was read from.
    pub(super) stamp: Stamp,
    /// Above the tables.
    pub(super) lead: Markup,
    /// Each can be downloaded.
    pub(super) tables: Vec<Table>,
    /// Below the tables: ways to go on.
    pub(super) after: Markup,
}

/// Whether the caller is a browser; any other gets errors as problem bodies.
pub(crate) struct Asked {
    html: bool,
}

impl<S: Sync> FromRequestParts<S> for Asked {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Failure> {
        let accept = parts.headers.get(ACCEPT).and_then(|v| v.to_str().ok());
        Ok(Self {
            html: accept.is_some_and(|accept| accept.contains("text/html")),
        })
    }
}

impl Asked {
    /// The page; with `csv`, only the table of that name.
    pub(super) fn answer(
        &self,
        context: &RequestContext,
        csv: Option<&str>,
        view: Result<View, Failure>,
    ) -> Response {
        let shown = view.and_then(|view| match csv {
            None => Ok(page(layout::page(&view))),
            Some(name) => download(&view, name),
        });
        shown.unwrap_or_else(|failure| self.failed(context, failure))
    }

    /// The error page, for a browser; the exchange sets its status.
    pub(super) fn failed(&self, context: &RequestContext, failure: Failure) -> Response {
        let html = layout::failure(&failure, &context.id).into_string();
        let mut response = failure.into_response();
        if self.html {
            set_headers(response.headers_mut());
            response.extensions_mut().insert(InHtml(html));
        }
        response
    }
}

/// A page that was rendered.
pub(super) fn page(markup: Markup) -> Response {
    let mut response = Response::new(Body::from(markup.into_string()));
    set_headers(response.headers_mut());
    response
}

fn download(view: &View, name: &str) -> Result<Response, Failure> {
    let Some(table) = view.tables.iter().find(|table| table.name == name) else {
        let names: Vec<&str> = view.tables.iter().map(|table| table.name).collect();
        let problem = format!("is no table of this page; there are: {}", names.join(", "));
        return Err(Failure::invalid("csv", name, &problem));
    };
    let file = format!("attachment; filename=\"ipledger-{name}.csv\"");
    let headers = [
        (
            CONTENT_TYPE,
            HeaderValue::from_static("text/csv; charset=utf-8; header=present"),
        ),
        (
            CONTENT_DISPOSITION,
            HeaderValue::from_str(&file).expect("names of tables are plain words"),
        ),
        (CACHE_CONTROL, HeaderValue::from_static("no-store")),
    ];
    Ok((headers, table.csv()).into_response())
}

pub(super) fn set_headers(headers: &mut HeaderMap) {
    let values: [(HeaderName, HeaderValue); 5] = [
        (CONTENT_TYPE, HTML),
        (CONTENT_SECURITY_POLICY, POLICY),
        (X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
        (REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
        // A page tells its age; a stored one would lie about it.
        (CACHE_CONTROL, HeaderValue::from_static("no-store")),
    ];
    for (name, value) in values {
        headers.insert(name, value);
    }
}
