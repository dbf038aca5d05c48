//! JSON into a type, and if that fails, which key and value are at fault.

use axum::body::Bytes;
use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_path_to_error::{Path, Segment};

use crate::problem::Failure;

/// Reads a body. The happy path is serde alone; only a refused body is read again to find out
/// where it went wrong.
pub(super) fn read<T: DeserializeOwned>(bytes: &Bytes) -> Result<T, Failure> {
    serde_json::from_slice(bytes).map_err(|error| diagnose::<T>(bytes, &error))
}

fn diagnose<T: DeserializeOwned>(bytes: &[u8], error: &serde_json::Error) -> Failure {
    let text = String::from_utf8_lossy(bytes);
    if text.trim().is_empty() {
        return Failure::missing("body");
    }
    let not_json = |error: &serde_json::Error| {
        Failure::invalid("body", &text, &format!("is not JSON: {error}"))
    };
    // What is wrong with the text as a whole comes before what is wrong with one key.
    let document = match serde_json::from_slice::<Value>(bytes) {
        Ok(document) => document,
        Err(error) => return not_json(&error),
    };
    if !document.is_object() {
        return Failure::invalid("body", &value_text(Some(&document)), "is not an object");
    }
    let reader = &mut serde_json::Deserializer::from_slice(bytes);
    match serde_path_to_error::deserialize::<_, T>(reader) {
        Ok(_) => not_json(error),
        Err(located) => {
            let message = located.inner().to_string();
            explain(&document, located.path(), &message)
        }
    }
}

/// serde's sentence in our words.
fn explain(document: &Value, path: &Path, message: &str) -> Failure {
    let message = message.split(" at line ").next().unwrap_or(message);
    if let Some(field) = quoted(message, "missing field `") {
        return Failure::missing(join(path, field));
    }
    if let Some(field) = quoted(message, "duplicate field `") {
        let value = value_at(document, path).and_then(|object| object.get(field));
        return Failure::invalid(join(path, field), &value_text(value), "appears twice");
    }
    let (key, value) = (key_of(path), value_text(value_at(document, path)));
    if message.starts_with("unknown field") {
        let known = message
            .split_once("expected ")
            .map_or("", |(_, known)| known);
        let known = known.trim_start_matches("one of ");
        return Failure::invalid(
            key,
            &value,
            &format!("is not a key here; there are {known}"),
        );
    }
    match message.split_once("expected ") {
        Some((_, expected)) => {
            Failure::invalid(key, &value, &format!("is not {}", in_words(expected)))
        }
        None => Failure::invalid(key, &value, &format!("cannot be meant: {message}")),
    }
}

fn quoted<'a>(message: &'a str, start: &str) -> Option<&'a str> {
    message.strip_prefix(start)?.split('`').next()
}

/// What serde calls a type, as JSON calls it.
fn in_words(expected: &str) -> String {
    match expected {
        "a string" => "a text".to_owned(),
        "a map" => "an object".to_owned(),
        "a sequence" => "an array".to_owned(),
        "u8" => format!("an integer from 0 to {}", u8::MAX),
        "u32" => format!("an integer from 0 to {}", u32::MAX),
        "u64" => format!("an integer from 0 to {}", u64::MAX),
        other if other.starts_with("struct ") => "an object".to_owned(),
        other => other.to_owned(),
    }
}

/// `ranges[0].range_start`; the body itself is `body`.
fn key_of(path: &Path) -> String {
    match path.iter().len() {
        0 => "body".to_owned(),
        _ => path.to_string(),
    }
}

fn join(path: &Path, field: &str) -> String {
    match path.iter().len() {
        0 => field.to_owned(),
        _ => format!("{path}.{field}"),
    }
}

fn value_at<'a>(document: &'a Value, path: &Path) -> Option<&'a Value> {
    path.iter()
        .try_fold(document, |value, segment| match segment {
            Segment::Seq { index } => value.get(index),
            Segment::Map { key } => value.get(key),
            Segment::Enum { .. } | Segment::Unknown => None,
        })
}

