//! Reason and evidence of a release by anyone but the holder.

use ipledger_client::types::ProblemCode;
use ledger::event::encoding::find_fraction;
use serde_json::{Map, Value};

use crate::problem::{Failure, shown};

/// The longest evidence, as JSON in bytes.
const LONGEST_EVIDENCE: usize = 64 * 1024;

/// A reason: 1 to 256 characters, not only white space, no control characters.
pub(crate) fn reason(given: String) -> Result<String, Failure> {
    let holds = !given.trim().is_empty()
        && given.chars().count() <= 256
        && !given.chars().any(char::is_control);
    if holds {
        return Ok(given);
    }
    let problem = "is not a reason; write 1 to 256 characters without control characters";
    Err(Failure::invalid("reason", &given, problem))
}

/// Evidence: any JSON object of at most 64 KiB whose numbers are integers.
pub(crate) fn evidence(given: Map<String, Value>) -> Result<Map<String, Value>, Failure> {
    let given = Value::Object(given);
    let length = given.to_string().len();
    if length > LONGEST_EVIDENCE {
        let detail = format!("evidence has {length} bytes; at most {LONGEST_EVIDENCE} are taken");
        let failure = Failure::new(ProblemCode::InvalidRequest, detail);
        return Err(failure.about("evidence", &format!("{length} bytes")));
    }
    if let Some(key) = find_fraction("evidence", &given) {
        let problem = "holds a number that is not an integer of 64 bits; write it as a text";
        return Err(Failure::invalid(key, &number_text(&given), problem));
    }
    if let Some(key) = find_nul("evidence", &given) {
        let problem = "holds a NUL character, which PostgreSQL cannot read back as JSON";
        return Err(Failure::invalid(shown(&key), "\0", problem));
    }
    match given {
        Value::Object(object) => Ok(object),
        _ => Err(Failure::missing("evidence")),
    }
}

/// The first number that is not an integer of 64 bits.
fn number_text(value: &Value) -> String {
    fn find(value: &Value) -> Option<String> {
        match value {
            Value::Number(number) if !number.is_i64() && !number.is_u64() => {
                Some(number.to_string())
            }
            Value::Array(items) => items.iter().find_map(find),
            Value::Object(object) => object.values().find_map(find),
            _ => None,
        }
    }
    find(value).unwrap_or_default()
}

/// The path of the first text or key with a NUL character.
fn find_nul(path: &str, value: &Value) -> Option<String> {
    match value {
        Value::String(text) if text.contains('\0') => Some(path.to_owned()),
        Value::Array(items) => items
            .iter()
            .enumerate()
            .find_map(|(index, item)| find_nul(&format!("{path}[{index}]"), item)),
        Value::Object(object) => object.iter().find_map(|(key, item)| {
            if key.contains('\0') {
                return Some(path.to_owned());
            }
            find_nul(&format!("{path}.{key}"), item)
        }),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn refused(given: Value) -> (String, String) {
        let Value::Object(object) = given else {
            panic!("evidence is an object");
        };
        let failure = evidence(object).unwrap_err();
        let text = |part: Option<&str>| part.unwrap_or("-").to_owned();
        (text(failure.key()), text(failure.value()))
    }

    #[test]
    fn numbers_must_be_integers() {
        assert_eq!(
            refused(json!({"pod": {"phases": [1, 2.5]}})),
            ("evidence.pod.phases[1]".to_owned(), "2.5".to_owned())
        );
        assert_eq!(
            refused(json!({"big": 1e300})),
            ("evidence.big".to_owned(), "1e+300".to_owned())
        );
        let whole = json!({"seen": -3, "rv": "123", "list": [true, null]});
        assert!(evidence(whole.as_object().unwrap().clone()).is_ok());
    }

    #[test]
    fn nul_characters_are_refused_in_texts_and_keys() {
        assert_eq!(refused(json!({"a": ["x", "y\0"]})).0, "evidence.a[1]");
        assert_eq!(refused(json!({"a": {"k\0": 1}})).0, "evidence.a");
    }

    #[test]
    fn evidence_has_a_limit() {
        let (key, value) = refused(json!({"text": "x".repeat(70_000)}));
        assert_eq!((key.as_str(), value.as_str()), ("evidence", "70011 bytes"));
    }

    #[test]
    fn a_reason_says_something() {
        for text in ["", "  ", "a\nb", &"x".repeat(257)] {
            assert!(reason(text.to_owned()).is_err(), "{text:?}");
        }
        assert!(reason("node gone since 07:42".to_owned()).is_ok());
    }
}
