//! The OpenAPI document and the page.

use http::Method;
use ipledger_api::operation::Operation;
use ipledger_client::types::ProblemCode;
use serde_json::Value;

use crate::support::{Api, Process, document, exchange};

/// Path, method and operation.
fn operations() -> Vec<(&'static str, &'static str, &'static Value)> {
    let paths = document()["paths"].as_object().unwrap();
    let each = |(path, item): (&'static String, &'static Value)| {
        let methods = item.as_object().unwrap();
        methods
            .iter()
            .map(move |(method, operation)| (path.as_str(), method.as_str(), operation))
    };
    paths.iter().flat_map(each).collect()
}

#[test]
fn the_committed_document_is_current() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/openapi.json");
    let committed = std::fs::read_to_string(path).expect("docs/openapi.json");
    assert!(
        committed == ipledger_api::openapi_text(),
        "docs/openapi.json is out of date; write it anew with\n  \
         cargo run -p ipledger-api -- openapi > docs/openapi.json"
    );
}

#[test]
fn the_manual_names_every_code_operation_and_setting() {
    let manual = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/api.md");
    let manual = std::fs::read_to_string(manual).expect("docs/api.md");
    for code in ProblemCode::ALL {
        let retry = if code.is_retryable() { "yes" } else { "no" };
        let row = format!("| `{}` | {} | {retry} |", code.as_str(), code.status());
        assert!(manual.contains(&row), "{row}");
    }
    for (path, method, _) in operations() {
        let operation = format!("`{} {path}`", method.to_uppercase());
        assert!(manual.contains(&operation), "{operation}");
    }
    for command in ["serve", "dev", "migrate", "check"] {
        let help = Process::command(&[command, "--help"], &[])
            .output()
            .unwrap();
        let help = String::from_utf8(help.stdout).unwrap();
        let variables = help.split("[env: ").skip(1);
        for variable in variables.map(|rest| rest.split(['=', ']']).next().unwrap()) {
            assert!(manual.contains(&format!("`{variable}`")), "{variable}");
        }
    }
}

#[test]
fn every_route_is_an_operation_with_fixed_words() {
    let mut documented: Vec<String> = operations()
        .iter()
        .map(|(path, method, _)| format!("{} {path}", method.to_uppercase()))
        .collect();
    let mut known: Vec<String> = Operation::ALL
        .iter()
        .filter(|operation| **operation != Operation::Unmatched)
        .map(|operation| format!("{} {}", operation.method(), operation.route()))
        .collect();
    documented.sort();
    known.sort();
    assert_eq!(documented, known);
}

#[test]
fn everything_is_described() {
    for (path, method, operation) in operations() {
        let name = format!("{method} {path}");
        for key in ["summary", "description", "operationId"] {
            assert!(operation[key].is_string(), "{name} has no {key}");
        }
        for parameter in operation["parameters"].as_array().unwrap() {
            assert!(parameter["description"].is_string(), "{name}: {parameter}");
        }
        let responses = operation["responses"].as_object().unwrap();
        for status in ["200", "400", "500"] {
            assert!(
                responses.contains_key(status),
                "{name} does not list {status}"
            );
        }
        for (status, response) in responses {
            assert!(
                !response["description"].as_str().unwrap().is_empty(),
                "{name} {status}"
            );
        }
    }
    for (name, schema) in document()["components"]["schemas"].as_object().unwrap() {
        assert!(
            schema["description"].is_string(),
            "{name} has no description"
        );
        for (key, property) in schema["properties"].as_object().into_iter().flatten() {
            // An optional object is written as one of the object and null.
            let described = &property["oneOf"][0]["description"];
            assert!(
                property["description"].is_string() || described.is_string(),
                "{name}.{key} has no description"
            );
        }
    }
}

#[test]
fn every_reference_leads_somewhere() {
    fn references<'a>(value: &'a Value, found: &mut Vec<&'a str>) {
        match value {
            Value::Object(object) => {
                found.extend(object.get("$ref").and_then(Value::as_str));
                object.values().for_each(|value| references(value, found));
            }
            Value::Array(items) => items.iter().for_each(|value| references(value, found)),
            _ => {}
        }
    }
    let mut found = Vec::new();
    references(document(), &mut found);
    assert!(!found.is_empty());
    for reference in found {
        let pointer = reference.strip_prefix('#').unwrap();
        assert!(document().pointer(pointer).is_some(), "{reference}");
    }
}

#[tokio::test]
async fn every_operation_answers_what_it_documents() {
    let api = Api::start().await;
    for (path, method, _) in operations() {
        let method = method.to_uppercase();
        let path = path.replace("{cluster}", "prod");
        let headers = [("Content-Type", "application/json")];
        let body = if method == "POST" { "{}" } else { "" };
        // The client checks status and code against the document.
        let answer = exchange(&api.target(), &method, &path, &headers, body).await;
        assert!(
            matches!(answer.status, 200 | 400),
            "{method} {path}: {answer:?}"
        );
        let verb = Method::from_bytes(method.as_bytes()).unwrap();
        assert_ne!(Operation::of(&verb, &path), Operation::Unmatched);
    }
}

#[tokio::test]
async fn the_page_lists_every_operation_and_needs_nothing_from_elsewhere() {
    let api = Api::start().await;
    let answer = api.get("/api").await;
    assert_eq!(
        answer.header("content-type"),
        Some("text/html; charset=utf-8")
    );
    for (path, _, operation) in operations() {
        assert!(answer.text.contains(path), "{path}");
        assert!(
            answer.text.contains(operation["summary"].as_str().unwrap()),
            "{path}"
        );
    }
    assert!(!answer.text.contains("http://") && !answer.text.contains("https://"));
    assert_eq!(
        api.get("/openapi.json").await.text,
        ipledger_api::openapi_text()
    );
}