/// A text as it is, everything else as JSON.
fn value_text(value: Option<&Value>) -> String {
    match value {
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use ipledger_client::types::{AllocateRequest, ReleaseHoldRequest};

    use super::*;

    fn refused<T: DeserializeOwned>(body: &str) -> (String, String, String) {
        let failure = read::<T>(&Bytes::from(body.to_owned()))
            .err()
            .expect("a refusal");
        let text = |part: Option<&str>| part.unwrap_or("-").to_owned();
        (
            text(failure.key()),
            text(failure.value()),
            failure.detail().to_owned(),
        )
    }

    #[test]
    fn the_key_and_the_value_at_fault_are_named() {
        let attachment = r#""attachment": {"cluster": "c", "network": "n", "container_id": "i",
            "ifname": "net1"}"#;
        for (body, key, value, detail) in [
            ("{}".to_owned(), "attachment", "-", "attachment is missing"),
            (
                "[]".to_owned(),
                "body",
                "[]",
                "body \"[]\" is not an object",
            ),
            ("7".to_owned(), "body", "7", "body \"7\" is not an object"),
            (
                r#"{"attachment": {"cluster": 7}}"#.to_owned(),
                "attachment.cluster",
                "7",
                "attachment.cluster \"7\" is not a text",
            ),
            (
                format!(
                    r#"{{{attachment}, "ranges": [{{"range": "10.0.0.0/24"}}, {{"range": 5}}]}}"#
                ),
                "ranges[1].range",
                "5",
                "ranges[1].range \"5\" is not a text",
            ),
            (
                format!(r#"{{{attachment}, "ranges": [{{"rang": "10.0.0.0/24"}}]}}"#),
                "ranges[0].rang",
                "10.0.0.0/24",
                "ranges[0].rang \"10.0.0.0/24\" is not a key here; there are `range`, \
                 `range_start`, `range_end`, `exclude`",
            ),
            (
                format!(r#"{{{attachment}, {attachment}}}"#),
                "attachment",
                r#"{"cluster":"c","container_id":"i","ifname":"net1","network":"n"}"#,
                "attachment \"{\\\"cluster\\\":\\\"c\\\",\\\"container_id\\\":\\\"i\\\",\
                 \\\"ifname\\\":\\\"net1\\\",\\\"network\\\":\\\"n\\\"}\" appears twice",
            ),
        ] {
            let (found_key, found_value, found_detail) = refused::<AllocateRequest>(&body);
            assert_eq!(
                (found_key.as_str(), found_value.as_str()),
                (key, value),
                "{body}"
            );
            assert_eq!(found_detail, detail, "{body}");
        }
    }

    #[test]
    fn what_is_no_json_is_called_so() {
        let (key, value, detail) = refused::<ReleaseHoldRequest>("{\"space\": nope}");
        assert_eq!(
            (key.as_str(), value.as_str()),
            ("body", "{\"space\": nope}")
        );
        assert!(detail.contains("is not JSON: expected ident"), "{detail}");
        let (key, _, detail) = refused::<ReleaseHoldRequest>(" \n");
        assert_eq!((key.as_str(), detail.as_str()), ("body", "body is missing"));
    }

    #[test]
    fn a_bottomless_body_is_refused() {
        let (key, _, detail) = refused::<ReleaseHoldRequest>(&"[".repeat(100_000));
        assert_eq!(key, "body");
        assert!(detail.len() < 600, "{detail}");
    }

    #[test]
    fn a_number_out_of_range_is_refused_with_the_range() {
        let body = r#"{"space": "prod", "address": "10.0.0.1", "step": -1}"#;
        let (key, value, detail) = refused::<ReleaseHoldRequest>(body);
        assert_eq!((key.as_str(), value.as_str()), ("step", "-1"));
        assert_eq!(detail, "step \"-1\" is not an integer from 0 to 4294967295");
    }
}
