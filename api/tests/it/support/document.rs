//! The OpenAPI document as the yardstick of every answer.

use std::sync::LazyLock;

use http::Method;
use ipledger_api::operation::Operation;
use serde_json::Value;

use super::Answer;

/// The document, as `/openapi.json` gives it.
pub(crate) fn document() -> &'static Value {
    static DOCUMENT: LazyLock<Value> =
        LazyLock::new(|| serde_json::from_str(&ipledger_api::openapi_text()).unwrap());
    &DOCUMENT
}

/// Status and, for a problem, code must be listed for the operation.
pub(super) fn check(method: &str, path: &str, answer: &Answer) {
    let plain = path.split('?').next().unwrap_or(path);
    let operation = Operation::of(&Method::from_bytes(method.as_bytes()).unwrap(), plain);
    if operation == Operation::Unmatched {
        return;
    }
    let (route, verb) = (operation.route(), operation.method().to_lowercase());
    let listed = &document()["paths"][route][verb]["responses"][answer.status.to_string()];
    assert!(
        listed.is_object(),
        "{method} {route} does not list {}: {}",
        answer.status,
        answer.text
    );
    if answer.status < 400 {
        return;
    }
    let (_, code) = answer.problem();
    let description = listed["description"].as_str().unwrap();
    assert!(
        description.contains(&format!("`{code}`")),
        "{method} {route} does not list {code} under {}",
        answer.status
    );
}
