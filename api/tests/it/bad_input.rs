//! Wrong requests and their exact answers. The tables are the documentation: status, code, key,
//! value and sentence of each.

mod bodies;
mod headers;
mod queries;
mod values;

use serde_json::{Value, json};

use crate::support::{Answer, Api, exchange};

/// A wrong request.
pub(crate) struct Case {
    method: &'static str,
    path: String,
    headers: Vec<(&'static str, String)>,
    body: String,
    expected: Expected,
}

/// What it must be answered with. Absent keys and values are `-`.
pub(crate) struct Expected {
    status: u16,
    code: &'static str,
    key: &'static str,
    value: String,
    detail: String,
}

impl Case {
    /// A GET that is `invalid_request`.
    fn get(path: &str, key: &'static str, value: &str, detail: &str) -> Case {
        Case {
            method: "GET",
            path: path.to_owned(),
            headers: Vec::new(),
            body: String::new(),
            expected: Expected {
                status: 400,
                code: "invalid_request",
                key,
                value: value.to_owned(),
                detail: detail.to_owned(),
            },
        }
    }

    /// A POST of JSON that is `invalid_request`.
    fn post(path: &str, body: &str, key: &'static str, value: &str, detail: &str) -> Case {
        Case {
            method: "POST",
            headers: vec![("Content-Type", "application/json".to_owned())],
            body: body.to_owned(),
            ..Case::get(path, key, value, detail)
        }
    }

    /// The same with another status and code.
    fn is(mut self, status: u16, code: &'static str) -> Case {
        self.expected.status = status;
        self.expected.code = code;
        self
    }

    /// A wrong value: the sentence is key, quoted value and the problem.
    fn wrong(path: &str, body: &Value, key: &'static str, value: &str, problem: &str) -> Case {
        let detail = format!("{key} {value:?} {problem}");
        Case::post(path, &body.to_string(), key, value, &detail)
    }

    fn judge(&self, answer: &Answer) -> Result<(), String> {
        let body = answer.json();
        let text = |key: &str| body[key].as_str().unwrap_or("-").to_owned();
        let found = (
            answer.status,
            text("code"),
            text("key"),
            text("value"),
            text("detail"),
        );
        let expected = &self.expected;
        let wanted = (
            expected.status,
            expected.code.to_owned(),
            expected.key.to_owned(),
            expected.value.clone(),
            expected.detail.clone(),
        );
        if found == wanted {
            return Ok(());
        }
        Err(format!(
            "{} {} {}\n   found {found:?}\n  wanted {wanted:?}\n",
            self.method, self.path, self.body
        ))
    }
}

/// A request body with one value changed: `change(body, "owner.name", value)`.
fn change(mut body: Value, key: &str, value: Value) -> Value {
    let pointer = format!("/{}", key.replace('.', "/"));
    let (parent, last) = pointer.rsplit_once('/').unwrap();
    let parent = body.pointer_mut(parent).unwrap();
    match parent {
        Value::Array(items) => items[last.parse::<usize>().unwrap()] = value,
        other => other[last] = value,
    }
    body
}

#[tokio::test]
async fn every_wrong_request_gets_its_exact_answer_and_changes_nothing() {
    let api = Api::start().await;
    let mut cases = bodies::cases();
    cases.extend(headers::cases());
    cases.extend(queries::cases());
    cases.extend(values::cases());
    assert!(cases.len() >= 60, "{} cases", cases.len());
    let mut wrong = Vec::new();
    for case in &cases {
        let headers: Vec<(&str, &str)> = case
            .headers
            .iter()
            .map(|(key, value)| (*key, value.as_str()))
            .collect();
        let answer = exchange(&api.target(), case.method, &case.path, &headers, &case.body).await;
        answer.problem();
        wrong.extend(case.judge(&answer).err());
    }
    assert!(
        wrong.is_empty(),
        "{} of {}:\n{}",
        wrong.len(),
        cases.len(),
        wrong.join("\n")
    );
    assert_eq!(api.must_get("/v1/spaces").await, json!({"spaces": []}));
    let events = api
        .sql()
        .await
        .number("select count(*) from ipledger.events")
        .await;
    assert_eq!(events, 0, "a wrong request was recorded");
}
