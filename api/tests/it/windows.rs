//! Pools, windows and the check of ranges.

use serde_json::{Value, json};

use crate::support::{Api, allocate_from, release};

fn sum(counts: &Value) -> (u128, u128) {
    let number = |key: &str| counts[key].as_str().unwrap().parse::<u128>().unwrap();
    let parts = number("held") + number("cooling") + number("reserved") + number("free");
    (parts, number("capacity"))
}

/// Two windows of one pool, a second pool, and an IPv6 pool; one address rests.
async fn filled() -> Api {
    let api = Api::start().await;
    let half = json!([{"range": "10.10.3.0/24", "range_end": "10.10.3.127"}]);
    let whole = json!([{"range": "10.10.3.0/24", "exclude": ["10.10.3.5"]}]);
    for (container, ranges) in [
        ("c1", half.clone()),
        ("c2", whole),
        ("c3", json!([{"range": "10.10.4.0/30"}])),
        ("c4", json!([{"range": "fd00:3::/64"}])),
    ] {
        api.addresses(&allocate_from(container, &ranges)).await;
    }
    let mut resting = allocate_from("c5", &half);
    resting["cooldown_seconds"] = json!(3000);
    api.addresses(&resting).await;
    api.must_post("/v1/release", &release("c5")).await;
    api
}

#[tokio::test]
async fn counts_sum_to_the_capacity() {
    let api = filled().await;
    let page = api.must_get("/v1/windows?space=prod").await;
    let windows = page["windows"].as_array().unwrap();
    assert_eq!(windows.len(), 4);
    for window in windows {
        let (parts, capacity) = sum(&window["counts"]);
        assert_eq!(parts, capacity, "{window}");
    }
    assert_eq!(
        windows[0],
        json!({
            "space": "prod", "pool": "10.10.3.0/24", "start": "10.10.3.1", "end": "10.10.3.127",
            "exclude": [], "counts": {
                "capacity": "127", "held": "2", "cooling": "1", "reserved": "0", "free": "124"},
        })
    );
    assert_eq!(windows[1]["exclude"], json!(["10.10.3.5"]));
    assert_eq!(windows[3]["counts"]["capacity"], "18446744073709551614");
    assert_eq!(page["as_of"], json!({"prod": 6}));
}

#[tokio::test]
async fn pools_hold_their_windows_and_come_in_pages() {
    let api = filled().await;
    let mut seen = Vec::new();
    let mut path = "/v1/pools?limit=1".to_owned();
    loop {
        let page = api.must_get(&path).await;
        let pool = &page["pools"][0];
        let windows = pool["windows"].as_array().unwrap().len();
        seen.push((pool["cidr"].as_str().unwrap().to_owned(), windows));
        match page["next"].as_str() {
            Some(next) => path = format!("/v1/pools?limit=1&cursor={next}"),
            None => break,
        }
    }
    let expected = [("10.10.3.0/24", 2), ("10.10.4.0/30", 1), ("fd00:3::/64", 1)];
    assert_eq!(
        seen,
        expected.map(|(cidr, windows)| (cidr.to_owned(), windows))
    );
}

#[tokio::test]
async fn windows_come_in_pages() {
    let api = filled().await;
    let whole = api.must_get("/v1/windows").await;
    let first = api.must_get("/v1/windows?limit=3").await;
    let next = first["next"].as_str().unwrap();
    let second = api
        .must_get(&format!("/v1/windows?limit=3&cursor={next}"))
        .await;
    let pages = [&first, &second].map(|page| page["windows"].as_array().unwrap().clone());
    assert_eq!(json!(pages.concat()), whole["windows"]);
    assert_eq!(second["next"], Value::Null);
    assert_eq!(whole["next"], Value::Null);
}

#[tokio::test]
async fn ranges_are_checked_without_being_recorded() {
    let api = filled().await;
    let check = |ranges: Value| json!({"cluster": "prod", "ranges": ranges});
    let free = api
        .must_post(
            "/v1/ranges/check",
            &check(json!([{"range": "10.10.9.0/24"}])),
        )
        .await;
    assert_eq!(free["servable"], true);
    assert_eq!(free["windows"][0]["counts"]["free"], "254");
    let full = json!([{"range": "10.10.9.0/24"},
        {"range": "10.10.4.0/30", "range_start": "10.10.4.1", "range_end": "10.10.4.1"}]);
    let full = api.must_post("/v1/ranges/check", &check(full)).await;
    assert_eq!(full["servable"], false);
    assert_eq!(full["windows"][1]["counts"]["held"], "1");
    let pools = api.must_get("/v1/pools").await;
    assert_eq!(
        pools["pools"].as_array().unwrap().len(),
        3,
        "the check left no pool behind"
    );
}

#[tokio::test]
async fn ranges_of_a_cluster_nobody_knows_are_free() {
    let api = Api::start().await;
    let request = json!({"cluster": "new", "ranges": [{"range": "10.0.0.0/8"}]});
    let answer = api.must_post("/v1/ranges/check", &request).await;
    assert_eq!(answer["servable"], true);
    assert_eq!(answer["windows"][0]["space"], "new");
    assert_eq!(api.must_get("/v1/spaces").await, json!({"spaces": []}));
}
