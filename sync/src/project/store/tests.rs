use serde_json::json;

use super::*;
use crate::project::body::{CONTENT_ANNOTATION, POSITION_ANNOTATION};
use watcher::Event::{Apply, Delete, Init, InitApply, InitDone};

const KIND: ObjectKind = ObjectKind::Reservation;

fn object(name: &str, uid: &str, version: &str, podref: &str) -> DynamicObject {
    serde_json::from_value(json!({
        "metadata": {
            "name": name, "uid": uid, "resourceVersion": version,
            "annotations": { CONTENT_ANNOTATION: "d", POSITION_ANNOTATION: "{}" },
        },
        "spec": { "podref": podref },
    }))
    .unwrap()
}

fn key(name: &str) -> ObjectKey {
    ObjectKey::reservation(name)
}

#[test]
fn it_is_complete_when_both_kinds_were_listed() {
    let mut store = ObjectStore::default();
    for kind in [ObjectKind::Pool, ObjectKind::Reservation] {
        assert!(!store.is_complete());
        store.take(kind, &Init);
        assert!(
            store.take(kind, &InitDone),
            "a first list is news, even an empty one"
        );
    }
    assert!(store.is_complete());
}

#[test]
fn only_what_plans_depend_on_is_news() {
    let mut store = ObjectStore::default();
    assert!(store.take(KIND, &Apply(object("a", "u", "5", "x/y"))));
    assert!(!store.take(KIND, &Apply(object("a", "u", "6", "x/y"))));
    assert_eq!(store.objects()[&key("a")].resource_version, "6");
    assert!(store.take(KIND, &Apply(object("a", "u", "7", "x/z"))));
    // Older than what is known: a watch that is behind an answer to a write.
    assert!(!store.take(KIND, &Apply(object("a", "u", "6", "x/y"))));
    assert_eq!(store.objects()[&key("a")].resource_version, "7");
}

#[test]
fn a_deletion_concerns_the_object_that_was_deleted() {
    let mut store = ObjectStore::default();
    store.take(KIND, &Apply(object("a", "u1", "5", "x/y")));
    store.take(KIND, &Apply(object("a", "u2", "7", "x/y")));
    assert!(!store.take(KIND, &Delete(object("a", "u1", "6", "x/y"))));
    assert!(store.take(KIND, &Delete(object("a", "u2", "8", "x/y"))));
    // It was ours; whoever deleted it has to be undone.
    assert_eq!(store.written_uid(&key("a")), Some("u2"));
    store.forget_unwanted(|_| true);
    assert_eq!(store.written_uid(&key("a")), Some("u2"));
    store.forget_unwanted(|_| false);
    assert_eq!(store.written_uid(&key("a")), None);
}

#[test]
fn a_list_takes_out_what_it_does_not_show_of_its_kind() {
    let mut store = ObjectStore::default();
    store.take(KIND, &Apply(object("a", "u1", "5", "x/y")));
    store.take(KIND, &Apply(object("b", "u2", "5", "x/y")));
    store.take(ObjectKind::Pool, &Apply(object("p", "u3", "5", "x/y")));
    store.take(KIND, &Init);
    store.take(KIND, &InitApply(object("a", "u1", "5", "x/y")));
    assert!(store.take(KIND, &InitDone));
    let names: Vec<&str> = store
        .objects()
        .keys()
        .map(|key| key.name.as_str())
        .collect();
    assert_eq!(names, ["p", "a"]);
    // The same list again is no news.
    store.take(KIND, &Init);
    store.take(KIND, &InitApply(object("a", "u1", "5", "x/y")));
    assert!(!store.take(KIND, &InitDone));
}
