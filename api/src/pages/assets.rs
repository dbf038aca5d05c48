//! Style, script and icon: from here, so that nothing else need be allowed.

use axum::response::{IntoResponse, Response};
use http::HeaderValue;
use http::header::{CACHE_CONTROL, CONTENT_TYPE, X_CONTENT_TYPE_OPTIONS};

use crate::openapi::problems::PlainProblems;

fn asset(content_type: &'static str, content: &'static str) -> Response {
    let headers = [
        (CONTENT_TYPE, HeaderValue::from_static(content_type)),
        (CACHE_CONTROL, HeaderValue::from_static("max-age=60")),
        (X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
    ];
    (headers, content).into_response()
}

/// Style of the pages
///
/// Light and dark, narrow and wide.
#[utoipa::path(
    get, path = "/pages.css", operation_id = "pages_style", tag = "pages",
    responses((status = 200, description = "The style.", body = String, content_type = "text/css"), PlainProblems),
)]
pub(crate) async fn style() -> Response {
    asset("text/css; charset=utf-8", include_str!("pages.css"))
}

/// Script of the pages
///
/// Ages that grow, the slider through time, arrow keys on maps, live events.
#[utoipa::path(
    get, path = "/pages.js", operation_id = "pages_script", tag = "pages",
    responses((status = 200, description = "The script.", body = String, content_type = "text/javascript"), PlainProblems),
)]
pub(crate) async fn script() -> Response {
    asset("text/javascript; charset=utf-8", include_str!("pages.js"))
}

/// Icon of the pages
///
/// For tabs and bookmarks.
#[utoipa::path(
    get, path = "/pages.svg", operation_id = "pages_icon", tag = "pages",
    responses((status = 200, description = "The icon.", body = String, content_type = "image/svg+xml"), PlainProblems),
)]
pub(crate) async fn icon() -> Response {
    asset("image/svg+xml", include_str!("pages.svg"))
}
