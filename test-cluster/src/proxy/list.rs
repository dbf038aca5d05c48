//! Lists with something missing.

use serde_json::Value;

use super::fault::Fault;

/// Changes a list as the fault says. Returns `None` for what is no list.
pub(super) fn spoil(fault: &Fault, body: &[u8]) -> Option<Vec<u8>> {
    let mut list: Value = serde_json::from_slice(body).ok()?;
    // kubectl asks for a table, whose rows hold the objects.
    let (key, object) = if list.get("rows").is_some() {
        ("rows", "/object/metadata/namespace")
    } else {
        ("items", "/metadata/namespace")
    };
    match fault {
        Fault::EmptyList => {
            *list.get_mut(key)? = Value::Array(Vec::new());
            let metadata = list.get_mut("metadata").and_then(Value::as_object_mut)?;
            metadata.remove("continue");
            metadata.remove("remainingItemCount");
        }
        Fault::WithoutNamespace(namespace) => match list.get_mut(key)? {
            // So the API server writes some lists without objects.
            Value::Null => {}
            objects => objects
                .as_array_mut()?
                .retain(|item| item.pointer(object).and_then(Value::as_str) != Some(namespace)),
        },
        _ => return None,
    }
    serde_json::to_vec(&list).ok()
}

/// Decides event by event what of a watch arrives.
#[derive(Debug)]
pub(super) struct EventFilter {
    fault: Fault,
    /// Objects that were there before the watch are still to come.
    in_list: bool,
}

impl EventFilter {
    pub(super) fn new(fault: Fault, begins_with_a_list: bool) -> Self {
        Self {
            fault,
            in_list: begins_with_a_list,
        }
    }

    /// Whether one line of the watch arrives.
    pub(super) fn keeps(&mut self, line: &[u8]) -> bool {
        let event: Value = serde_json::from_slice(line).unwrap_or_default();
        if event["type"] == "BOOKMARK" {
            let annotations = &event["object"]["metadata"]["annotations"];
            self.in_list &= annotations["k8s.io/initial-events-end"] != "true";
            return true;
        }
        match &self.fault {
            Fault::EmptyList => !(self.in_list && event["type"] == "ADDED"),
            Fault::WithoutNamespace(namespace) => {
                event["object"]["metadata"]["namespace"] != namespace.as_str()
            }
            _ => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn spoiled(fault: &Fault, list: &Value) -> Value {
        serde_json::from_slice(&spoil(fault, list.to_string().as_bytes()).unwrap()).unwrap()
    }

    #[test]
    fn an_emptied_page_is_the_last_one() {
        let page = json!({
            "kind": "PodList",
            "metadata": {"resourceVersion": "7", "continue": "abc", "remainingItemCount": 3},
            "items": [{"metadata": {"name": "p"}}],
        });
        let expected = json!({
            "kind": "PodList", "metadata": {"resourceVersion": "7"}, "items": [],
        });
        assert_eq!(spoiled(&Fault::EmptyList, &page), expected);
    }

    #[test]
    fn one_namespace_is_taken_out_of_lists_and_tables() {
        let metadata = |namespace| json!({"metadata": {"namespace": namespace}});
        let fault = Fault::WithoutNamespace("a".to_owned());
        let list = json!({"metadata": {}, "items": [metadata("a"), metadata("b")]});
        assert_eq!(spoiled(&fault, &list)["items"], json!([metadata("b")]));
        let none = json!({"metadata": {}, "items": null});
        assert_eq!(spoiled(&fault, &none), none);
        let row = |namespace| json!({"object": metadata(namespace)});
        let table = json!({"metadata": {}, "rows": [row("a"), row("b")]});
        assert_eq!(spoiled(&fault, &table)["rows"], json!([row("b")]));
    }

    #[test]
    fn what_is_no_list_is_not_taken_for_one() {
        assert_eq!(
            spoil(&Fault::EmptyList, br#"{"kind":"Pod","metadata":{}}"#),
            None
        );
        assert_eq!(spoil(&Fault::EmptyList, b"k8s\0protobuf"), None);
    }

    #[test]
    fn a_streaming_list_is_empty_and_goes_on() {
        let added = json!({"type": "ADDED", "object": {}}).to_string();
        let end = json!({"type": "BOOKMARK", "object": {"metadata": {
            "annotations": {"k8s.io/initial-events-end": "true"},
        }}});
        let mut filter = EventFilter::new(Fault::EmptyList, true);
        let kept = [&added, &end.to_string(), &added].map(|line| filter.keeps(line.as_bytes()));
        assert_eq!(kept, [false, true, true]);
    }
}
