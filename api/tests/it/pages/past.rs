//! The past on the map is the past of the holds.

use std::collections::BTreeSet;

use serde_json::json;

use super::{POOL, must_browse, some_history};
use crate::support::{Api, allocate_from, release};

/// Addresses in that state, of the rows of a pool.
fn in_state(csv: &str, state: &str) -> BTreeSet<String> {
    let rows = csv.lines().skip(1);
    rows.filter(|row| row.split(',').nth(1) == Some(state))
        .map(|row| row.split(',').next().unwrap().to_owned())
        .collect()
}

#[tokio::test]
async fn at_every_recorded_moment_the_map_has_the_holds_of_that_moment() {
    let api = Api::start().await;
    some_history(&api).await;
    let events = api.must_get("/v1/events?space=prod").await;
    for event in events["events"].as_array().unwrap() {
        let at = event["recorded_at"].as_str().unwrap();
        let csv = must_browse(&api, &format!("{POOL}&at={at}&csv=addresses")).await;
        let holds = api
            .must_get(&format!("/v1/holds?space=prod&at={at}&range=10.10.3.0/24"))
            .await;
        let held: BTreeSet<String> = holds["holds"]
            .as_array()
            .unwrap()
            .iter()
            .map(|hold| hold["address"].as_str().unwrap().to_owned())
            .collect();
        assert_eq!(in_state(&csv, "held"), held, "{at}: {csv}");
    }
    let before = "2000-01-01T00:00:00Z";
    let page = must_browse(&api, &format!("{POOL}&at={before}")).await;
    assert!(
        page.contains("Position <b>0</b>") && !page.contains("held by"),
        "{page}"
    );
}

#[tokio::test]
async fn what_rested_at_a_past_moment_is_shown_so_although_it_is_held_again() {
    let api = Api::start().await;
    let mut first = allocate_from("first", &json!([{"range": "10.10.3.7-10.10.3.7/24"}]));
    first["cooldown_seconds"] = json!(3600);
    api.must_post("/v1/allocate", &first).await;
    let released = api.must_post("/v1/release", &release("first")).await;
    let at = released["released"][0]["recorded_at"]
        .as_str()
        .unwrap()
        .to_owned();
    // The same pod comes back: the rest is waived for it.
    let mut again = first.clone();
    again["attachment"]["container_id"] = json!("second");
    api.must_post("/v1/allocate", &again).await;
    let now = must_browse(&api, &format!("{POOL}&csv=addresses")).await;
    assert_eq!(in_state(&now, "held").len(), 1, "{now}");
    let then = must_browse(&api, &format!("{POOL}&at={at}&csv=addresses")).await;
    assert_eq!(in_state(&then, "cooling down").len(), 1, "{then}");
}

#[tokio::test]
async fn parts_of_a_large_pool_count_what_was_then() {
    let api = Api::start().await;
    let large = json!([{"range": "10.20.0.0/16"}]);
    for container in ["a", "b", "c"] {
        let mut request = allocate_from(container, &large);
        request["cooldown_seconds"] = json!(3600);
        api.must_post("/v1/allocate", &request).await;
    }
    let released = api.must_post("/v1/release", &release("b")).await;
    let at = released["released"][0]["recorded_at"]
        .as_str()
        .unwrap()
        .to_owned();
    let mut again = allocate_from("b2", &large);
    again["owner"] = allocate_from("b", &large)["owner"].clone();
    again["ips"] = json!(["10.20.0.2"]);
    api.must_post("/v1/allocate", &again).await;
    let pool = "/pool?space=prod&cidr=10.20.0.0/16&csv=parts";
    let now = must_browse(&api, pool).await;
    assert_eq!(now.lines().nth(1), Some("10.20.0.0/24,3,0,3,256,1 %"));
    let then = must_browse(&api, &format!("{pool}&at={at}")).await;
    assert_eq!(then.lines().nth(1), Some("10.20.0.0/24,2,1,3,256,< 1 %"));
}
