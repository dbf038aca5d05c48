//! Release by attachment, and by address and step.

use serde_json::{Value, json};

use crate::support::{Api, allocate, release};

fn end_hold(step: u32) -> Value {
    json!({
        "space": "prod", "address": "10.10.3.1", "step": step, "reason": "node gone",
        "evidence": {"node": "node-1", "seen": 3}, "claimed_at": "2026-01-31T07:42:00Z",
    })
}

#[tokio::test]
async fn a_release_frees_what_the_attachment_holds_and_its_repeat_is_a_success() {
    let api = Api::start().await;
    api.addresses(&allocate("c1")).await;
    api.addresses(&allocate("c2")).await;
    let freed = api.must_post("/v1/release", &release("c1")).await;
    assert_eq!(freed["stale"], false);
    assert_eq!(freed["released"].as_array().unwrap().len(), 1);
    let released = &freed["released"][0];
    assert_eq!(
        (&released["address"], &released["step"]),
        (&json!("10.10.3.1"), &json!(1))
    );
    let repeat = api.must_post("/v1/release", &release("c1")).await;
    assert_eq!(repeat["released"], json!([]));
    let left = api.must_get("/v1/holds").await;
    assert_eq!(left["holds"][0]["attachment"]["container_id"], "c2");
    assert_eq!(left["holds"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn a_release_that_was_overtaken_changes_nothing() {
    let api = Api::start().await;
    let token = |boottime_ns: u64| json!({"boot_id": "8f5c1f0e-6a53-4f0e-9d0b-0123456789ab", "boottime_ns": boottime_ns});
    let mut add = allocate("c1");
    add["token"] = token(200);
    api.addresses(&add).await;
    let mut del = release("c1");
    del["token"] = token(100);
    del["owner"] = add["owner"].clone();
    let answer = api.must_post("/v1/release", &del).await;
    assert_eq!(
        (&answer["stale"], &answer["released"]),
        (&json!(true), &json!([]))
    );
    assert_eq!(
        api.must_get("/v1/holds").await["holds"]
            .as_array()
            .unwrap()
            .len(),
        1
    );
}

#[tokio::test]
async fn one_hold_is_ended_by_address_and_step_with_its_evidence() {
    let api = Api::start().await;
    api.addresses(&allocate("c1")).await;
    let ended = api.must_post("/v1/holds/release", &end_hold(0)).await;
    assert_eq!(
        (&ended["repeated"], &ended["released"]["step"]),
        (&json!(false), &json!(1))
    );
    let repeat = api.must_post("/v1/holds/release", &end_hold(0)).await;
    assert_eq!(repeat["repeated"], true);
    assert_eq!(repeat["released"], ended["released"]);

    let events = api
        .must_get("/v1/events?space=prod&address=10.10.3.1")
        .await;
    let event = &events["events"][1];
    assert_eq!(event["kind"], "released");
    assert_eq!(event["payload"]["reason"], "node gone");
    assert_eq!(
        event["payload"]["evidence"],
        json!({"node": "node-1", "seen": 3})
    );
    assert_eq!(
        event["payload"]["claimed_at_us"],
        json!(1_769_845_320_000_000_i64)
    );
    assert_eq!(
        events["events"].as_array().unwrap().len(),
        2,
        "the repeat appended nothing"
    );
}

#[tokio::test]
async fn a_late_release_never_touches_the_next_hold() {
    let api = Api::start().await;
    api.addresses(&allocate("c1")).await;
    api.must_post("/v1/release", &release("c1")).await;
    api.addresses(&allocate("c2")).await;
    let answer = api.post("/v1/holds/release", &end_hold(0)).await;
    assert_eq!(answer.problem(), (409, "step_mismatch".to_owned()));
    let body = answer.json();
    assert_eq!(
        (&body["key"], &body["value"]),
        (&json!("step"), &json!("0"))
    );
    assert_eq!(answer.detail(), "step: 10.10.3.1 is at step 2, not at 0");
    let holds = api.must_get("/v1/holds").await;
    assert_eq!(holds["holds"][0]["attachment"]["container_id"], "c2");
}

#[tokio::test]
async fn a_hold_that_never_was_is_a_step_mismatch() {
    let api = Api::start().await;
    api.addresses(&allocate("c1")).await;
    let mut request = end_hold(0);
    request["address"] = json!("10.10.3.77");
    let answer = api.post("/v1/holds/release", &request).await;
    assert_eq!(answer.problem(), (409, "step_mismatch".to_owned()));
    assert!(answer.detail().contains("never used"), "{}", answer.text);
}
