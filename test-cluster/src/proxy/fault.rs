//! What may go wrong.

use std::time::Duration;

use http::header::{CONTENT_TYPE, HeaderValue, RETRY_AFTER};
use http::{Response, StatusCode};
use serde_json::json;

use super::request::{SeenRequest, Verb};

/// What happens to a request that matches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// It is refused with this status, in the API server's form, and does not reach it.
    Status(StatusCode),
    /// It gets no answer and does not reach the API server. When the fault ends, so does the
    /// connection.
    Hang,
    /// Its connection is closed without an answer.
    Disconnect,
    /// It is passed on after this time.
    Delay(Duration),
    /// Its answer breaks off after so many bytes.
    TruncateBody {
        /// How many of the body's bytes arrive. A shorter body arrives whole.
        after_bytes: usize,
    },
    /// A list has no items, and is the last page. A streaming list has no objects at its beginning.
    EmptyList,
    /// A list, streaming or not, has none of this namespace's objects.
    WithoutNamespace(String),
}

impl Fault {
    /// Whether it can happen to this request.
    pub(super) fn applies_to(&self, request: &SeenRequest) -> bool {
        match self {
            Self::EmptyList | Self::WithoutNamespace(_) => {
                matches!(request.verb, Verb::List | Verb::Watch)
            }
            _ => true,
        }
    }
}

/// A refusal as the API server writes it.
pub(super) fn refusal(status: StatusCode, message: &str) -> Response<Vec<u8>> {
    let body = json!({
        "apiVersion": "v1",
        "kind": "Status",
        "metadata": {},
        "status": "Failure",
        "message": message,
        "reason": reason(status),
        "code": status.as_u16(),
    });
    let mut response = Response::new(body.to_string().into_bytes());
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    if status == StatusCode::TOO_MANY_REQUESTS {
        headers.insert(RETRY_AFTER, HeaderValue::from_static("1"));
    }
    response
}

/// The word that the API server has for a status.
fn reason(status: StatusCode) -> &'static str {
    match status {
        StatusCode::BAD_REQUEST => "BadRequest",
        StatusCode::UNAUTHORIZED => "Unauthorized",
        StatusCode::FORBIDDEN => "Forbidden",
        StatusCode::NOT_FOUND => "NotFound",
        StatusCode::CONFLICT => "Conflict",
        StatusCode::GONE => "Expired",
        StatusCode::UNPROCESSABLE_ENTITY => "Invalid",
        StatusCode::TOO_MANY_REQUESTS => "TooManyRequests",
        StatusCode::INTERNAL_SERVER_ERROR => "InternalError",
        StatusCode::SERVICE_UNAVAILABLE => "ServiceUnavailable",
        StatusCode::GATEWAY_TIMEOUT => "Timeout",
        _ => "",
    }
}
