//! The ledger, row by row.

use serde_json::Value;

use crate::support::{Api, allocate, release};

#[tokio::test]
async fn events_come_in_order_and_each_carries_the_hash_of_the_one_before() {
    let api = Api::start().await;
    for container in ["c1", "c2", "c3"] {
        api.addresses(&allocate(container)).await;
    }
    api.must_post("/v1/release", &release("c2")).await;
    let mut events: Vec<Value> = Vec::new();
    let mut path = "/v1/events?space=prod&limit=2".to_owned();
    loop {
        let page = api.must_get(&path).await;
        events.extend(page["events"].as_array().unwrap().iter().cloned());
        match page["next"].as_str() {
            Some(next) => path = format!("/v1/events?space=prod&limit=2&cursor={next}"),
            None => break,
        }
    }
    let told: Vec<String> = events
        .iter()
        .map(|event| {
            format!(
                "{} {} {} {}",
                event["seq"], event["kind"], event["address"], event["step"]
            )
        })
        .collect();
    assert_eq!(
        told,
        [
            r#"1 "allocated" "10.10.3.1" 0"#,
            r#"2 "allocated" "10.10.3.2" 0"#,
            r#"3 "allocated" "10.10.3.3" 0"#,
            r#"4 "released" "10.10.3.2" 1"#,
        ]
    );
    assert_eq!(events[0]["previous_hash"], "0".repeat(64));
    for pair in events.windows(2) {
        assert_eq!(pair[1]["previous_hash"], pair[0]["hash"]);
    }
}

#[tokio::test]
async fn a_reader_goes_on_behind_the_position_it_knows() {
    let api = Api::start().await;
    for container in ["c1", "c2", "c3", "c4"] {
        api.addresses(&allocate(container)).await;
    }
    let seqs = |page: &Value| -> Vec<u64> {
        let events = page["events"].as_array().unwrap();
        events.iter().map(|e| e["seq"].as_u64().unwrap()).collect()
    };
    let path = "/v1/events?space=prod&after=1&limit=2";
    let page = api.must_get(path).await;
    assert_eq!(seqs(&page), [2, 3]);
    let next = page["next"].as_str().unwrap();
    let page = api.must_get(&format!("{path}&cursor={next}")).await;
    assert_eq!((seqs(&page), page["next"].as_str()), (vec![4], None));
    let page = api.must_get("/v1/events?space=prod&after=4").await;
    assert!(seqs(&page).is_empty());
    // A position that is not there yet is not an error: the reader waits for it.
    let page = api
        .must_get("/v1/events?space=prod&after=18446744073709551615")
        .await;
    assert!(seqs(&page).is_empty());
}

#[tokio::test]
async fn an_address_has_a_history() {
    let api = Api::start().await;
    for container in ["c1", "c2"] {
        api.addresses(&allocate(container)).await;
        api.must_post("/v1/release", &release(container)).await;
    }
    let history = api
        .must_get("/v1/events?space=prod&address=10.10.3.1")
        .await;
    let steps: Vec<u64> = history["events"]
        .as_array()
        .unwrap()
        .iter()
        .map(|event| event["step"].as_u64().unwrap())
        .collect();
    assert_eq!(steps, [0, 1, 2, 3]);
    let never = api
        .must_get("/v1/events?space=prod&address=10.10.3.99")
        .await;
    assert_eq!(never["events"].as_array().unwrap().len(), 0);
    assert_eq!(never["next"], Value::Null);
}
