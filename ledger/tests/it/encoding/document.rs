//! The document says what is: its example is a vector, and every field is in it.

use std::collections::BTreeSet;

use serde_json::Value;

use super::vectors;

const DOCUMENT: &str = include_str!("../../../../docs/event-encoding.md");

/// Names of all fields but those of free-form evidence.
fn fields(value: &Value, names: &mut BTreeSet<String>) {
    match value {
        Value::Object(object) => {
            for (name, value) in object {
                names.insert(name.clone());
                if name != "evidence" {
                    fields(value, names);
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| fields(item, names)),
        _ => {}
    }
}

#[test]
fn every_recorded_field_is_documented() {
    let mut names = BTreeSet::new();
    let document = vectors::stored("events.json");
    for event in document["events"].as_array().expect("events") {
        fields(&event["payload"], &mut names);
    }
    assert!(
        names.len() > 30,
        "the story has nearly all fields: {names:?}"
    );
    for name in names {
        assert!(DOCUMENT.contains(&format!("`{name}`")), "{name}");
    }
}

#[test]
fn the_example_is_a_vector() {
    let document = vectors::stored("events.json");
    let events = document["events"].as_array().expect("events");
    let fenced = |event: &&Value, key: &str, language: &str| {
        let text = event[key].as_str().expect("text");
        DOCUMENT.contains(&format!("```{language}\n{}\n```", text.trim_end()))
    };
    let shown = events.iter().filter(|event| {
        fenced(event, "body", "json")
            && fenced(event, "header", "text")
            && fenced(event, "hash", "text")
    });
    assert_eq!(shown.count(), 1, "the example stands in events.json");
}
