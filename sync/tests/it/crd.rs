//! The objects keep whereabouts' shapes, and the committed files are those of the types.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use ipledger_sync::crd::{
    IpAllocation, IpPool, IpPoolSpec, NetworkAttachmentDefinition, NetworkAttachmentDefinitionSpec,
    NodeSlicePool, NodeSlicePoolSpec, NodeSlicePoolStatus, OverlappingRangeIpReservation,
    OverlappingRangeIpReservationSpec, SliceAllocation, definitions, manifests,
};
use kube::Resource;
use kube::core::DeserializeGuard;
use serde_json::{Value, json};

fn committed() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../deploy/crds")
}

#[test]
fn the_committed_manifests_are_those_of_the_types() {
    let expected: BTreeMap<_, _> = manifests()
        .unwrap()
        .into_iter()
        .map(|manifest| (manifest.file_name, manifest.yaml))
        .collect();
    let found: BTreeMap<_, _> = fs::read_dir(committed())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .map(|path| {
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            (name, fs::read_to_string(path).unwrap())
        })
        .collect();
    assert_eq!(found, expected, "deploy/crds is stale: run `make crds`");
}

#[test]
fn a_pool_is_written_as_whereabouts_writes_it() {
    let allocation = IpAllocation {
        id: "a56b06006c6a".to_owned(),
        pod_ref: "default/super-pod".to_owned(),
        if_name: Some("net1".to_owned()),
    };
    let spec = IpPoolSpec {
        range: "10.10.3.0/24".to_owned(),
        allocations: BTreeMap::from([("30".to_owned(), allocation)]),
    };
    let pool = IpPool::new("10.10.3.0-24", spec);
    let expected = json!({
        "apiVersion": "whereabouts.cni.cncf.io/v1alpha1",
        "kind": "IPPool",
        "metadata": {"name": "10.10.3.0-24"},
        "spec": {
            "range": "10.10.3.0/24",
            "allocations": {
                "30": {"id": "a56b06006c6a", "podref": "default/super-pod", "ifname": "net1"},
            },
        },
    });
    assert_eq!(serde_json::to_value(&pool).unwrap(), expected);
    assert_eq!(serde_json::from_value::<IpPool>(expected).unwrap(), pool);
}

