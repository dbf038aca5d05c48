//! What is inconsistent, what becomes of it, and what an imported hold rests on.

use ipledger_sync::import::{Choices, analyse};
use serde_json::{Value, json};

use super::{
    OUTAGE, REBORN, analysis, choices, found, imported, inventory, node, pod, pool, reservation,
};

#[test]
fn the_objects_of_the_first_report() {
    // Nobody looked for pods: nothing is known to be gone.
    let unknown = analysis(&[OUTAGE]);
    assert!(unknown.findings.is_empty());
    assert_eq!(imported(&unknown).len(), 1);
    // The pod is gone, every node is ready: nothing can be using the address.
    let ready = node("node-a", true);
    let other = pod("default/other", &[]);
    let gone = analysis(&[OUTAGE, &other, &ready]);
    assert_eq!(found(&gone), ["pod_gone 30: left out"]);
    assert!(gone.holds.is_empty());
    // A node that is not ready may still run it.
    let lost = analysis(&[OUTAGE, &other, &ready, &node("node-b", false)]);
    assert_eq!(found(&lost), ["pod_gone 30: imported"]);
    assert_eq!(lost.nodes_not_ready, ["node-b"]);
    assert_eq!(lost.holds.len(), 1);
    // Or the operator wants it.
    let choices = Choices {
        keep_gone: true,
        ..choices()
    };
    let kept = analyse(&inventory(&[OUTAGE, &other, &ready]), &choices);
    assert_eq!(found(&kept), ["pod_gone 30: imported"]);
}

#[test]
fn two_entries_of_one_reborn_pod() {
    let both = [
        "duplicate_podref 18278: imported",
        "duplicate_podref 18279: imported",
    ];
    assert_eq!(found(&analysis(&[REBORN])), both);
    assert_eq!(found(&analysis(&[REBORN, &pod("xxx/pod-1", &[])])), both);
    // What the pod reports tells them apart, and only the living one gets its UID.
    let alive = pod("xxx/pod-1", &["10.60.71.103"]);
    let told = analysis(&[REBORN, &alive]);
    assert_eq!(
        found(&told),
        [
            "duplicate_podref 18278: left out",
            "duplicate_podref 18279: imported"
        ]
    );
    let request = &told.holds[0].request;
    assert_eq!(request.address, "10.60.71.103");
    assert!(request.container_id.starts_with("b2a431a8"));
    let owner = request.owner.as_ref().unwrap();
    assert_eq!(owner.uid.as_deref(), Some("uid-pod-1"));
    assert_eq!(owner.node.as_deref(), Some("node-a"));
    // While a node is away, the other one may still be in use there.
    let lost = analysis(&[REBORN, &alive, &node("node-b", false)]);
    assert_eq!(found(&lost), both);
    let uids: Vec<bool> = lost
        .holds
        .iter()
        .map(|hold| hold.request.owner.as_ref().unwrap().uid.is_some())
        .collect();
    assert_eq!(uids, [false, true]);
}

