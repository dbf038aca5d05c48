//! The body of a request, read within limits of size and time.

use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::extract::{FromRequest, Request};
use futures_util::StreamExt as _;
use http::HeaderMap;
use http::header::{CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE};
use ipledger_client::types::ProblemCode;
use serde::de::DeserializeOwned;

use super::json;
use crate::app::App;
use crate::context::RequestContext;
use crate::problem::Failure;

/// A JSON body as a value, and its bytes: a refusal may need the request again after its parts
/// went into a command.
pub(crate) struct JsonBody<T> {
    pub(crate) value: T,
    pub(crate) bytes: Bytes,
}

impl<T: DeserializeOwned> FromRequest<Arc<App>> for JsonBody<T> {
    type Rejection = Failure;

    async fn from_request(request: Request, app: &Arc<App>) -> Result<Self, Failure> {
        let limit = app.config.body_limit_bytes;
        check_headers(request.headers(), limit)?;
        let left = request
            .extensions()
            .get::<Arc<RequestContext>>()
            .map_or(app.config.request_time, |context| context.time_left(None));
        let bytes = tokio::time::timeout(left, collect(request.into_body(), limit))
            .await
            .map_err(|_| {
                let detail = format!("body did not arrive within {} s", left.as_secs());
                Failure::new(ProblemCode::DeadlinePassed, detail).about("body", "incomplete")
            })??;
        let value = json::read(&bytes)?;
        Ok(Self { value, bytes })
    }
}

impl<T: DeserializeOwned> JsonBody<T> {
    /// The value once more.
    pub(crate) fn read_again(bytes: &Bytes) -> Option<T> {
        json::read(bytes).ok()
    }
}

fn check_headers(headers: &HeaderMap, limit: usize) -> Result<(), Failure> {
    let text = |name| {
        headers
            .get(name)
            .map(|value| String::from_utf8_lossy(value.as_bytes()))
    };
    let unsupported = |key: &str, value: &str, problem: &str| {
        let detail = format!("{key} {:?} {problem}", crate::problem::shown(value));
        Failure::new(ProblemCode::UnsupportedMediaType, detail).about(key, value)
    };
    match text(CONTENT_TYPE) {
        Some(value) if is_json(&value) => {}
        Some(value) => {
            return Err(unsupported(
                "Content-Type",
                &value,
                "is not application/json",
            ));
        }
        None => return Err(unsupported("Content-Type", "", "is not application/json")),
    }
    if let Some(value) = text(CONTENT_ENCODING)
        && !value.eq_ignore_ascii_case("identity")
    {
        return Err(unsupported(
            "Content-Encoding",
            &value,
            "is not taken; send plain JSON",
        ));
    }
    let length = text(CONTENT_LENGTH).and_then(|value| value.parse::<u64>().ok());
    match length {
        Some(length) if usize::try_from(length).is_ok_and(|length| length <= limit) => Ok(()),
        Some(length) => Err(too_large(&length.to_string(), limit)),
        None => Ok(()),
    }
}

/// `application/json`, whatever parameters follow.
fn is_json(content_type: &str) -> bool {
    let essence = content_type.split(';').next().unwrap_or_default();
    essence.trim().eq_ignore_ascii_case("application/json")
}

/// The whole body; a body of one piece is not copied.
async fn collect(body: Body, limit: usize) -> Result<Bytes, Failure> {
    let mut stream = body.into_data_stream();
    let mut whole = Bytes::new();
    let mut pieces: Vec<u8> = Vec::new();
    while let Some(piece) = stream.next().await {
        let piece = piece.map_err(|error| {
            Failure::invalid("body", "incomplete", &format!("could not be read: {error}"))
        })?;
        let length = whole.len() + pieces.len() + piece.len();
        if length > limit {
            return Err(too_large(&format!("{length} or more"), limit));
        }
        if whole.is_empty() && pieces.is_empty() {
            whole = piece;
            continue;
        }
        pieces.extend_from_slice(&std::mem::take(&mut whole));
        pieces.extend_from_slice(&piece);
    }
    Ok(if pieces.is_empty() {
        whole
    } else {
        Bytes::from(pieces)
    })
}

fn too_large(length: &str, limit: usize) -> Failure {
    let detail = format!("body of {length} bytes is longer than the limit of {limit} bytes");
    Failure::new(ProblemCode::BodyTooLarge, detail).about("body", &format!("{length} bytes"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_body_in_pieces_is_put_together() {
        let pieces = ["{\"a\"", ":", "1}"].map(|piece| Ok::<_, std::io::Error>(piece.to_owned()));
        let body = Body::from_stream(futures_util::stream::iter(pieces));
        assert_eq!(collect(body, 7).await.unwrap(), "{\"a\":1}");
    }

    #[tokio::test]
    async fn a_body_in_pieces_is_cut_off_at_the_limit() {
        let pieces = ["1234", "5678"].map(|piece| Ok::<_, std::io::Error>(piece.to_owned()));
        let body = Body::from_stream(futures_util::stream::iter(pieces));
        let failure = collect(body, 7).await.unwrap_err();
        assert_eq!(failure.code(), ProblemCode::BodyTooLarge);
        assert_eq!(failure.value(), Some("8 or more bytes"));
    }

    #[test]
    fn parameters_of_the_content_type_do_not_matter() {
        assert!(is_json("application/json"));
        assert!(is_json("Application/JSON; charset=utf-8"));
        assert!(!is_json("application/json-patch+json"));
        assert!(!is_json("text/plain"));
    }
}
