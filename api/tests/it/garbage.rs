//! CNI GC: two lists, a grace apart, free what neither names.

use serde_json::{Value, json};

use crate::support::{Api, allocate};

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
