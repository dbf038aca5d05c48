use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::json;

use super::*;
use crate::project::SpaceReading;

fn reading() -> Reading {
    let space = SpaceReading {
        seq: 10,
        network_names: vec![String::new()],
        private: false,
        holds: BTreeMap::new(),
    };
    Reading {
        spaces: BTreeMap::from([("prod".to_owned(), space)]),
        epoch: Some(1),
        read_at: Timestamp::UNIX_EPOCH,
    }
}

fn event(seq: u64, kind: &str, address: &str, step: u32, cluster: &str) -> Event {
    serde_json::from_value(json!({
        "space": "prod", "seq": seq, "epoch": 1, "recorded_at": "1970-01-01T00:00:10Z",
        "address": address, "step": step, "kind": kind, "encoding": 1,
        "payload": {
            "attachment": {
                "cluster": cluster, "network": "n", "container_id": "c1", "ifname": "net1",
            },
            "owner": { "namespace": "default", "name": "web-0", "uid": "u1" },
            "decision": {
                "capacity": "254", "window": { "cidr": "10.0.0.0/24", "first": "10.0.0.1" },
            },
        },
        "digest": "", "hash": "", "previous_hash": "",
    }))
    .unwrap()
}

#[test]
fn events_lead_from_one_reading_to_the_next() {
    let mut reading = reading();
    let mut apply = |event: &Event| apply(&mut reading, "prod", event).unwrap();
    apply(&event(11, "allocated", "10.0.0.1", 0, "prod"));
    apply(&event(12, "allocated", "10.0.0.2", 0, "prod"));
    apply(&event(13, "released", "10.0.0.1", 1, "prod"));
    apply(&event(14, "allocated", "10.0.0.3", 0, "elsewhere"));
    let space = &reading.spaces["prod"];
    assert_eq!(space.seq, 14);
    let held: Vec<(String, &HeldAddress)> = space
        .holds
        .iter()
        .map(|(address, held)| (address.to_string(), held))
        .collect();
    let expected = HeldAddress {
        pool: "10.0.0.0/24".parse().unwrap(),
        step: 0,
        seq: 12,
        container_id: "c1".to_owned(),
        podref: "default/web-0".to_owned(),
        ifname: "net1".to_owned(),
    };
    assert_eq!(held, [("10.0.0.2".to_owned(), &expected)]);
}

#[test]
fn what_is_not_the_next_thing_to_understand_is_read_anew() {
    let good = || event(11, "allocated", "10.0.0.1", 0, "prod");
    let cases = [
        ("a gap", event(12, "allocated", "10.0.0.1", 0, "prod")),
        ("met before", event(10, "allocated", "10.0.0.1", 0, "prod")),
        ("another epoch", Event { epoch: 2, ..good() }),
        (
            "another space",
            Event {
                space: "east".to_owned(),
                ..good()
            },
        ),
        (
            "about no address",
            Event {
                address: None,
                ..good()
            },
        ),
        (
            "outside its pool",
            event(11, "allocated", "10.0.1.1", 0, "prod"),
        ),
        (
            "unknown",
            Event {
                kind: "reserved".to_owned(),
                ..good()
            },
        ),
        (
            "payload",
            Event {
                payload: json!({}),
                ..good()
            },
        ),
    ];
    for (case, event) in cases {
        let mut reading = reading();
        assert!(apply(&mut reading, "prod", &event).is_none(), "{case}");
        assert_eq!(reading.spaces["prod"].seq, 10, "{case}");
    }
}

#[test]
fn spaces_are_followed_unless_history_is_another_one() {
    let head = |space: &str, seq, epoch| SpaceHead {
        space: space.to_owned(),
        seq,
        epoch,
    };
    let cases = [
        (vec![head("prod", 10, 1)], Some(vec![])),
        (
            vec![head("prod", 12, 1)],
            Some(vec![("prod".to_owned(), 10)]),
        ),
        (vec![head("prod", 9, 1)], None),
        (vec![head("prod", 12, 2)], None),
        (vec![head("prod", 10, 1), head("prod/blue", 1, 1)], None),
        (vec![head("prod", 10 + MANY_EVENTS + 1, 1)], None),
    ];
    for (heads, expected) in cases {
        assert_eq!(steps(&reading(), &heads), expected, "{heads:?}");
    }
    let heads = [head("prod", 14, 1), head("prod/blue", 3, 1)];
    assert_eq!(positions_behind(Some(&reading()), &heads), 7);
    assert_eq!(positions_behind(None, &heads), 17);
}