#[test]
fn an_empty_pool_shows_its_empty_map() {
    let spec = IpPoolSpec {
        range: "fd00::/64".to_owned(),
        allocations: BTreeMap::new(),
    };
    let text = serde_json::to_string(&spec).unwrap();
    assert_eq!(text, r#"{"range":"fd00::/64","allocations":{}}"#);
}

#[test]
fn a_reservation_is_written_as_whereabouts_writes_it() {
    let spec = OverlappingRangeIpReservationSpec {
        container_id: None,
        pod_ref: "default/super-pod".to_owned(),
        if_name: Some("net1".to_owned()),
    };
    let reservation = OverlappingRangeIpReservation::new("10.10.3.30", spec);
    let expected = json!({
        "apiVersion": "whereabouts.cni.cncf.io/v1alpha1",
        "kind": "OverlappingRangeIPReservation",
        "metadata": {"name": "10.10.3.30"},
        "spec": {"podref": "default/super-pod", "ifname": "net1"},
    });
    assert_eq!(serde_json::to_value(&reservation).unwrap(), expected);
}

#[test]
fn objects_of_older_releases_are_read() {
    let pool = json!({
        "metadata": {"name": "10.0.0.0-24"},
        "spec": {"range": "10.0.0.0/24", "allocations": {"1": {"id": "c1", "podref": "a/b"}}},
    });
    let pool: IpPool = serde_json::from_value(pool).unwrap();
    assert_eq!(pool.spec.allocations["1"].if_name, None);
    let reservation = json!({
        "metadata": {"name": "10.0.0.1"},
        "spec": {"containerid": "c1", "podref": "a/b"},
    });
    let reservation: OverlappingRangeIpReservation = serde_json::from_value(reservation).unwrap();
    assert_eq!(reservation.spec.container_id.as_deref(), Some("c1"));
}

#[test]
fn one_foreign_shape_does_not_spoil_its_list() {
    let list = json!([
        {"metadata": {"name": "odd"}, "spec": {"range": 7}},
        {"metadata": {"name": "good"}, "spec": {"range": "10.0.0.0/24", "allocations": {}}},
    ]);
    let list: Vec<DeserializeGuard<IpPool>> = serde_json::from_value(list).unwrap();
    let readable: Vec<bool> = list.iter().map(|guard| guard.0.is_ok()).collect();
    assert_eq!(readable, [false, true]);
    assert_eq!(list[0].meta().name.as_deref(), Some("odd"));
}

#[test]
fn a_sliced_range_shows_which_node_has_what() {
    let spec = NodeSlicePoolSpec {
        range: "10.0.0.0/8".to_owned(),
        slice_size: "/10".to_owned(),
    };
    let mut pool = NodeSlicePool::new("net1", spec);
    pool.status = Some(NodeSlicePoolStatus {
        allocations: vec![SliceAllocation {
            node_name: String::new(),
            slice_range: "10.0.0.0/10".to_owned(),
        }],
    });
    let written = serde_json::to_value(&pool).unwrap();
    let spec = json!({"range": "10.0.0.0/8", "sliceSize": "/10"});
    let status = json!({"allocations": [{"nodeName": "", "sliceRange": "10.0.0.0/10"}]});
    assert_eq!((&written["spec"], &written["status"]), (&spec, &status));
}

#[test]
fn a_definition_of_a_network_may_have_no_config() {
    let spec = serde_json::from_value::<NetworkAttachmentDefinitionSpec>(json!({})).unwrap();
    let definition = NetworkAttachmentDefinition::new("in-a-file", spec);
    assert_eq!(serde_json::to_value(definition).unwrap()["spec"], json!({}));
}

/// Everything about a kind that a stored object or a user's command depends on.
fn face(definition: &Value) -> Value {
    let spec = &definition["spec"];
    let version = &spec["versions"][0];
    let schema = &version["schema"]["openAPIV3Schema"];
    json!({
        "name": definition["metadata"]["name"],
        "names": [spec["names"]["kind"], spec["names"]["singular"], spec["names"]["shortNames"]],
        "scope": spec["scope"],
        "version": [version["name"], version["served"], version["storage"]],
        "subresources": version["subresources"],
        "required": [schema["required"], schema["properties"]["spec"]["required"]],
    })
}

#[test]
fn the_definitions_ask_for_what_whereabouts_and_multus_ask_for() {
    let faces: Vec<Value> = definitions()
        .iter()
        .map(|definition| face(&serde_json::to_value(definition).unwrap()))
        .collect();
    let whereabouts = |plural: &str, kind: &str, required: Value| {
        json!({
            "name": format!("{plural}.whereabouts.cni.cncf.io"),
            "names": [kind, kind.to_lowercase(), null],
            "scope": "Namespaced",
            "version": ["v1alpha1", true, true],
            "subresources": null,
            "required": required,
        })
    };
    let expected = [
        whereabouts("ippools", "IPPool", json!([null, ["allocations", "range"]])),
        whereabouts(
            "overlappingrangeipreservations",
            "OverlappingRangeIPReservation",
            json!([["spec"], ["podref"]]),
        ),
        whereabouts(
            "nodeslicepools",
            "NodeSlicePool",
            json!([null, ["range", "sliceSize"]]),
        ),
        json!({
            "name": "network-attachment-definitions.k8s.cni.cncf.io",
            "names": [
                "NetworkAttachmentDefinition",
                "network-attachment-definition",
                ["net-attach-def"],
            ],
            "scope": "Namespaced",
            "version": ["v1", true, true],
            "subresources": null,
            "required": [null, null],
        }),
    ];
    assert_eq!(faces, expected);
}
