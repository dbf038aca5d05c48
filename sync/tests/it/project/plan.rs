//! What is written, why, and that it ends.

use std::collections::{BTreeMap, BTreeSet};

use ipledger_sync::project::{
    Action, Cause, ObjectKey, Reading, Stored, StoredContent, discrepancies, plan, render,
};
use kube::api::DynamicObject;
use proptest::prelude::*;
use serde_json::json;

use super::apply_model::Store;
use super::sample::{CONTAINER, any_reading, outage};

const POOL: &str = "10.10.3.0-24";
const ADDRESS: &str = "10.10.3.30";

fn pool() -> ObjectKey {
    ObjectKey::pool(POOL)
}

fn reservation() -> ObjectKey {
    ObjectKey::reservation(ADDRESS)
}

fn all_keys(store: &Store) -> BTreeSet<ObjectKey> {
    store.stored().into_keys().collect()
}

/// Plans and writes until nothing is left; gives the causes of the writes, in order. A second write
/// of one object belongs to the cause of the first.
fn settle(store: &mut Store, reading: &Reading, written: &BTreeSet<ObjectKey>) -> Vec<Cause> {
    let desired = render(reading);
    let (mut causes, mut first) = (Vec::new(), BTreeMap::new());
    for _ in 0..4 {
        let stored = store.stored();
        let plan = plan(&desired, &stored, |key| written.contains(key));
        if plan.writes.is_empty() {
            return causes;
        }
        causes.extend(plan.writes.iter().map(|write| {
            let first = first.entry(write.key.clone());
            *first.or_insert(write.cause)
        }));
        store.carry_out(&plan);
    }
    panic!("still writing after four rounds");
}

/// A store that shows the outage's objects.
fn settled() -> (Store, Reading, BTreeSet<ObjectKey>) {
    let (mut store, reading) = (Store::default(), outage());
    let causes = settle(&mut store, &reading, &BTreeSet::new());
    assert_eq!(causes, [Cause::Created, Cause::Created]);
    let written = all_keys(&store);
    (store, reading, written)
}

#[test]
fn a_settled_store_is_left_alone_while_positions_move_on() {
    let (mut store, mut reading, written) = settled();
    reading.spaces.get_mut("prod").unwrap().seq += 1000;
    reading.read_at += jiff::SignedDuration::from_hours(1);
    assert_eq!(settle(&mut store, &reading, &written), []);
}

#[test]
fn what_others_do_is_undone_and_told_apart() {
    type Deed = fn(&mut Store);
    // (what somebody does, the causes of the writes that follow)
    let cases: [(&str, Deed, &[Cause]); 11] = [
        (
            "entry of another pod added",
            |store| store.add_entry(&pool(), "99", "x/y"),
            &[Cause::Edited],
        ),
        (
            "entry changed",
            |store| store.edit(&pool(), "allocations/30/podref", Some("x/y")),
            &[Cause::Edited],
        ),
        (
            "entry changed, another added",
            |store| {
                store.edit(&pool(), "allocations/30/podref", Some("x/y"));
                store.add_entry(&pool(), "99", "x/y");
            },
            &[Cause::Edited, Cause::Edited],
        ),
        (
            "entry taken out",
            |store| store.edit(&pool(), "allocations/30", None),
            &[Cause::Edited],
        ),
        (
            "range changed",
            |store| store.edit(&pool(), "range", Some("10.10.0.0/16")),
            &[Cause::Edited],
        ),
        (
            "field added to a reservation",
            |store| store.edit(&reservation(), "containerid", Some("abc")),
            &[Cause::Edited],
        ),
        (
            "pool deleted",
            |store| store.delete(&pool()),
            &[Cause::Deleted],
        ),
        (
            "reservation deleted",
            |store| store.delete(&reservation()),
            &[Cause::Deleted],
        ),
        (
            "reservation of nothing made",
            |store| store.edit(&ObjectKey::reservation("10.10.3.31"), "podref", Some("x/y")),
            &[Cause::Edited],
        ),
        (
            "annotations taken away",
            |store| store.strip(&pool()),
            &[Cause::Adopted],
        ),
        (
            "another pool made, and filled",
            |store| {
                let key = ObjectKey::pool("10.9.0.0-24");
                store.edit(&key, "range", Some("10.9.0.0/24"));
                store.add_entry(&key, "1", "x/y");
            },
            &[Cause::Edited],
        ),
    ];
    for (deed, act, expected) in cases {
        let (mut store, reading, written) = settled();
        let right = store.stored().get(&pool()).map(|pool| pool.content.clone());
        act(&mut store);
        assert_eq!(settle(&mut store, &reading, &written), expected, "{deed}");
        let after = store.stored();
        assert_eq!(
            after.get(&pool()).map(|pool| pool.content.clone()),
            right,
            "{deed}"
        );
        assert!(
            !after.contains_key(&ObjectKey::reservation("10.10.3.31")),
            "{deed}"
        );
    }
}

