//! Which objects a reading makes.

use ipledger_client::types::Hold;
use ipledger_sync::project::{
    Action, Desired, DesiredObject, HeldAddress, ObjectKey, Reading, ReadingError, StoredObjects,
    Unprojectable, address_at, plan, render, reservation_name_address,
};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use super::sample::{CONTAINER, any_reading, hold, outage, reading, space};

/// The bodies that are applied to an empty cluster, by kind and name.
fn bodies(desired: &Desired<'_>) -> BTreeMap<String, Value> {
    let plan = plan(desired, &StoredObjects::new(), |_| false);
    let body = |write: &ipledger_sync::project::ObjectWrite<'_>| {
        assert!(matches!(write.action, Action::Apply(_)));
        (write.key.to_string(), write.body("kube-system").unwrap())
    };
    plan.writes.iter().map(body).collect()
}

fn names(desired: &Desired<'_>) -> Vec<String> {
    desired.objects.keys().map(ToString::to_string).collect()
}

#[test]
fn the_objects_of_the_first_report() {
    let reading = outage();
    let bodies = bodies(&render(&reading));
    let pool = &bodies["IPPool 10.10.3.0-24"];
    assert_eq!(pool["apiVersion"], "whereabouts.cni.cncf.io/v1alpha1");
    assert_eq!(pool["metadata"]["namespace"], "kube-system");
    let spec = json!({
        "allocations": {
            "30": { "id": CONTAINER, "ifname": "net1", "podref": "default/super-pod" },
        },
        "range": "10.10.3.0/24",
    });
    assert_eq!(pool["spec"], spec);
    let reservation = &bodies["OverlappingRangeIPReservation 10.10.3.30"];
    let spec = json!({ "ifname": "net1", "podref": "default/super-pod" });
    assert_eq!(reservation["spec"], spec);
    let position = reservation["metadata"]["annotations"]["ipledger/position"].as_str();
    let position: Value = serde_json::from_str(position.unwrap()).unwrap();
    let fresh = json!({ "as_of": { "prod": 7 }, "read_at": "2026-11-30T07:42:00.000Z" });
    assert_eq!(position, fresh);
    assert_eq!(bodies.len(), 2);
}

#[test]
fn which_objects_show_a_hold() {
    let pool = "10.0.0.0/24";
    // (space, its members, its CIDR if private, names of objects)
    let cases = [
        (
            "prod",
            vec![("prod", "")],
            None,
            vec!["IPPool 10.0.0.0-24", "R 10.0.0.5"],
        ),
        (
            "prod/blue",
            vec![("prod", "blue")],
            None,
            vec!["IPPool blue-10.0.0.0-24", "R blue-10.0.0.5"],
        ),
        // Without the check of overlapping ranges whereabouts makes no reservations.
        (
            "prod#10.0.0.0/24",
            vec![],
            Some(pool),
            vec!["IPPool 10.0.0.0-24"],
        ),
        // Another cluster's names are nothing to this one.
        (
            "shared:vlan7",
            vec![("east", "red"), ("prod", "blue")],
            None,
            vec!["IPPool blue-10.0.0.0-24", "R blue-10.0.0.5"],
        ),
        // Whoever reads one network's objects must see what the other one's pods hold.
        (
            "shared:vlan7",
            vec![("prod", ""), ("prod", "blue")],
            None,
            vec![
                "IPPool 10.0.0.0-24",
                "IPPool blue-10.0.0.0-24",
                "R 10.0.0.5",
                "R blue-10.0.0.5",
            ],
        ),
    ];
    for (name, members, private, expected) in cases {
        let spaces = [
            space("prod", &[("prod", "")], None),
            space(name, &members, private),
        ];
        let spaces = if name == "prod" {
            &spaces[1..]
        } else {
            &spaces
        };
        let reading = reading(spaces, vec![hold("prod", name, pool, "10.0.0.5")]);
        let names = names(&render(&reading));
        let expected: Vec<String> = expected
            .into_iter()
            .map(|name| name.replace("R ", "OverlappingRangeIPReservation "))
            .collect();
        assert_eq!(names, expected, "{name}");
    }
}

