//! The auditor's program, `tests/vectors/check.py`: it accepts what is right, and only that.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use super::vectors;

pub(super) fn path(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/vectors")
        .join(file)
}

/// Give the program some documents; whether it accepts them, and what it prints.
pub(super) fn check(arguments: &[&str], documents: &[Value]) -> (bool, String) {
    let mut child = Command::new("python3")
        .arg(path("check.py"))
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("python3");
    let mut input = child.stdin.take().expect("a pipe");
    for document in documents {
        writeln!(input, "{document}").expect("the program reads all its input");
    }
    drop(input);
    let output = child.wait_with_output().expect("the program ends");
    let told = String::from_utf8(output.stdout).expect("text");
    (output.status.success(), told)
}

#[test]
fn every_change_of_an_event_shows() {
    let right = vectors::stored("events.json");
    let (accepted, told) = check(&[], std::slice::from_ref(&right));
    assert!(accepted, "{told}");
    let changes: [(&str, Value, &str); 9] = [
        ("epoch", json!(2), "hash"),
        ("recorded_at", json!("2023-11-14T22:13:20.000009Z"), "hash"),
        ("address", json!("10.10.3.77"), "hash"),
        ("step", json!(4), "hash"),
        ("digest", json!("00".repeat(32)), "digest"),
        ("hash", json!("11".repeat(32)), "hash"),
        ("previous_hash", json!("22".repeat(32)), "previous_hash"),
        ("kind", json!("released"), "kind"),
        ("encoding", json!(2), "encoding 2 is not known here"),
    ];
    let place = first_allocated(&right);
    for (key, value, expected) in changes {
        let mut wrong = right.clone();
        assert_ne!(wrong["events"][place][key], value, "{key} is changed");
        wrong["events"][place][key] = value;
        let (accepted, told) = check(&[], &[wrong]);
        assert!(!accepted && told.contains(expected), "{key}: {told}");
    }
    let mut wrong = right.clone();
    wrong["events"][place]["payload"]["owner"]["name"] = json!("somebody else");
    let (accepted, told) = check(&[], &[wrong]);
    assert!(!accepted && told.contains("digest"), "{told}");
}

#[test]
fn a_missing_or_repeated_event_shows() {
    let right = vectors::stored("events.json");
    let place = first_allocated(&right);
    let mut missing = right.clone();
    missing["events"]
        .as_array_mut()
        .expect("events")
        .remove(place);
    let (accepted, told) = check(&[], std::slice::from_ref(&missing));
    assert!(!accepted && told.contains("is missing"), "{told}");
    let (accepted, told) = check(&["--gaps"], &[missing]);
    assert!(accepted, "the history of one address has gaps: {told}");
    let (accepted, told) = check(&[], &[right.clone(), right]);
    assert!(!accepted && told.contains("stands after"), "{told}");
}

#[test]
fn a_payload_that_was_moved_away_leaves_the_chain_whole() {
    let mut moved = vectors::stored("events.json");
    for event in moved["events"].as_array_mut().expect("events") {
        let event = event.as_object_mut().expect("an event");
        event.insert("encoding".to_owned(), json!(0));
        event.insert("kind".to_owned(), json!("unknown"));
        event.insert("payload".to_owned(), Value::Null);
    }
    let count = moved["events"].as_array().expect("events").len();
    let (accepted, told) = check(&[], &[moved]);
    assert!(accepted, "{told}");
    assert!(told.contains(&format!("{count} without payload")), "{told}");
}

#[test]
fn nothing_and_nonsense_are_not_accepted() {
    let (accepted, told) = check(&[], &[]);
    assert!(!accepted && told.contains("nothing"), "{told}");
    let (accepted, told) = check(&[], &[json!({"title": "a problem", "status": 404})]);
    assert!(!accepted && told.contains("neither events"), "{told}");
}

fn first_allocated(document: &Value) -> usize {
    let events = document["events"].as_array().expect("events");
    let is_first = |event: &Value| event["kind"] == "allocated" && event["space"] == "prod";
    events
        .iter()
        .position(is_first)
        .expect("an allocate in prod")
}
