//! Files: what is taken, and what is one clear error.

use ipledger_sync::import::{Inventory, Pods};
use serde_json::json;

use super::{OUTAGE, analysis, imported, inventory, pod};

#[test]
fn lists_single_objects_and_documents_say_the_same() {
    let pool = json!({
        "apiVersion": "whereabouts.cni.cncf.io/v1alpha1",
        "kind": "IPPool",
        "metadata": { "name": "10.10.3.0-24", "namespace": "kube-system" },
        "spec": {
            "range": "10.10.3.0/24",
            "allocations": { "30": { "id": "a56b06006c6a", "podref": "default/super-pod" } },
        },
    });
    let list = json!({ "apiVersion": "v1", "kind": "List", "items": [pool] });
    let typed = json!({ "kind": "IPPoolList", "items": [pool], "metadata": { "continue": "" } });
    let bare = json!([pool]);
    let expected = [(
        "10.10.3.0/24".to_owned(),
        "10.10.3.30".to_owned(),
        "a56b0600".to_owned(),
    )];
    let yaml = format!("---\n{OUTAGE}---\n");
    for text in [
        pool.to_string(),
        list.to_string(),
        typed.to_string(),
        bare.to_string(),
        yaml,
    ] {
        assert_eq!(imported(&analysis(&[&text])), expected, "{text}");
    }
    // The same object twice is one object.
    let twice = analysis(&[&pool.to_string(), &list.to_string()]);
    assert_eq!(imported(&twice), expected);
    assert!(twice.findings.is_empty());
}

#[test]
fn a_file_that_cannot_be_read_is_one_clear_line() {
    let whole = json!({ "kind": "List", "items": [{ "kind": "IPPool", "metadata": {} }] });
    let cut = &whole.to_string()[..40];
    // (text, kind, the line)
    let cases = [
        (
            cut,
            "json",
            "pools.json: is cut or damaged: EOF while parsing",
        ),
        (
            "{]",
            "json",
            "pools.json: is cut or damaged: key must be a string",
        ),
        ("a: [", "yaml", "pools.json: cannot be read as YAML"),
        (
            r#"{"items":[5]}"#,
            "item",
            "pools.json: item 0 is no Kubernetes object",
        ),
        (
            r#"{"items":[{"kind":"IPPool","metadata":{"name":5}}]}"#,
            "item",
            "pools.json: item 0 is no Kubernetes object",
        ),
    ];
    for (text, kind, line) in cases {
        let mut inventory = Inventory::default();
        let error = inventory.add_text("pools.json", text).unwrap_err();
        assert_eq!(error.kind(), kind, "{error}");
        let shown = error.to_string();
        assert!(shown.starts_with(line), "{shown}");
        assert_eq!(shown.lines().count(), 1, "{shown}");
        assert!(shown.ends_with("nothing was imported"), "{shown}");
        assert!(inventory.pools.is_empty());
    }
}

#[test]
fn other_kinds_are_counted_and_pods_are_known_once_one_was_read() {
    let other = "kind: ConfigMap\napiVersion: v1\nmetadata: {name: a}\n";
    let read = inventory(&[other, other]);
    assert_eq!(read.ignored["ConfigMap"], 2);
    assert_eq!(read.pods, Pods::Unknown);
    let read = inventory(&[&pod("default/a", &["10.0.0.1"])]);
    let Pods::Known(pods) = read.pods else {
        panic!("pods were read");
    };
    let facts = pods.values().next().unwrap();
    assert_eq!(facts.reports("10.0.0.1".parse().unwrap()), Some(true));
    // The default network's address is no business of whereabouts.
    assert_eq!(facts.reports("10.244.0.9".parse().unwrap()), Some(false));
    assert_eq!(facts.node.as_deref(), Some("node-a"));
}
