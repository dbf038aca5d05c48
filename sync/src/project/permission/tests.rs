use std::collections::BTreeMap;

use super::*;
use crate::project::{ObjectKey, Stored, StoredEntry};

fn gate(closed: bool, since: Option<&str>) -> Gate {
    Gate {
        closed,
        reason: since.map(|_| "swap".to_owned()),
        since: since.map(str::to_owned),
        seq: since.map(|_| 9),
    }
}

#[test]
fn the_gate_and_the_setting_decide_first() {
    use ProjectionMode::{Auto, On, Shadow};
    let never = || gate(false, None);
    let closed = || gate(true, Some("t"));
    let opened = || gate(false, Some("t"));
    // (setting, gate, the reason not to write; `ask` if more has to be looked at)
    let cases = [
        (Shadow, never(), "shadow"),
        (Shadow, opened(), "shadow"),
        (On, never(), "write"),
        (On, opened(), "write"),
        (On, closed(), "gate_closed"),
        (Auto, closed(), "gate_closed"),
        (Auto, opened(), "write"),
        (Auto, never(), "ask"),
    ];
    for (mode, gate, expected) in cases {
        let answer = match by_gate(mode, &gate) {
            None => "ask",
            Some(Ok(())) => "write",
            Some(Err(withheld)) => withheld.kind(),
        };
        assert_eq!(answer, expected, "{mode:?} {gate:?}");
    }
}

#[test]
fn objects_of_another_are_not_touched_before_the_cut_over() {
    let stored = |digest: Option<&str>, content| Stored {
        uid: "u".to_owned(),
        resource_version: "1".to_owned(),
        digest: digest.map(str::to_owned),
        omitted: 0,
        edited_by: None,
        shared: Default::default(),
        content,
    };
    let pool = |count: usize| StoredContent::Pool {
        range: Some("10.0.0.0/24".to_owned()),
        entries: (0..count)
            .map(|key| (key.to_string(), StoredEntry::default()))
            .collect(),
    };
    let reservation = || StoredContent::Reservation(StoredEntry::default());
    // (objects, answer)
    let cases = [
        (vec![], "ask"),
        (vec![stored(None, pool(0))], "ask"),
        (vec![stored(None, pool(1))], "foreign_objects"),
        (vec![stored(None, reservation())], "foreign_objects"),
        (
            vec![stored(None, pool(1)), stored(Some("x"), reservation())],
            "write",
        ),
    ];
    for (objects, expected) in cases {
        let objects: BTreeMap<ObjectKey, Stored> = objects
            .into_iter()
            .enumerate()
            .map(|(index, stored)| (ObjectKey::pool(index.to_string()), stored))
            .collect();
        let answer = match by_objects(&objects) {
            None => "ask",
            Some(Ok(())) => "write",
            Some(Err(withheld)) => withheld.kind(),
        };
        assert_eq!(answer, expected, "{objects:?}");
    }
}

#[test]
fn every_reason_has_its_word() {
    let text = String::new;
    let all = [
        Withheld::Shadow,
        Withheld::GateClosed(text(), text()),
        Withheld::ForeignObjects(text()),
        Withheld::IncumbentRuns(text()),
        Withheld::NotBound(text()),
        Withheld::AnotherCluster(text(), text(), text()),
    ];
    assert_eq!(all.map(|withheld| withheld.kind()), Withheld::KINDS);
}