#[test]
fn holds_of_other_clusters_are_not_shown() {
    let spaces = [space("shared:vlan7", &[("east", ""), ("prod", "")], None)];
    let holds = vec![
        hold("east", "shared:vlan7", "10.0.0.0/24", "10.0.0.1"),
        hold("prod", "shared:vlan7", "10.0.0.0/24", "10.0.0.2"),
    ];
    let reading = reading(&spaces, holds);
    assert_eq!(reading.len(), 1);
    let bodies = bodies(&render(&reading));
    let allocations = bodies["IPPool 10.0.0.0-24"]["spec"]["allocations"].clone();
    let keys: Vec<&String> = allocations.as_object().unwrap().keys().collect();
    assert_eq!(keys, ["2"]);
}

#[test]
fn an_imported_hold_without_interface_and_pod() {
    let mut imported = hold("prod", "prod", "10.0.0.0/24", "10.0.0.5");
    imported.attachment.ifname = String::new();
    imported.owner = None;
    let reading = reading(&[space("prod", &[("prod", "")], None)], vec![imported]);
    let bodies = bodies(&render(&reading));
    let entry = &bodies["IPPool 10.0.0.0-24"]["spec"]["allocations"]["5"];
    assert_eq!(*entry, json!({ "id": CONTAINER, "podref": "" }));
}

#[test]
fn what_no_object_can_show_stops_nothing() {
    let spaces = [
        space("prod", &[("prod", "")], None),
        space("prod/a", &[("prod", "a")], None),
        space("prod/a-2001", &[("prod", "a-2001")], None),
        space("prod/Red", &[("prod", "Red")], None),
        space("shared:east", &[("east", "")], None),
    ];
    let mut elsewhere = hold("prod", "shared:east", "10.0.0.0/24", "10.0.0.1");
    elsewhere.attachment.cluster = "prod".to_owned();
    let holds = vec![
        hold("prod", "prod", "::/120", "::5"),
        hold("prod", "prod", "10.0.0.0/24", "10.0.0.1"),
        hold("prod", "prod/a", "2001:db8::/64", "2001:db8::1"),
        hold("prod", "prod/a-2001", "db8::/64", "db8::1"),
        hold("prod", "prod/Red", "10.0.0.0/24", "10.0.0.1"),
        elsewhere,
    ];
    let reading = reading(&spaces, holds);
    let desired = render(&reading);
    let mut kinds: Vec<&str> = desired
        .unprojectable
        .iter()
        .map(Unprojectable::kind)
        .collect();
    kinds.sort_unstable();
    let expected = [
        "name",
        "name",
        "name",
        "name",
        "name_taken",
        "name_taken",
        "no_network",
    ];
    assert_eq!(kinds, expected, "{:?}", desired.unprojectable);
    assert_eq!(
        names(&desired),
        [
            "IPPool 10.0.0.0-24",
            "IPPool a-2001-db8---64",
            "OverlappingRangeIPReservation 10.0.0.1",
            "OverlappingRangeIPReservation a-2001-db8--1",
        ]
    );
}

