//! What a caller is told when a request does not get its answer: RFC 9457 bodies with a stable
//! code, the key and the value at fault, and whether trying again may help.

mod explain;
mod holder;
mod ledger;
mod render;

pub(crate) use self::ledger::Keys;
pub use explain::Explainer;
pub(crate) use holder::holder_of;
pub(crate) use render::InHtml;
pub use render::PROBLEM_JSON;

use axum::response::{IntoResponse, Response};
use http::StatusCode;
use ipledger_client::types::{Holder, ProblemCode};

/// The longest value that a problem repeats, in characters.
const SHOWN_CHARACTERS: usize = 200;

/// A problem before it knows the id of its request.
#[derive(Debug, Clone)]
pub struct Failure(Box<Parts>);

#[derive(Debug, Clone)]
struct Parts {
    code: ProblemCode,
    detail: String,
    key: Option<String>,
    value: Option<String>,
    holder: Option<Holder>,
    retry_after_seconds: Option<u64>,
    cause: Option<String>,
}

impl Failure {
    /// A problem whose detail is a sentence.
    pub fn new(code: ProblemCode, detail: impl Into<String>) -> Self {
        Self(Box::new(Parts {
            code,
            detail: detail.into(),
            key: None,
            value: None,
            holder: None,
            retry_after_seconds: None,
            cause: None,
        }))
    }

    /// A key whose value cannot be meant; `problem` ends the sentence that begins with both.
    pub fn invalid(key: impl Into<String>, value: &str, problem: &str) -> Self {
        let (key, value) = (key.into(), shown(value));
        let detail = format!("{key} {value:?} {problem}");
        Self::new(ProblemCode::InvalidRequest, detail).about(key, &value)
    }

    /// A key that must be there and is not.
    pub fn missing(key: impl Into<String>) -> Self {
        let key = key.into();
        let mut failure = Self::new(ProblemCode::InvalidRequest, format!("{key} is missing"));
        failure.0.key = Some(key);
        failure
    }

    /// Names the key and the value at fault.
    #[must_use]
    pub fn about(mut self, key: impl Into<String>, value: &str) -> Self {
        self.0.key = Some(key.into());
        self.0.value = Some(shown(value));
        self
    }

    /// Names the holder that is in the way.
    #[must_use]
    pub fn held_by(mut self, holder: Holder) -> Self {
        self.0.holder = Some(holder);
        self
    }

    /// Says when trying again may help. Without it, a retryable problem says one second.
    #[must_use]
    pub fn retry_after(mut self, seconds: u64) -> Self {
        self.0.retry_after_seconds = Some(seconds);
        self
    }

    /// Keeps the cause for the log; the caller never sees it.
    #[must_use]
    pub fn caused_by(mut self, cause: impl Into<String>) -> Self {
        self.0.cause = Some(cause.into());
        self
    }

    /// The stable code.
    #[must_use]
    pub fn code(&self) -> ProblemCode {
        self.0.code
    }

    /// The sentence.
    #[must_use]
    pub fn detail(&self) -> &str {
        &self.0.detail
    }

    /// The key at fault.
    #[must_use]
    pub fn key(&self) -> Option<&str> {
        self.0.key.as_deref()
    }

    /// The value at fault.
    #[must_use]
    pub fn value(&self) -> Option<&str> {
        self.0.value.as_deref()
    }

    /// The cause, for the log.
    #[must_use]
    pub fn cause(&self) -> Option<&str> {
        self.0.cause.as_deref()
    }

    /// The HTTP status.
    pub(crate) fn status(&self) -> StatusCode {
        StatusCode::from_u16(self.0.code.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
    }
}

/// The body is written by the exchange, which knows the id of the request.
impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        let mut response = self.status().into_response();
        response.extensions_mut().insert(self);
        response
    }
}

/// The text as problems repeat it: at most 200 characters, the last one `…` when it was cut.
pub(crate) fn shown(text: &str) -> String {
    match text.char_indices().nth(SHOWN_CHARACTERS) {
        None => text.to_owned(),
        Some(_) => text
            .chars()
            .take(SHOWN_CHARACTERS - 1)
            .chain(['…'])
            .collect(),
    }
}
