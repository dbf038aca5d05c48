//! From a failure to the bytes of a problem body.

use axum::body::Body;
use axum::response::Response;
use http::HeaderValue;
use http::header::{CONTENT_LENGTH, CONTENT_TYPE, RETRY_AFTER};
use ipledger_client::types::Problem;

use super::Failure;

/// The media type of a problem body.
pub const PROBLEM_JSON: HeaderValue = HeaderValue::from_static("application/problem+json");

impl Failure {
    /// Turns the empty response of this failure into the one that the caller gets. Its other
    /// headers (`Allow`) stay.
    pub(crate) fn render(&self, response: Response, request_id: &str) -> Response {
        let (mut head, _) = response.into_parts();
        head.status = self.status();
        head.headers.remove(CONTENT_LENGTH);
        head.headers.insert(CONTENT_TYPE, PROBLEM_JSON);
        if self.code().is_retryable() {
            let seconds = self.0.retry_after_seconds.unwrap_or(1);
            head.headers.insert(RETRY_AFTER, HeaderValue::from(seconds));
        }
        let body = serde_json::to_vec(&self.problem(request_id))
            .expect("a problem has text keys and no failing serializers");
        Response::from_parts(head, Body::from(body))
    }

    /// The body.
    pub(crate) fn problem(&self, request_id: &str) -> Problem {
        let code = self.code();
        Problem {
            problem_type: format!("urn:ipledger:problem:{}", code.as_str()),
            title: code.title().to_owned(),
            status: code.status(),
            detail: self.0.detail.clone(),
            code,
            retryable: code.is_retryable(),
            key: self.0.key.clone(),
            value: self.0.value.clone(),
            holder: self.0.holder.clone(),
            request_id: request_id.to_owned(),
        }
    }
}
