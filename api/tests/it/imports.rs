//! Holds that another address manager made.

use serde_json::{Value, json};

use crate::support::{Api, allocate, release};

fn import(container: &str, address: &str) -> Value {
    json!({
        "cluster": "prod", "range": "10.10.3.0/24", "address": address,
        "container_id": container, "ifname": "net1",
        "owner": {"namespace": "default", "name": format!("pod-{container}")},
        "evidence": {"object": "ippools/10.10.3.0-24", "resource_version": "4711"},
    })
}

#[tokio::test]
async fn an_import_is_recorded_once_and_never_revived() {
    let api = Api::start().await;
    let first = api
        .must_post("/v1/holds/import", &import("c1", "10.10.3.9"))
        .await;
    assert_eq!(first, json!({"outcome": "imported", "step": 0, "seq": 1}));
    let again = api
        .must_post("/v1/holds/import", &import("c1", "10.10.3.9"))
        .await;
    assert_eq!(again, json!({"outcome": "held", "step": 0, "seq": 1}));
    let freed = api.must_post("/v1/release", &release("c1")).await;
    assert_eq!(
        freed["released"][0]["address"], "10.10.3.9",
        "found without its network"
    );
    let ended = api
        .must_post("/v1/holds/import", &import("c1", "10.10.3.9"))
        .await;
    assert_eq!(ended["outcome"], "ended");
    assert_eq!(api.must_get("/v1/holds").await["holds"], json!([]));
}

#[tokio::test]
async fn an_address_of_another_is_not_imported() {
    let api = Api::start().await;
    api.addresses(&allocate("c1")).await;
    let answer = api
        .post("/v1/holds/import", &import("c2", "10.10.3.1"))
        .await;
    assert_eq!(answer.problem(), (409, "address_taken".to_owned()));
    assert_eq!(answer.json()["key"], "address");
    assert_eq!(answer.json()["holder"]["pod"], "default/pod-c1");
    assert!(answer.detail().starts_with(
        "address \"10.10.3.1\" is held (step 0 of space prod, event 1) by default/pod-c1 net1"
    ));
}

#[tokio::test]
async fn what_the_source_did_not_say_is_marked() {
    let api = Api::start().await;
    let mut request = import("c1", "10.10.3.9");
    request.as_object_mut().unwrap().remove("ifname");
    api.must_post("/v1/holds/import", &request).await;
    let events = api.must_get("/v1/events?space=prod").await;
    let payload = &events["events"][0]["payload"];
    assert_eq!(
        payload["inferred"],
        json!(["network", "ifname", "owner.uid", "owner.node"])
    );
    assert_eq!(payload["evidence"]["resource_version"], "4711");
}
