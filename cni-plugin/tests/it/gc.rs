//! Checklist section 6: GC.

use ipledger_client::types::ProblemCode;
use serde_json::{Value, json};

use crate::api::{Api, kind_api, nobody, problem};
use crate::plugin::{Plugin, strict, with, with_ipam};

const VALID: &str = "cni.dev/valid-attachments";
const OLD: &str = "cni.dev/attachments";

fn plugin(api: &str, keys: Value) -> Plugin {
    let definition = with(with(strict(), json!({ "cniVersion": "1.1.0" })), keys);
    let plugin = Plugin::new("GC", api).definition(&definition);
    plugin
        .without("CNI_CONTAINERID")
        .without("CNI_IFNAME")
        .without("CNI_NETNS")
        .without("CNI_ARGS")
}

fn entry(container_id: &str, ifname: &str) -> Value {
    json!({ "containerID": container_id, "ifname": ifname })
}

#[test]
fn g1_g5_g10_the_list_goes_to_the_ledger_with_cluster_node_and_network() {
    for key in [VALID, OLD] {
        let api = kind_api();
        let list = json!([entry("a", "net1"), entry("b", "net2")]);
        let answer = plugin(&api.url(), json!({ key: list })).run();
        answer.assert_silent_success();
        assert_eq!(answer.stderr, "ipledger GC: 0 released, 1 suspect\n");
        let body = &api.bodies("/v1/gc")[0];
        assert_eq!(
            (&body["cluster"], &body["node"]),
            (&json!("prod"), &json!("node-1"))
        );
        assert_eq!(body["network"], "super-net");
        let valid = json!([{ "container_id": "a", "ifname": "net1" },
                           { "container_id": "b", "ifname": "net2" }]);
        assert_eq!(body["valid"], valid);
        assert!(body["token"]["boottime_ns"].is_u64());
    }
}

#[test]
fn g1_the_new_name_wins_over_the_old_one_unless_it_is_null() {
    let api = kind_api();
    let both = json!({ VALID: [entry("a", "net1")], OLD: [] });
    plugin(&api.url(), both).run().assert_silent_success();
    let null = json!({ VALID: null, OLD: [entry("b", "net1")] });
    plugin(&api.url(), null).run().assert_silent_success();
    let bodies = api.bodies("/v1/gc");
    assert_eq!(bodies[0]["valid"][0]["container_id"], "a");
    assert_eq!(bodies[1]["valid"][0]["container_id"], "b");
}

#[test]
fn g2_errors_are_reported() {
    let api = Api::start(|_, _| problem(ProblemCode::ClusterMismatch));
    assert_eq!(plugin(&api.url(), json!({ VALID: [] })).run().code(), 108);
    let hasty =
        json!({ VALID: [], "ipam": with_ipam(strict(), json!({ "timeout_seconds": 1 }))["ipam"] });
    assert_eq!(plugin(&nobody(), hasty).run().code(), 11);
}

#[test]
fn g4_absent_null_and_empty_are_three_different_things() {
    let api = kind_api();
    for keys in [
        json!({}),
        json!({ VALID: null }),
        json!({ VALID: null, OLD: null }),
    ] {
        let answer = plugin(&api.url(), keys).run();
        answer.assert_silent_success();
        let note = "ipledger GC: cni.dev/valid-attachments is absent or null, so nothing is done\n";
        assert_eq!(answer.stderr, note);
    }
    assert!(api.requests().is_empty());
    plugin(&api.url(), json!({ VALID: [] }))
        .run()
        .assert_silent_success();
    assert_eq!(api.bodies("/v1/gc")[0]["valid"], json!([]));
}

#[test]
fn g4_a_list_that_cannot_be_read_in_full_is_refused_in_full() {
    for (list, message) in [
        (
            json!({}),
            "cni.dev/valid-attachments: {} is an object, not a list",
        ),
        (
            json!(["a"]),
            "cni.dev/valid-attachments[0]: \"a\" is a string, not an object",
        ),
        (
            json!([entry("a", "net1"), { "containerID": "b" }]),
            "cni.dev/valid-attachments[1].ifname: is missing",
        ),
        (
            json!([{ "containerID": 5, "ifname": "net1" }]),
            "cni.dev/valid-attachments[0].containerID: 5 is a number, not a string",
        ),
        (
            json!([entry("", "net1")]),
            "cni.dev/valid-attachments[0].containerID: \"\" is empty",
        ),
    ] {
        let failure = plugin(&nobody(), json!({ VALID: list })).run().failure();
        assert_eq!(failure, (7, message.to_owned()));
    }
}

#[test]
fn g5_without_the_name_of_the_node_nothing_is_swept() {
    let definition = json!({ VALID: [] });
    let plugin = plugin(&nobody(), definition).without("NODENAME");
    // A host with a boot but without a name.
    let plugin = plugin.file("/proc/sys/kernel/random/boot_id", "b-1\n");
    let (code, message) = plugin.run_inside().failure();
    assert_eq!(code, 7);
    assert!(message.starts_with("node: the name of the node is not known; set NODENAME"));
}

#[test]
fn g8_a_list_without_its_place_in_time_is_not_sent() {
    // The ledger leaves alone what is younger than the call; so the call must be dated.
    let api = kind_api();
    let failure = plugin(&api.url(), json!({ VALID: [] }))
        .run_inside()
        .failure();
    let message = "the boot id of the node cannot be read, so the list cannot be dated";
    assert_eq!(failure, (5, message.to_owned()));
    assert!(api.bodies("/v1/gc").is_empty());
}