#[test]
fn each_inconsistency_has_a_name_and_an_outcome() {
    let two =
        |name: &str, podref: &str| [reservation(name, podref), reservation("10.0.0.9", "x/z")];
    let good = ("9", "c9", "x/z", "net1");
    // (objects, findings, imported addresses)
    let cases: Vec<(Vec<String>, Vec<&str>, Vec<&str>)> = vec![
        (
            vec![pool(
                "10.0.0.0-24",
                "10.0.0.0/24",
                &[("abc", "c1", "x/y", "net1"), good],
            )],
            vec!["unreadable_key abc: left out"],
            vec!["10.0.0.9"],
        ),
        (
            vec![pool(
                "10.0.0.0-24",
                "10.0.0.0/24",
                &[("-1", "c1", "x/y", "net1"), good],
            )],
            vec!["unreadable_key -1: left out"],
            vec!["10.0.0.9"],
        ),
        (
            vec![pool(
                "10.0.0.0-24",
                "10.0.0.0/24",
                &[("256", "c1", "x/y", "net1"), good],
            )],
            vec!["outside_range 256: left out"],
            vec!["10.0.0.9"],
        ),
        (
            vec![pool(
                "10.0.0.0-24",
                "10.0.0.0/24",
                &[("1", "", "x/y", "net1"), good],
            )],
            vec!["unreadable_entry 1: left out"],
            vec!["10.0.0.9"],
        ),
        (
            vec![pool(
                "10.0.0.0-24",
                "10.0.0.0/24",
                &[("1", "c1", "", "net1"), good],
            )],
            vec!["no_pod 1: imported"],
            vec!["10.0.0.1", "10.0.0.9"],
        ),
        (
            vec![
                pool("junk", "junk", &[good]),
                pool("10.0.0.0-24", "10.0.0.0/24", &[good]),
            ],
            vec!["unreadable_object junk: left out"],
            vec!["10.0.0.9"],
        ),
        (
            vec![
                pool("10.0.0.0-24", "10.0.0.0/24", &[good]),
                two("not-an-address", "x/y").join("---\n"),
            ],
            vec!["unreadable_name not-an-address: left out"],
            vec!["10.0.0.9"],
        ),
        (
            vec![
                pool(
                    "10.0.0.0-24",
                    "10.0.0.0/24",
                    &[("1", "c1", "x/y", "net1"), good],
                ),
                reservation("10.0.0.9", "x/z"),
            ],
            vec!["entry_without_reservation 1: imported"],
            vec!["10.0.0.9", "10.0.0.1"],
        ),
        (
            vec![
                pool("10.0.0.0-24", "10.0.0.0/24", &[good]),
                two("10.0.0.1", "x/y").join("---\n"),
            ],
            vec!["reservation_without_entry 10.0.0.1: left out"],
            vec!["10.0.0.9"],
        ),
        (
            vec![
                pool(
                    "10.0.0.0-24",
                    "10.0.0.0/24",
                    &[("1", "c1", "x/y", "net1"), good],
                ),
                two("10.0.0.1", "x/other").join("---\n"),
            ],
            vec!["reservation_of_another_pod 1: imported"],
            vec!["10.0.0.1", "10.0.0.9"],
        ),
        // Two pools of one network with one address: the reservation says whose it is.
        (
            vec![
                pool("10.0.0.0-24", "10.0.0.0/24", &[("1", "c1", "x/y", "net1")]),
                pool("10.0.0.0-28", "10.0.0.0/28", &[("1", "c2", "x/z", "net1")]),
                reservation("10.0.0.1", "x/z"),
            ],
            vec![
                "reservation_of_another_pod 1: left out",
                "duplicate_address 1: left out",
            ],
            vec!["10.0.0.1"],
        ),
        // Keys of a base with host bits stand for two addresses.
        (
            vec![pool(
                "10.0.0.100-24",
                "10.0.0.100/24",
                &[("5", "c1", "x/y", "net1")],
            )],
            vec!["ambiguous_offset 5: left out"],
            vec![],
        ),
        (
            vec![
                pool(
                    "10.0.0.100-24",
                    "10.0.0.100/24",
                    &[("5", "c1", "x/y", "net1")],
                ),
                reservation("10.0.0.95", "x/y"),
            ],
            vec![],
            vec!["10.0.0.95"],
        ),
        // whereabouts keeps 64 bits of an offset; the reservation has the rest.
        (
            vec![
                pool(
                    "2001-db8---48",
                    "2001:db8::/48",
                    &[("5", "c1", "x/y", "net1")],
                ),
                reservation("2001-db8-0-1--5", "x/y"),
            ],
            vec![],
            vec!["2001:db8:0:1::5"],
        ),
        (
            vec![pool(
                "2001-db8---48",
                "2001:db8::/48",
                &[("5", "c1", "x/y", "net1")],
            )],
            vec![],
            vec!["2001:db8::5"],
        ),
    ];
    for (objects, findings, addresses) in cases {
        let texts: Vec<&str> = objects.iter().map(String::as_str).collect();
        let analysis = analysis(&texts);
        let mut found = found(&analysis);
        let mut expected: Vec<String> = findings.iter().map(ToString::to_string).collect();
        found.sort();
        expected.sort();
        assert_eq!(found, expected, "{objects:?}");
        let shown: Vec<String> = imported(&analysis).into_iter().map(|hold| hold.1).collect();
        assert_eq!(shown, addresses, "{objects:?}");
    }
}