#[test]
fn an_empty_pool_stays_and_an_unheld_reservation_goes() {
    let (mut store, mut reading, written) = settled();
    reading.spaces.get_mut("prod").unwrap().holds.clear();
    let causes = settle(&mut store, &reading, &written);
    // The entry is taken out, the reservation deleted, the empty pool marked.
    assert_eq!(causes, [Cause::Moved; 3]);
    let stored = store.stored();
    assert!(!stored.contains_key(&reservation()));
    let StoredContent::Pool { range, entries } = &stored[&pool()].content else {
        panic!("a pool");
    };
    assert_eq!(range.as_deref(), Some("10.10.3.0/24"));
    assert!(entries.is_empty());
}

#[test]
fn a_release_from_an_adopted_object_is_no_foreign_edit() {
    let mut reading = outage();
    let holds = &mut reading.spaces.get_mut("prod").unwrap().holds;
    let second = holds.values().next().unwrap().clone();
    holds.insert("10.10.3.31".parse().unwrap(), second);
    let mut store = Store::default();
    settle(&mut store, &reading, &BTreeSet::new());
    let written = all_keys(&store);
    store.share();
    assert_eq!(settle(&mut store, &reading, &written), []);
    let holds = &mut reading.spaces.get_mut("prod").unwrap().holds;
    holds.remove(&ADDRESS.parse().unwrap());
    let desired = render(&reading);
    let stored = store.stored();
    let first = plan(&desired, &stored, |key| written.contains(key));
    // An apply alone would leave the other manager's part of the entry, and be refused.
    let write = first.writes.iter().find(|write| write.key == pool());
    assert!(
        matches!(write.unwrap().action, Action::Remove(_)),
        "{first:?}"
    );
    assert_eq!(settle(&mut store, &reading, &written), [Cause::Moved; 3]);
}

#[test]
fn foreign_shapes_are_skipped_and_named() {
    let object = |spec| -> DynamicObject {
        serde_json::from_value(json!({
            "apiVersion": "whereabouts.cni.cncf.io/v1alpha1",
            "kind": "IPPool",
            "metadata": { "name": POOL, "uid": "u", "resourceVersion": "1" },
            "spec": spec,
        }))
        .unwrap()
    };
    // (spec, what is said of it; nothing if it can be put right)
    let cases = [
        (json!(null), None),
        (json!({}), None),
        (
            json!({ "range": "10.10.3.0/24", "allocations": null }),
            None,
        ),
        (
            json!({ "range": "10.10.3.0/24", "allocations": { "30": 5, "x": {} } }),
            None,
        ),
        (json!("text"), Some("spec is a text")),
        (json!({ "range": 5 }), Some("spec.range is a number")),
        (
            json!({ "range": "10.10.3.0/24", "allocations": [] }),
            Some("spec.allocations is a list"),
        ),
    ];
    let reading = outage();
    let desired = render(&reading);
    for (spec, said) in cases {
        let mut stored = ipledger_sync::project::StoredObjects::new();
        let kind = ipledger_sync::project::ObjectKind::Pool;
        stored.insert(pool(), Stored::read(kind, &object(spec.clone())));
        let plan = plan(&desired, &stored, |_| false);
        let skipped: Vec<&str> = plan.skipped.iter().map(|(_, why)| why.as_str()).collect();
        assert_eq!(skipped, said.into_iter().collect::<Vec<_>>(), "{spec}");
        // The reservation is written whatever the pool looks like.
        let writes = plan
            .writes
            .iter()
            .filter(|write| write.key == reservation());
        assert_eq!(writes.count(), 1, "{spec}");
        assert_eq!(plan.writes.len(), 2 - skipped.len(), "{spec}");
    }
}

#[test]
fn differences_name_the_events_that_make_the_right_content() {
    let (mut store, reading, _) = settled();
    store.edit(&pool(), "allocations/30", None);
    store.edit(&pool(), "allocations/99/podref", Some("x/y"));
    store.edit(&pool(), "allocations/99/id", Some("c1"));
    let desired = render(&reading);
    let stored = store.stored();
    let told = |key: &ObjectKey| -> Vec<String> {
        let (wanted, found) = (desired.objects.get(key), stored.get(key));
        let all = discrepancies(wanted, found, &desired.position);
        all.iter().map(ToString::to_string).collect()
    };
    assert_eq!(
        told(&pool()),
        [
            "30 was missing: 10.10.3.30 is held by default/super-pod net1 since prod@3 (step 0)",
            "99 showed x/y c1: not held as of prod@7",
        ]
    );
    assert_eq!(told(&reservation()), [""; 0]);
    store.edit(&reservation(), "podref", Some("x/y"));
    store.edit(&ObjectKey::reservation("10.10.3.31"), "podref", Some("x/z"));
    let stored = store.stored();
    let other = ObjectKey::reservation("10.10.3.31");
    let text = |key: &ObjectKey| {
        let all = discrepancies(desired.objects.get(key), stored.get(key), &desired.position);
        all[0].to_string()
    };
    let expected =
        "spec showed x/y net1: 10.10.3.30 is held by default/super-pod net1 since prod@3 (step 0)";
    assert_eq!(text(&reservation()), expected);
    assert_eq!(text(&other), "spec showed x/z: not held as of prod@7");
}