#[test]
fn a_pool_beyond_the_limit_shows_its_lowest_addresses_and_says_so() {
    let space_reading = |count: u32| {
        let mut reading = outage();
        let holds = &mut reading.spaces.get_mut("prod").unwrap().holds;
        let small = holds.values().next().unwrap().clone();
        for number in 0..count {
            let address = IpAddr::from((0x0a00_0000u32 + number).to_be_bytes());
            let hold = HeldAddress {
                pool: "10.0.0.0/8".parse().unwrap(),
                ..small.clone()
            };
            holds.insert(address, hold);
        }
        reading
    };
    let full = space_reading(4094);
    assert_eq!(render(&full).omitted(), 0);
    let huge = space_reading(20_000);
    let desired = render(&huge);
    let key = ObjectKey::pool("10.0.0.0-8");
    let DesiredObject::Pool(pool) = &desired.objects[&key] else {
        panic!("a pool");
    };
    let shown = pool.entries.len();
    assert!((4_800..6_000).contains(&shown), "{shown}");
    assert_eq!(pool.omitted, 20_000 - shown);
    assert!((0..shown).all(|offset| pool.entries.contains_key(&offset.to_string())));
    let bodies = bodies(&desired);
    let body = &bodies["IPPool 10.0.0.0-8"];
    let note = &body["metadata"]["annotations"]["ipledger/omitted"];
    let expected = format!("{} of 20000 holds do not fit", 20_000 - shown);
    assert!(note.as_str().unwrap().starts_with(&expected), "{note}");
    // etcd takes 1.5 MiB; half a record of managed fields comes on top of the body.
    assert!(body.to_string().len() < 1024 * 1024);
    // The rest is as if the pool were small: the other pool and every reservation.
    assert_eq!(bodies.len(), 2 + 20_000 + 1);
}

#[test]
fn a_reading_that_does_not_fit_together_is_refused_whole() {
    let spaces = [space("prod", &[("prod", "")], None)];
    let good = || hold("prod", "prod", "10.0.0.0/24", "10.0.0.1");
    let cases: [(&str, Hold); 4] = [
        (
            "unreadable_hold",
            Hold {
                address: "10.0.0".to_owned(),
                ..good()
            },
        ),
        (
            "unreadable_hold",
            Hold {
                pool: "10.0.0.0".to_owned(),
                ..good()
            },
        ),
        (
            "unreadable_hold",
            Hold {
                pool: "10.0.1.0/24".to_owned(),
                ..good()
            },
        ),
        (
            "unknown_space",
            Hold {
                space: "prod/new".to_owned(),
                ..good()
            },
        ),
    ];
    let as_of = BTreeMap::from([("prod".to_owned(), 7)]);
    for (kind, bad) in cases {
        let holds = vec![good(), bad];
        let at = super::sample::read_at();
        let error = Reading::assemble("prod", &spaces, &as_of, holds, at).unwrap_err();
        assert_eq!(ReadingError::kind(&error), kind, "{error}");
    }
}

proptest! {
    /// Reading the rendered objects the way scripts do gives the holds back.
    #[test]
    fn objects_lead_back_to_the_holds(reading in any_reading()) {
        let desired = render(&reading);
        prop_assert!(desired.unprojectable.is_empty());
        let (mut in_pools, mut reserved) = (BTreeSet::new(), BTreeSet::new());
        for (name, body) in bodies(&desired) {
            let (kind, name) = name.split_once(' ').unwrap();
            let blue = name.starts_with("blue-");
            let spec = &body["spec"];
            if kind == "IPPool" {
                let range: ipnet::IpNet = spec["range"].as_str().unwrap().parse().unwrap();
                for (key, entry) in spec["allocations"].as_object().unwrap() {
                    let address = address_at(range.network(), key.parse().unwrap()).unwrap();
                    in_pools.insert((blue, address, entry["podref"].to_string()));
                }
            } else {
                let address = name.strip_prefix("blue-").unwrap_or(name);
                let address = reservation_name_address(address).unwrap();
                reserved.insert((blue, address, spec["podref"].to_string()));
            }
        }
        let holds = |private: bool| -> BTreeSet<(bool, IpAddr, String)> {
            reading.spaces.iter()
                .filter(|(_, space)| private || !space.private)
                .flat_map(|(name, space)| space.holds.iter().map(move |(address, hold)| {
                    (name.contains("blue"), *address, format!("{:?}", hold.podref))
                }))
                .collect()
        };
        prop_assert_eq!(in_pools, holds(true));
        prop_assert_eq!(reserved, holds(false));
    }
}
