use super::*;

fn t(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

fn beat(second: i64) -> Option<Renewal> {
    Some(Renewal {
        renewed_at: t(second),
        longest_beat: LONGEST_BEAT,
    })
}

/// Reads of renewals, sent at these seconds and answered a second later.
fn memory(reads: &[(i64, Option<Renewal>)]) -> NodeMemory {
    let mut memory = NodeMemory::default();
    for (at, renewal) in reads {
        memory.heard("n1", renewal.clone(), t(*at), t(at + 1));
    }
    memory
}

fn object(changes: &serde_json::Value) -> Option<NodeObject> {
    let mut object = serde_json::json!({
        "apiVersion": "v1", "kind": "Node",
        "metadata": {"name": "n1", "uid": "u1", "resourceVersion": "7"},
        "spec": {"taints": [{"key": "other", "effect": "NoSchedule"}]},
        "status": {"conditions": [{
            "type": "Ready", "status": "True", "lastTransitionTime": "2026-11-30T07:00:00Z",
        }]},
    });
    for (pointer, value) in changes.as_object().unwrap() {
        *object.pointer_mut(pointer).unwrap() = value.clone();
    }
    node("n1", serde_json::from_value(object).unwrap())
}

#[test]
fn one_renewal_is_no_heartbeat_however_often_it_is_read() {
    let memory = memory(&[(10, beat(1)), (20, beat(1)), (30, beat(1))]);
    assert_eq!(memory.heartbeats("n1"), None);
}

#[test]
fn a_heartbeat_is_later_than_the_last_read_of_the_one_before() {
    // The node's clock is an hour off, and says nothing.
    let memory = memory(&[
        (10, beat(3610)),
        (15, beat(3610)),
        (20, beat(3620)),
        (30, beat(3630)),
    ]);
    let heartbeats = memory.heartbeats("n1").unwrap();
    assert_eq!(heartbeats.unbroken_since, t(21));
    assert_eq!(heartbeats.later_than, t(20));
    assert_eq!(heartbeats.written_at, t(3630));
}

#[test]
fn a_gap_begins_anew() {
    let with_gap = [(10, beat(1)), (20, beat(2)), (61, beat(3))];
    assert_eq!(memory(&with_gap).heartbeats("n1"), None);
    let without = [(10, beat(1)), (20, beat(2)), (59, beat(3))];
    assert!(memory(&without).heartbeats("n1").is_some());
    let silent = [(10, beat(1)), (20, beat(2)), (25, None), (30, beat(3))];
    assert_eq!(memory(&silent).heartbeats("n1"), None);
}

#[test]
fn another_node_of_the_same_name_has_its_own_heartbeats() {
    let mut memory = memory(&[(10, beat(1)), (20, beat(2))]);
    let none = serde_json::json!({});
    let first = memory.seen("n1", object(&none).unwrap(), t(21));
    assert!(first.heartbeats.is_some());
    let reborn = object(&serde_json::json!({"/metadata/uid": "u2"})).unwrap();
    assert_eq!(memory.seen("n1", reborn, t(22)).heartbeats, None);
}

#[test]
fn unreachable_counts_from_when_it_was_read_here_or_later() {
    let unknown = |since: &str| {
        let change = serde_json::json!({
            "/status/conditions/0/status": "Unknown",
            "/status/conditions/0/lastTransitionTime": since,
        });
        object(&change).unwrap()
    };
    let mut memory = NodeMemory::default();
    let old = unknown("1970-01-01T00:00:10Z");
    let first = memory.seen("n1", old.clone(), t(100));
    assert_eq!(first.unreachable_since, Some(t(100)));
    assert_eq!(
        memory.seen("n1", old, t(130)).unreachable_since,
        Some(t(100))
    );
    let later = unknown("1970-01-01T00:02:00Z");
    assert_eq!(
        memory.seen("n1", later, t(140)).unreachable_since,
        Some(t(120))
    );
    let ready = object(&serde_json::json!({})).unwrap();
    assert_eq!(memory.seen("n1", ready, t(150)).unreachable_since, None);
    let again = unknown("1970-01-01T00:00:10Z");
    assert_eq!(
        memory.seen("n1", again, t(160)).unreachable_since,
        Some(t(160))
    );
}

#[test]
fn the_taint_and_the_identity_are_read() {
    let tainted = serde_json::json!({"/spec/taints/0/key": OUT_OF_SERVICE});
    assert!(object(&tainted).unwrap().out_of_service);
    assert!(!object(&serde_json::json!({})).unwrap().out_of_service);
    for change in [
        serde_json::json!({"/metadata/name": "n2"}),
        serde_json::json!({"/metadata/uid": ""}),
        serde_json::json!({"/status": null}),
    ] {
        assert_eq!(object(&change), None, "{change}");
    }
}

#[test]
fn a_lease_that_somebody_else_holds_is_no_heartbeat() {
    let lease = |name: &str, holder: &str| -> Lease {
        serde_json::from_value(serde_json::json!({
            "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
            "metadata": {"name": name},
            "spec": {
                "holderIdentity": holder, "leaseDurationSeconds": 3600,
                "renewTime": "1970-01-01T00:00:10.000000Z",
            },
        }))
        .unwrap()
    };
    assert_eq!(renewal("n1", lease("n1", "n1")), beat(10));
    assert_eq!(renewal("n1", lease("n1", "somebody")), None);
    assert_eq!(renewal("n1", lease("n2", "n1")), None);
}
