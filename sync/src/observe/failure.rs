//! Failed reads: which say that an object is not there, and why the others say nothing.

use kube::Error;
use kube::core::Status;

use crate::diff::Blind;

/// Whether this is the answer of the API server itself that this very object does not exist. A
/// bare 404 comes from whatever stands in between.
pub(crate) fn is_not_found(error: &Error, resource: &str, name: &str) -> bool {
    let Error::Api(status) = error else {
        return false;
    };
    status.code == 404 && status.reason == "NotFound" && names(status, resource, name)
}

fn names(status: &Status, resource: &str, name: &str) -> bool {
    let details = status.details.as_ref();
    details.is_some_and(|details| details.kind == resource && details.name == name)
}

/// Why a read that failed says nothing.
pub(crate) fn blind(error: &Error) -> Blind {
    match error {
        Error::Api(status) => match status.code {
            401 | 403 => Blind::Forbidden,
            410 | 429 | 500..=599 => Blind::ServerError,
            408 => Blind::TimedOut,
            _ => Blind::Unreadable,
        },
        Error::SerdeError(_) | Error::FromUtf8(_) | Error::LinesCodecMaxLineLengthExceeded => {
            Blind::Unreadable
        }
        Error::Auth(_) => Blind::Forbidden,
        // The connection: refused, broken, cut.
        _ => Blind::TimedOut,
    }
}

/// The fixed word for a kind of failure, for metrics and reasons.
#[must_use]
pub fn word(blind: Blind) -> &'static str {
    match blind {
        Blind::NotRead => "not_read",
        Blind::BeforeHold => "before_hold",
        Blind::Forbidden => "forbidden",
        Blind::TimedOut => "timed_out",
        Blind::ServerError => "server_error",
        Blind::Unreadable => "unreadable",
    }
}

/// The text of a failure in one line, without what only repeats it.
pub(crate) fn text(error: &Error) -> String {
    match error {
        Error::Api(status) if !status.message.is_empty() => one_line(&status.message),
        other => {
            let mut innermost: &dyn std::error::Error = other;
            while let Some(source) = innermost.source() {
                innermost = source;
            }
            one_line(&innermost.to_string())
        }
    }
}

/// No more than 300 characters, without line breaks.
fn one_line(text: &str) -> String {
    text.split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
        .chars()
        .take(300)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn api(body: &str) -> Error {
        Error::Api(serde_json::from_str::<Status>(body).unwrap().boxed())
    }

    const NOT_FOUND: &str = r#"{"code":404,"reason":"NotFound","message":"pods \"a\" not found",
        "details":{"name":"a","kind":"pods"}}"#;

    #[test]
    fn only_the_api_servers_own_word_about_this_object_counts() {
        assert!(is_not_found(&api(NOT_FOUND), "pods", "a"));
        assert!(!is_not_found(&api(NOT_FOUND), "pods", "b"));
        assert!(!is_not_found(&api(NOT_FOUND), "nodes", "a"));
        for body in [
            r#"{"code":404,"reason":"NotFound"}"#,
            r#"{"code":404,"reason":"Failed to parse error data","message":"404 page not found"}"#,
            r#"{"code":500,"reason":"NotFound","details":{"name":"a","kind":"pods"}}"#,
            r#"{"code":404,"reason":"Gone","details":{"name":"a","kind":"pods"}}"#,
        ] {
            assert!(!is_not_found(&api(body), "pods", "a"), "{body}");
        }
    }

    #[test]
    fn every_failure_has_its_kind() {
        for (body, expected) in [
            (r#"{"code":401}"#, Blind::Forbidden),
            (r#"{"code":403}"#, Blind::Forbidden),
            (r#"{"code":410}"#, Blind::ServerError),
            (r#"{"code":429}"#, Blind::ServerError),
            (r#"{"code":504}"#, Blind::ServerError),
            (r#"{"code":404}"#, Blind::Unreadable),
            ("{}", Blind::Unreadable),
        ] {
            assert_eq!(blind(&api(body)), expected, "{body}");
        }
        let cut = serde_json::from_str::<Status>("{").unwrap_err();
        assert_eq!(blind(&Error::SerdeError(cut)), Blind::Unreadable);
        let service = Error::Service("connection refused".into());
        assert_eq!(blind(&service), Blind::TimedOut);
        assert_eq!(text(&service), "connection refused");
    }
}
