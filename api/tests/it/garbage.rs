//! CNI GC: two lists, a grace apart, free what neither names.

use serde_json::{Value, json};

use crate::support::{Api, allocate, release};

const BOOT: &str = "8f5c1f0e-6a53-4f0e-9d0b-0123456789ab";
const SECOND: u64 = 1_000_000_000;

fn list(seconds: u64, valid: &Value) -> Value {
    json!({
        "cluster": "prod", "node": "node-1", "network": "super-net",
        "token": {"boot_id": BOOT, "boottime_ns": seconds * SECOND}, "valid": valid,
    })
}

#[tokio::test]
async fn what_two_lists_do_not_name_is_freed_with_evidence() {
    let api = Api::start().await;
    for container in ["c1", "c2"] {
        let mut request = allocate(container);
        request["token"] = json!({"boot_id": BOOT, "boottime_ns": 100 * SECOND});
        api.addresses(&request).await;
    }
    let valid = json!([{"container_id": "c1", "ifname": "net1"}]);
    let first = api.must_post("/v1/gc", &list(200, &valid)).await;
    assert_eq!(first, json!({"released": 0, "suspect": 1}));
    let too_soon = api.must_post("/v1/gc", &list(259, &valid)).await;
    assert_eq!(too_soon, json!({"released": 0, "suspect": 1}));
    let second = api.must_post("/v1/gc", &list(260, &valid)).await;
    assert_eq!(second["released"], 1);
    let holds = api.must_get("/v1/holds").await;
    assert_eq!(holds["holds"].as_array().unwrap().len(), 1);
    assert_eq!(holds["holds"][0]["attachment"]["container_id"], "c1");
    let events = api
        .must_get("/v1/events?space=prod&address=10.10.3.2")
        .await;
    let payload = &events["events"][1]["payload"];
    assert_eq!(payload["reason"], "gc");
    assert_eq!(payload["evidence"]["grace_seconds"], 60);
}

#[tokio::test]
async fn a_list_says_nothing_about_younger_holds_and_other_nodes() {
    let api = Api::start().await;
    let mut younger = allocate("c1");
    younger["token"] = json!({"boot_id": BOOT, "boottime_ns": 300 * SECOND});
    api.addresses(&younger).await;
    let mut elsewhere = allocate("c2");
    elsewhere["owner"]["node"] = json!("node-2");
    api.addresses(&elsewhere).await;
    let answer = api.must_post("/v1/gc", &list(200, &json!([]))).await;
    assert_eq!(answer, json!({"released": 0, "suspect": 0}));
}

#[tokio::test]
async fn what_could_not_be_freed_is_told_beside_what_was() {
    let api = Api::start().await;
    for container in ["c1", "c2"] {
        api.addresses(&allocate(container)).await;
    }
    api.must_post("/v1/gc", &list(200, &json!([]))).await;
    let sql = api.sql().await;
    sql.run(
        "create function refuse() returns trigger language plpgsql as \
         'begin raise exception ''refused by the test''; end'; \
         create trigger refused before insert on ipledger.events for each row \
         when (new.ip = '10.10.3.1') execute function refuse()",
    )
    .await;
    let answer = api.must_post("/v1/gc", &list(260, &json!([]))).await;
    assert_eq!(
        (&answer["released"], &answer["failed"]),
        (&json!(1), &json!(1))
    );
    let error = &answer["errors"][0];
    assert_eq!(error["about"], "10.10.3.1 of prod, step 0");
    assert_eq!(error["code"], "internal");
}

/// Two runtimes of one node share the definition, and the list of each is partial.
#[tokio::test]
async fn g6_lists_of_two_runtimes_by_turns_free_nothing() {
    let api = Api::start().await;
    for container in ["c1", "c2"] {
        api.addresses(&allocate(container)).await;
    }
    for turn in 0..6 {
        let container = ["c1", "c2"][turn % 2];
        let valid = json!([{"container_id": container, "ifname": "net1"}]);
        let seconds = 200 + 40 * u64::try_from(turn).unwrap();
        let answer = api.must_post("/v1/gc", &list(seconds, &valid)).await;
        assert_eq!(answer, json!({"released": 0, "suspect": 1}));
    }
}

/// libcni sends a DEL for each attachment that it knows to be stale, and then the list.
#[tokio::test]
async fn g9_a_del_and_then_the_list_are_one_release() {
    let api = Api::start().await;
    for container in ["c1", "c2"] {
        api.addresses(&allocate(container)).await;
    }
    let valid = json!([{"container_id": "c1", "ifname": "net1"}]);
    api.must_post("/v1/gc", &list(200, &valid)).await;
    api.must_post("/v1/release", &release("c2")).await;
    let answer = api.must_post("/v1/gc", &list(260, &valid)).await;
    assert_eq!(answer, json!({"released": 0, "suspect": 0}));
    let events = api
        .must_get("/v1/events?space=prod&address=10.10.3.2")
        .await;
    assert_eq!(events["events"].as_array().unwrap().len(), 2);
}