/// What somebody else does to a store.
#[derive(Debug, Clone)]
enum Deed {
    Edit(usize, &'static str, Option<&'static str>),
    Delete(usize),
    Strip(usize),
    Share,
}

fn any_deed() -> impl Strategy<Value = Deed> {
    let leaf = prop::sample::select(vec![
        "allocations/1/podref",
        "allocations/2/ifname",
        "allocations/3/id",
        "allocations/3",
        "allocations/junk/podref",
        "allocations/0",
        "range",
    ]);
    let value = prop::option::of(prop::sample::select(vec!["x", "default/pod-1", "net1"]));
    prop_oneof![
        4 => (0..8usize, leaf, value).prop_map(|(object, leaf, value)| {
            Deed::Edit(object, leaf, value)
        }),
        1 => (0..40usize).prop_map(Deed::Delete),
        1 => (0..40usize).prop_map(Deed::Strip),
        1 => Just(Deed::Share),
    ]
}

fn act(store: &mut Store, deed: &Deed) {
    let keys: Vec<ObjectKey> = all_keys(store).into_iter().collect();
    if keys.is_empty() {
        return;
    }
    let pools: Vec<&ObjectKey> = keys
        .iter()
        .filter(|key| key.kind == ipledger_sync::project::ObjectKind::Pool)
        .collect();
    match deed {
        Deed::Edit(object, leaf, value) if !pools.is_empty() => {
            let key = pools[object % pools.len()].clone();
            // The API server takes no pool without a range, and no entry that is a text.
            let parts: Vec<&str> = leaf.split('/').collect();
            match (&parts[..], value) {
                (["range"], None) => {}
                ([_, _], _) => store.edit(&key, leaf, None),
                ([_, entry, "id" | "podref"], _) => {
                    // Both are needed.
                    for field in ["id", "podref"] {
                        let leaf = format!("allocations/{entry}/{field}");
                        store.edit(&key, &leaf, Some(value.unwrap_or("x")));
                    }
                }
                ([_, entry, _], _) if store.has_entry(&key, entry) => {
                    store.edit(&key, leaf, *value);
                }
                ([_, _, _], _) => {}
                _ => store.edit(&key, leaf, *value),
            }
        }
        Deed::Edit(..) => {}
        Deed::Delete(object) => store.delete(&keys[object % keys.len()]),
        Deed::Strip(object) => store.strip(&keys[object % keys.len()]),
        Deed::Share => store.share(),
    }
}

proptest! {
    /// Whatever was stored and whatever others did: a few rounds of plans lead to exactly what is
    /// wanted, and then to no write at all.
    #[test]
    fn plans_settle(
        before in any_reading(),
        deeds in prop::collection::vec(any_deed(), 0..12),
        after in any_reading(),
    ) {
        let mut store = Store::default();
        settle(&mut store, &before, &BTreeSet::new());
        let written = all_keys(&store);
        for deed in &deeds {
            act(&mut store, deed);
        }
        settle(&mut store, &after, &written);
        let writes = store.writes;
        settle(&mut store, &after, &written);
        prop_assert_eq!(store.writes, writes, "a settled store is left alone");
        let (desired, stored) = (render(&after), store.stored());
        for (key, object) in &desired.objects {
            let left = discrepancies(Some(object), stored.get(key), &desired.position);
            prop_assert!(left.is_empty(), "{}: {:?}", key, left);
        }
        for (key, stored) in &stored {
            if !desired.objects.contains_key(key) {
                let shown = matches!(&stored.content, StoredContent::Pool { entries, .. }
                    if entries.is_empty());
                prop_assert!(shown, "{} shows what is not held", key);
            }
        }
    }
}

#[test]
fn the_container_id_is_no_part_of_a_reservation() {
    let reading = outage();
    let desired = render(&reading);
    let plan = plan(&desired, &Default::default(), |_| false);
    let write = plan.writes.iter().find(|write| write.key == reservation());
    let body = write.unwrap().body("kube-system").unwrap();
    assert!(!body.to_string().contains(CONTAINER));
}