#[test]
fn a_lone_reservation_protects_a_pod_that_uses_it() {
    let objects = [
        pool("10.0.0.0-24", "10.0.0.0/24", &[]),
        reservation("10.0.0.7", "x/y"),
        pod("x/y", &["10.0.0.7"]),
    ];
    let texts: Vec<&str> = objects.iter().map(String::as_str).collect();
    let told = analysis(&texts);
    assert_eq!(
        found(&told),
        ["reservation_without_entry 10.0.0.7: imported"]
    );
    let request = &told.holds[0].request;
    assert_eq!(request.container_id, "reservation-10.0.0.7");
    assert_eq!(request.range, "10.0.0.0/24");
    let inferred = json!(["attachment.container_id", "owner.uid", "owner.node"]);
    assert_eq!(request.evidence["inferred"], inferred);
}

#[test]
fn what_a_hold_rests_on() {
    let objects = [
        pool(
            "blue-10.0.0.0-24",
            "10.0.0.0/24",
            &[("7", "c7", "x/y", "net1")],
        ),
        reservation("blue-10.0.0.7", "x/y"),
        pod("x/y", &["10.0.0.7"]),
    ];
    let texts: Vec<&str> = objects.iter().map(String::as_str).collect();
    let told = analysis(&texts);
    assert!(told.findings.is_empty());
    let request = &told.holds[0].request;
    assert_eq!(request.network_name.as_deref(), Some("blue"));
    let evidence = json!({
        "source": "whereabouts",
        "read_from": "file-0",
        "read_at": "2026-11-30T07:42:00.000Z",
        "object": {
            "name": "IPPool kube-system/blue-10.0.0.0-24",
            "uid": "u1",
            "resource_version": "77",
        },
        "key": "7",
        "reservation": {
            "name": "OverlappingRangeIPReservation kube-system/blue-10.0.0.7",
            "resource_version": "78",
        },
        "pod": { "uid": "uid-y", "node": "node-a", "resource_version": "79" },
        "inferred": ["owner.uid", "owner.node"],
    });
    assert_eq!(Value::Object(request.evidence.clone()), evidence);
}

#[test]
fn definitions_and_slices_decide_space_and_range() {
    let nad = |config: &str| {
        format!(
            "kind: NetworkAttachmentDefinition\napiVersion: k8s.cni.cncf.io/v1\n\
             metadata: {{name: net, namespace: default}}\nspec: {{config: '{config}'}}\n"
        )
    };
    let private = nad(
        r#"{"ipam":{"type":"whereabouts","range":"10.0.0.0/24","enable_overlapping_ranges":false}}"#,
    );
    let slices = "kind: NodeSlicePool\napiVersion: whereabouts.cni.cncf.io/v1alpha1\n\
        metadata: {name: net, namespace: kube-system}\nspec: {range: 10.1.0.0/16, sliceSize: /24}\n\
        status: {allocations: [{nodeName: node-a, sliceRange: 10.1.2.0/24}]}\n";
    let entry = [("1", "c1", "x/y", "net1")];
    let objects = [
        private.clone(),
        slices.to_owned(),
        pool("10.0.0.0-24", "10.0.0.0/24", &entry),
        pool("10.0.0.0-28", "10.0.0.0/28", &[("1", "c2", "x/z", "net1")]),
        pool(
            "node-a-10.1.2.0-24",
            "10.1.2.0/24",
            &[("9", "c3", "x/a", "net1")],
        ),
        pool(
            "net-node-a-10.1.2.0-24",
            "10.1.2.0/24",
            &[("9", "c4", "x/b", "net1")],
        ),
    ];
    let texts: Vec<&str> = objects.iter().map(String::as_str).collect();
    let told = analysis(&texts);
    // 10.0.0.1 is there twice, in two spaces.
    assert!(told.findings.is_empty(), "{:?}", told.findings);
    let shown: Vec<(Option<&str>, &str, &str, bool)> = told
        .holds
        .iter()
        .map(|hold| {
            let request = &hold.request;
            let network = request.network_name.as_deref();
            let overlapping = request.enable_overlapping_ranges;
            (
                network,
                request.range.as_str(),
                request.address.as_str(),
                overlapping,
            )
        })
        .collect();
    assert_eq!(
        shown,
        [
            (None, "10.0.0.0/28", "10.0.0.1", true),
            (None, "10.1.0.0/16", "10.1.2.9", true),
            (None, "10.0.0.0/24", "10.0.0.1", false),
            (Some("net"), "10.1.0.0/16", "10.1.2.9", true),
        ]
    );
}
