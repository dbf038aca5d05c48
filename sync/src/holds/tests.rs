use super::*;
use crate::clock::SteadyClock;

fn t(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

fn holds() -> Holds {
    let clock = SteadyClock::set_to(t(1_000));
    Holds::new("prod", std::sync::Arc::new(clock))
}

fn event(kind: &str, address: &str, step: u32, cluster: &str) -> Event {
    serde_json::from_value(serde_json::json!({
        "space": "prod", "seq": 1, "epoch": 1, "recorded_at": "1970-01-01T00:00:10Z",
        "address": address, "step": step, "kind": kind, "encoding": 1,
        "payload": {
            "attachment": {
                "cluster": cluster, "network": "n", "container_id": "c", "ifname": "net1",
            },
            "owner": {"namespace": "default", "name": "web-0", "uid": "u1"},
        },
        "digest": "", "hash": "", "previous_hash": "",
    }))
    .unwrap()
}

#[test]
fn events_lead_from_one_state_to_the_next() {
    let mut holds = holds();
    let mut apply = |event| holds.apply(event, t(20)).unwrap();
    apply(event("allocated", "10.0.0.1", 0, "prod"));
    apply(event("allocated", "10.0.0.2", 0, "prod"));
    apply(event("released", "10.0.0.1", 1, "prod"));
    apply(event("allocated", "10.0.0.1", 2, "prod"));
    apply(event("allocated", "10.0.0.3", 0, "elsewhere"));
    let held: Vec<_> = holds
        .all()
        .values()
        .map(|hold| (hold.key.address.to_string(), hold.key.step))
        .collect();
    assert_eq!(
        held,
        [("10.0.0.1".to_owned(), 2), ("10.0.0.2".to_owned(), 0)]
    );
    let first = holds.all().values().next().unwrap();
    assert_eq!((first.allocated_at, first.seen_at), (t(10), t(20)));
    assert_eq!(first.owner.as_ref().unwrap().uid.as_deref(), Some("u1"));
}

#[test]
fn an_event_that_is_met_again_changes_nothing() {
    let mut holds = holds();
    holds
        .apply(event("allocated", "10.0.0.1", 0, "prod"), t(20))
        .unwrap();
    holds
        .apply(event("allocated", "10.0.0.1", 0, "prod"), t(30))
        .unwrap();
    assert_eq!(holds.all().values().next().unwrap().seen_at, t(20));
}

#[test]
fn what_cannot_be_understood_is_not_guessed() {
    let mut holds = holds();
    let mut bound = event("cluster_bound", "10.0.0.1", 0, "prod");
    bound.address = None;
    assert!(holds.apply(bound, t(20)).is_some());
    for strange in [
        event("swapped", "10.0.0.1", 0, "prod"),
        event("allocated", "ten", 0, "prod"),
        event("released", "10.0.0.1", 0, "prod"),
        Event {
            payload: serde_json::json!({}),
            ..event("allocated", "10.0.0.1", 0, "prod")
        },
    ] {
        assert!(holds.apply(strange.clone(), t(20)).is_none(), "{strange:?}");
    }
    assert!(holds.all().is_empty());
}

#[test]
fn events_are_followed_unless_history_is_another_one() {
    let mut holds = holds();
    let heads = |heads: &[(&str, u64, u32)]| -> BTreeMap<String, (u64, u32)> {
        let heads = heads.iter();
        heads
            .map(|(space, seq, epoch)| ((*space).to_owned(), (*seq, *epoch)))
            .collect()
    };
    assert_eq!(holds.steps_to(&heads(&[("a", 1, 1)])), None);
    holds.position = Some(Position {
        since: "x".to_owned(),
        heads: heads(&[("a", 10, 1), ("b", 10, 1)]),
    });
    let steps = |now: &[(&str, u64, u32)]| holds.steps_to(&heads(now));
    assert_eq!(steps(&[("a", 10, 1), ("b", 10, 1)]), Some(vec![]));
    assert_eq!(
        steps(&[("a", 12, 1), ("b", 10, 1), ("c", 3, 1)]),
        Some(vec![("a".to_owned(), 10), ("c".to_owned(), 0)])
    );
    for (other, now) in [
        ("shorter", vec![("a", 9, 1), ("b", 10, 1)]),
        ("another epoch", vec![("a", 12, 2), ("b", 10, 1)]),
        ("a space is gone", vec![("a", 12, 1)]),
        ("far", vec![("a", 10 + MANY_EVENTS + 1, 1), ("b", 10, 1)]),
    ] {
        assert_eq!(steps(&now), None, "{other}");
    }
}
