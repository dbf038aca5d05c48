//! Lists of holds: filters, readings as of a position, and pages that never tear.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::support::{Api, allocate, allocate_from, release};

/// Ten holds, 10.10.3.1 to 10.10.3.10.
async fn ten_holds() -> Api {
    let api = Api::start().await;
    for index in 1..=10 {
        api.addresses(&allocate(&format!("c{index}"))).await;
    }
    api
}

fn addresses(page: &Value) -> Vec<String> {
    let holds = page["holds"].as_array().unwrap();
    holds
        .iter()
        .map(|hold| hold["address"].as_str().unwrap().to_owned())
        .collect()
}

/// Follows the cursors to the end.
async fn all_pages(api: &Api, path: &str, between: impl AsyncFn()) -> Vec<Value> {
    let mut pages = vec![api.must_get(path).await];
    while let Some(next) = pages.last().unwrap()["next"].as_str().map(str::to_owned) {
        between().await;
        pages.push(api.must_get(&format!("{path}&cursor={next}")).await);
    }
    pages
}

#[tokio::test]
async fn a_hold_is_shown_in_full() {
    let api = Api::start().await;
    let made = api.must_post("/v1/allocate", &allocate("c1")).await;
    let page = api.must_get("/v1/holds?space=prod").await;
    let expected = json!({
        "holds": [{
            "space": "prod", "pool": "10.10.3.0/24", "address": "10.10.3.1", "step": 0, "seq": 1,
            "recorded_at": made["addresses"][0]["recorded_at"], "position": 0,
            "attachment": allocate("c1")["attachment"],
            "owner": allocate("c1")["owner"],
        }],
        "as_of": {"prod": 1},
    });
    assert_eq!(page, expected);
}

#[tokio::test]
async fn pages_of_one_reading_do_not_tear() {
    let api = ten_holds().await;
    let before = addresses(&api.must_get("/v1/holds").await);
    let pages = all_pages(&api, "/v1/holds?limit=3", async || {
        // Frees one behind the reader and one before it, and takes one anew.
        for container in ["c1", "c10"] {
            api.must_post("/v1/release", &release(container)).await;
        }
        let other = json!([{"range": "10.10.2.0/24"}]);
        api.post("/v1/allocate", &allocate_from("c99", &other))
            .await;
    })
    .await;
    assert_eq!(pages.len(), 4);
    let seen: Vec<String> = pages.iter().flat_map(addresses).collect();
    assert_eq!(seen, before);
    let positions: BTreeSet<String> = pages.iter().map(|page| page["as_of"].to_string()).collect();
    assert_eq!(positions.len(), 1, "{positions:?}");
    let now = addresses(&api.must_get("/v1/holds").await);
    assert_ne!(now, before, "the list had changed meanwhile");
}

#[tokio::test]
async fn a_reading_goes_over_all_spaces_in_order() {
    let api = Api::start().await;
    for (container, network_name) in [("c1", "zeta"), ("c2", "alpha"), ("c3", "alpha")] {
        let mut request = allocate(container);
        request["network_name"] = json!(network_name);
        api.addresses(&request).await;
    }
    api.addresses(&allocate("c4")).await;
    let pages = all_pages(&api, "/v1/holds?limit=1", async || {}).await;
    let seen: Vec<String> = pages
        .iter()
        .map(|page| {
            format!(
                "{} {}",
                page["holds"][0]["space"], page["holds"][0]["address"]
            )
        })
        .collect();
    assert_eq!(
        seen,
        [
            r#""prod" "10.10.3.1""#,
            r#""prod/alpha" "10.10.3.1""#,
            r#""prod/alpha" "10.10.3.2""#,
            r#""prod/zeta" "10.10.3.1""#,
        ]
    );
}

#[tokio::test]
async fn the_past_can_be_read() {
    let api = ten_holds().await;
    for container in ["c3", "c4"] {
        api.must_post("/v1/release", &release(container)).await;
    }
    let then = api.must_get("/v1/holds?space=prod&as_of=4").await;
    assert_eq!(
        addresses(&then),
        ["10.10.3.1", "10.10.3.2", "10.10.3.3", "10.10.3.4"]
    );
    assert_eq!(then["as_of"], json!({"prod": 4}));
    let nothing = api.must_get("/v1/holds?space=prod&as_of=0").await;
    assert_eq!(addresses(&nothing), [""; 0]);
    let now = api.must_get("/v1/holds?space=prod").await;
    assert_eq!(now["as_of"], json!({"prod": 12}));
    assert_eq!(addresses(&now).len(), 8);
}

#[tokio::test]
async fn filters_narrow_the_list() {
    let api = ten_holds().await;
    let mut other = allocate("x1");
    other["owner"] = json!({"namespace": "kube-system", "name": "dns", "node": "node-2"});
    other["attachment"]["cluster"] = json!("dev");
    other["attachment"]["network"] = json!("other-net");
    api.addresses(&other).await;
    for filter in [
        "space=dev",
        "cluster=dev",
        "network=other-net",
        "namespace=kube-system",
        "pod=dns",
        "node=node-2",
        "container_id=x1",
        "cluster=dev&node=node-2&address=10.10.3.1",
    ] {
        let page = api.must_get(&format!("/v1/holds?{filter}")).await;
        assert_eq!(
            page["holds"].as_array().unwrap().len(),
            1,
            "{filter}: {page}"
        );
        assert_eq!(
            page["holds"][0]["attachment"]["container_id"], "x1",
            "{filter}"
        );
    }
    let by_uid = api.must_get("/v1/holds?pod_uid=uid-c7").await;
    assert_eq!(addresses(&by_uid), ["10.10.3.7"]);
    assert_eq!(
        addresses(&api.must_get("/v1/holds?node=node-9").await),
        [""; 0]
    );
}

#[tokio::test]
async fn a_cursor_belongs_to_its_query() {
    let api = ten_holds().await;
    let page = api.must_get("/v1/holds?node=node-1&limit=3").await;
    let cursor = page["next"].as_str().unwrap();
    for (path, expected) in [
        (
            "/v1/holds?node=node-2",
            "belongs to another query, with node \"node-1\"",
        ),
        (
            "/v1/holds?",
            "belongs to another query, with node \"node-1\"",
        ),
        (
            "/v1/holds?node=node-1&space=prod",
            "belongs to another query, without space",
        ),
        ("/v1/events?space=prod", "belongs to the list of holds"),
        ("/v1/spaces?", "belongs to the list of holds"),
    ] {
        let answer = api.get(&format!("{path}&cursor={cursor}")).await;
        assert_eq!(
            answer.problem(),
            (400, "invalid_request".to_owned()),
            "{path}"
        );
        assert_eq!(answer.json()["key"], "cursor");
        assert!(
            answer.detail().ends_with(expected),
            "{path}: {}",
            answer.detail()
        );
    }
    let longer = api
        .must_get(&format!("/v1/holds?node=node-1&limit=100&cursor={cursor}"))
        .await;
    assert_eq!(addresses(&longer).len(), 7, "the limit may change");
    assert_eq!(longer["next"], Value::Null);
}
