//! How a list is written: JSON, CSV or lines of JSON, as the caller accepts; and an entity tag, so
//! that who has it already is not sent it again.

use axum::extract::FromRequestParts;
use axum::response::{IntoResponse, Response};
use http::header::{ACCEPT, CONTENT_TYPE, ETAG, IF_NONE_MATCH, VARY};
use http::request::Parts;
use http::{HeaderMap, HeaderValue, StatusCode};
use ipledger_client::types::{NEXT_HEADER, Row, csv};
use ledger::event::encoding::{hex, payload_digest};
use serde::Serialize;

use crate::problem::Failure;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Format {
    Json,
    Lines,
    Csv,
}

impl Format {
    fn media_type(self) -> &'static str {
        match self {
            Format::Json => "application/json",
            Format::Lines => "application/x-ndjson",
            Format::Csv => "text/csv; charset=utf-8; header=present",
        }
    }
}

/// What the caller wants, by its headers.
#[derive(Debug)]
pub(crate) struct Wanted {
    format: Format,
    /// The tags that it knows.
    known: String,
}

impl<S: Sync> FromRequestParts<S> for Wanted {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Failure> {
        Ok(Self::of(&parts.headers))
    }
}

impl Wanted {
    fn of(headers: &HeaderMap) -> Self {
        let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
        Self {
            format: format_of(text(ACCEPT).unwrap_or_default()),
            known: text(IF_NONE_MATCH).unwrap_or_default().to_owned(),
        }
    }

    /// A page; in CSV and lines only its rows, with the cursor of the next page in a header.
    pub(crate) fn page<P: Serialize, R: Serialize + Row>(
        &self,
        page: &P,
        rows: impl FnOnce(&P) -> &[R],
        next: Option<&str>,
    ) -> Result<Response, Failure> {
        let body = match self.format {
            Format::Json => json(page)?,
            Format::Csv => csv(rows(page)).into_bytes(),
            Format::Lines => {
                let mut lines = Vec::new();
                for row in rows(page) {
                    lines.extend(json(row)?);
                    lines.push(b'\n');
                }
                lines
            }
        };
        let mut response = self.answer(body);
        if let Some(next) = next.and_then(|next| HeaderValue::from_str(next).ok()) {
            response.headers_mut().insert(NEXT_HEADER, next);
        }
        Ok(response)
    }

    fn answer(&self, body: Vec<u8>) -> Response {
        let tag = format!("\"{}\"", &hex(&payload_digest(&body))[..32]);
        let is_known = self
            .known
            .split(',')
            .map(str::trim)
            .any(|known| known == "*" || known.strip_prefix("W/").unwrap_or(known) == tag);
        let mut response = match is_known {
            true => StatusCode::NOT_MODIFIED.into_response(),
            false => body.into_response(),
        };
        let headers = response.headers_mut();
        headers.insert(
            ETAG,
            HeaderValue::from_str(&tag).expect("a tag is hexadecimal"),
        );
        headers.insert(VARY, HeaderValue::from_static("Accept"));
        headers.remove(CONTENT_TYPE);
        if !is_known {
            let media_type = HeaderValue::from_static(self.format.media_type());
            headers.insert(CONTENT_TYPE, media_type);
        }
        response
    }
}

/// The first of our formats with the greatest weight; JSON for whoever names none of them.
fn format_of(accept: &str) -> Format {
    let mut best = (0, Format::Json);
    for part in accept.split(',') {
        let mut parts = part.split(';').map(str::trim);
        let format = match parts
            .next()
            .unwrap_or_default()
            .to_ascii_lowercase()
            .as_str()
        {
            "application/json" | "*/*" | "application/*" => Format::Json,
            "application/x-ndjson" | "application/ndjson" => Format::Lines,
            "text/csv" => Format::Csv,
            _ => continue,
        };
        let weight = parts.find_map(|parameter| parameter.strip_prefix("q="));
        let weight = weight.map_or(1000, thousandths);
        if weight > best.0 {
            best = (weight, format);
        }
    }
    best.1
}

/// A weight from 0 to 1 with up to three digits behind the point; 0 for anything else.
fn thousandths(weight: &str) -> u32 {
    let (whole, rest) = weight.split_once('.').unwrap_or((weight, ""));
    match (whole, format!("{rest:0<3}").parse::<u32>()) {
        ("1", Ok(0)) => 1000,
        ("0", Ok(part)) if part < 1000 => part,
        _ => 0,
    }
}

fn json<T: Serialize>(value: &T) -> Result<Vec<u8>, Failure> {
    serde_json::to_vec(value).map_err(|error| Failure::internal(format!("answer: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_format_is_the_accepted_one_with_the_greatest_weight() {
        for (accept, expected) in [
            ("", Format::Json),
            ("*/*", Format::Json),
            ("text/html", Format::Json),
            ("text/csv", Format::Csv),
            ("Text/CSV; q=0.5", Format::Csv),
            ("text/csv;q=0.5, application/x-ndjson", Format::Lines),
            ("text/csv;q=0, application/json;q=0.1", Format::Json),
            ("application/json, text/csv", Format::Json),
            ("text/csv;q=loud", Format::Json),
        ] {
            assert_eq!(format_of(accept), expected, "{accept}");
        }
    }

    #[test]
    fn who_knows_the_tag_gets_no_body() {
        let body = || b"text".to_vec();
        let mut headers = HeaderMap::new();
        let first = Wanted::of(&headers).answer(body());
        let tag = first.headers()[ETAG].clone();
        for (known, status) in [
            (tag.to_str().unwrap().to_owned(), 304),
            (format!("\"other\", W/{}", tag.to_str().unwrap()), 304),
            ("*".to_owned(), 304),
            ("\"other\"".to_owned(), 200),
        ] {
            headers.insert(IF_NONE_MATCH, known.parse().unwrap());
            let answer = Wanted::of(&headers).answer(body());
            assert_eq!(answer.status().as_u16(), status, "{known}");
        }
    }
}
