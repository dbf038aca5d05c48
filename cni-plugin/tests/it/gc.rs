//! Checklist section 6: GC.

use ipledger_client::types::ProblemCode;
use serde_json::{Value, json};

use crate::api::{Api, Reply, kind_api, nobody, problem};
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
fn g2_a_pass_that_failed_in_part_is_reported_with_what_was_done() {
    let api = Api::start(|_, _| {
        let error = json!({ "about": "10.0.0.1 of prod, step 0", "code": "outcome_unknown",
            "detail": "the connection was lost" });
        let answer = json!({ "released": 3, "suspect": 1, "failed": 2, "errors": [error] });
        Reply::Json(200, answer)
    });
    let answer = plugin(&api.url(), json!({ VALID: [] })).run();
    let (code, message) = answer.failure();
    assert_eq!(code, 11);
    assert_eq!(
        message,
        "2 parts of the garbage collection failed, the rest is done; \
         10.0.0.1 of prod, step 0: the connection was lost"
    );
    assert_eq!(answer.stderr, "ipledger GC: 3 released, 1 suspect\n");
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

#[test]
fn g3_no_namespace_is_looked_at() {
    let api = kind_api();
    let list = json!({ VALID: [entry("a", "net1")] });
    for netns in ["/var/run/netns/never-was", ""] {
        let call = plugin(&api.url(), list.clone()).variable("CNI_NETNS", netns);
        call.run().assert_silent_success();
    }
    assert_eq!(api.bodies("/v1/gc").len(), 2);
}

/// Multus and the main plugins do not forward GC for secondary networks: an agent of the node
/// builds the list and calls the plugin with the definition, as it would be called by a chain.
#[test]
fn g7_an_agent_can_call_it_with_nothing_but_the_definition() {
    let api = kind_api();
    let mut call = plugin(&api.url(), json!({ VALID: [] }));
    call.variables
        .retain(|name, _| ["CNI_COMMAND", "IPLEDGER_API_URL", "NODENAME"].contains(&name.as_str()));
    let call = call.variable("IPLEDGER_QUEUE_DIR", std::env::temp_dir().join("none-here"));
    let call = call.variable("CNI_PATH", "/opt/cni/bin");
    call.run().assert_silent_success();
    assert_eq!(api.bodies("/v1/gc")[0]["valid"], json!([]));
}

/// libcni sends DELs first: one that waits here goes before the list.
#[test]
fn g9_releases_that_wait_go_before_the_list() {
    let away = Plugin::new("DEL", &nobody());
    let hasty = with_ipam(strict(), json!({ "timeout_seconds": 1 }));
    let away = away.definition(&hasty);
    away.run().assert_silent_success();
    assert_eq!(away.queued().len(), 1);
    let api = kind_api();
    let call = plugin(&api.url(), json!({ VALID: [] }));
    let call = call.variable("IPLEDGER_QUEUE_DIR", away.queue());
    call.run().assert_silent_success();
    let lines: Vec<_> = api.requests().into_iter().map(|r| r.line).collect();
    assert_eq!(lines, ["POST /v1/release", "POST /v1/gc"]);
    assert!(away.queued().is_empty());
}
