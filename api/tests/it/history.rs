//! History: of whom, in which order, page by page, and as of when.

use serde_json::{Value, json};

use crate::support::{Api, allocate, exchange, release};

/// An allocate by a pod of a StatefulSet: the name stays, UID and sandbox are new each time.
fn reborn(container: &str, uid: &str) -> Value {
    let mut request = allocate(container);
    request["owner"] = json!({
        "namespace": "default", "name": "web-0", "uid": uid, "node": "node-7",
    });
    request
}

/// `web-0` lives twice, with another pod in between on the same address.
async fn two_lives(api: &Api) {
    for (container, request) in [
        ("c1", reborn("c1", "uid-1")),
        ("other", allocate("other")),
        ("c2", reborn("c2", "uid-2")),
    ] {
        api.addresses(&request).await;
        api.must_post("/v1/release", &release(container)).await;
    }
}

fn seqs(page: &Value) -> Vec<u64> {
    let events = page["events"].as_array().unwrap();
    events.iter().map(|e| e["seq"].as_u64().unwrap()).collect()
}

#[tokio::test]
async fn each_subject_has_its_own_history() {
    let api = Api::start().await;
    two_lives(&api).await;
    for (query, expected) in [
        ("address=10.10.3.1", vec![1, 2, 3, 4, 5, 6]),
        ("namespace=default&pod=web-0", vec![1, 2, 5, 6]),
        ("namespace=default&pod=web-0&cluster=prod", vec![1, 2, 5, 6]),
        ("namespace=default&pod=web-0&order=newest", vec![6, 5, 2, 1]),
        ("namespace=default&pod=web-0&cluster=elsewhere", vec![]),
        ("pod_uid=uid-1", vec![1, 2]),
        ("pod_uid=uid-2", vec![5, 6]),
        ("node=node-7", vec![1, 2, 5, 6]),
        ("node=node-1", vec![3, 4]),
        ("container_id=other", vec![3, 4]),
        ("network=super-net", vec![1, 2, 3, 4, 5, 6]),
        ("network=super-net&space=prod", vec![1, 2, 3, 4, 5, 6]),
        ("pod_uid=nobody", vec![]),
    ] {
        let page = api.must_get(&format!("/v1/history?{query}")).await;
        assert_eq!(seqs(&page), expected, "{query}");
        assert_eq!(page["next"], Value::Null, "{query}");
    }
}

#[tokio::test]
async fn pages_of_a_history_join_without_a_gap_or_a_repeat_in_both_orders() {
    let api = Api::start().await;
    two_lives(&api).await;
    for subject in ["address=10.10.3.1", "network=super-net"] {
        for order in ["oldest", "newest"] {
            let query = format!("/v1/history?{subject}&order={order}&limit=2");
            let (mut path, mut all) = (query.clone(), Vec::new());
            loop {
                let page = api.must_get(&path).await;
                all.extend(seqs(&page));
                let Some(next) = page["next"].as_str() else {
                    break;
                };
                path = format!("{query}&cursor={next}");
            }
            if order == "newest" {
                all.reverse();
            }
            assert_eq!(all, [1, 2, 3, 4, 5, 6], "{query}");
        }
    }
}

#[tokio::test]
async fn a_cursor_of_another_query_is_refused_naming_it() {
    let api = Api::start().await;
    two_lives(&api).await;
    let page = api.must_get("/v1/history?node=node-7&limit=1").await;
    let next = page["next"].as_str().unwrap();
    for (path, expected) in [
        (
            "/v1/history?node=node-1&limit=1",
            "belongs to another query, with node \"node-7\"",
        ),
        (
            "/v1/history?node=node-7&order=newest",
            "belongs to another query, without order",
        ),
        ("/v1/events?space=prod", "belongs to the list of history"),
    ] {
        let answer = api.get(&format!("{path}&cursor={next}")).await;
        assert_eq!(answer.problem(), (400, "invalid_request".to_owned()));
        assert!(answer.detail().ends_with(expected), "{}", answer.detail());
    }
}

#[tokio::test]
async fn an_event_is_told_in_full_and_on_two_time_axes() {
    let api = Api::start().await;
    let mut request = allocate("c1");
    request["claimed_at"] = json!("2020-02-02T02:02:02Z");
    api.addresses(&request).await;
    let evidence = json!({"phase": "gone", "resource_version": "4711"});
    let end = json!({
        "space": "prod", "address": "10.10.3.1", "step": 0, "reason": "pod gone",
        "evidence": evidence,
    });
    api.must_post("/v1/holds/release", &end).await;
    let page = api.must_get("/v1/history?address=10.10.3.1").await;
    let [begun, ended] = page["events"].as_array().unwrap().as_slice() else {
        panic!("{page}");
    };
    assert_eq!(begun["claimed_at"], "2020-02-02T02:02:02.000000Z");
    assert!(begun["recorded_at"].as_str().unwrap() > "2026");
    let decision = &begun["payload"]["decision"];
    assert_eq!(decision["window"]["cidr"], "10.10.3.0/24");
    assert_eq!(
        (&decision["held"], &decision["rule"]),
        (&json!(0), &json!("lowest_free"))
    );
    assert_eq!(begun["predecessor_seq"], Value::Null);
    assert_eq!(ended["predecessor_seq"], 1);
    assert_eq!(ended["previous_hash"], begun["hash"]);
    assert_eq!(ended["claimed_at"], Value::Null);
    assert_eq!(ended["payload"]["reason"], "pod gone");
    assert_eq!(ended["payload"]["evidence"], evidence);
    assert_eq!(ended["payload"]["ended"]["owner"]["name"], "pod-c1");
    assert!(ended["payload"]["actor"]["name"].is_string());
}

#[tokio::test]
async fn holds_and_differences_are_told_as_of_a_time_or_a_position() {
    let api = Api::start().await;
    two_lives(&api).await;
    api.addresses(&reborn("c3", "uid-3")).await;
    let events = api.must_get("/v1/events?space=prod").await;
    let time = |seq: usize| {
        let at = events["events"][seq - 1]["recorded_at"].as_str();
        at.unwrap().to_owned()
    };
    for (seq, holder) in [
        (1, Some("c1")),
        (2, None),
        (3, Some("other")),
        (5, Some("c2")),
    ] {
        for path in [
            format!("/v1/holds?at={}", time(seq)),
            format!("/v1/holds?space=prod&as_of={seq}"),
            format!("/v1/holds?at={}&range=10.10.0.0/16", time(seq)),
        ] {
            let page = api.must_get(&path).await;
            let found = page["holds"][0]["attachment"]["container_id"].as_str();
            assert_eq!(found, holder, "{path}");
        }
    }
    let elsewhere = api.must_get("/v1/holds?range=10.10.4.0/24").await;
    assert_eq!(elsewhere["holds"], json!([]));
    for path in [
        format!("/v1/diff?from={}&to={}", time(1), time(5)),
        "/v1/diff?from=1&to=5&space=prod".to_owned(),
    ] {
        let page = api.must_get(&path).await;
        let changes = page["changes"].as_array().unwrap();
        assert_eq!(changes.len(), 1, "{path}");
        let side = |side: &str| changes[0][side]["attachment"]["container_id"].clone();
        assert_eq!((side("before"), side("after")), (json!("c1"), json!("c2")));
        assert_eq!(
            (&page["from"]["prod"], &page["to"]["prod"]),
            (&json!(1), &json!(5))
        );
    }
    // Free at both moments: no change, whatever happened in between.
    let page = api.must_get("/v1/diff?from=2&to=4&space=prod").await;
    assert_eq!(page["changes"], json!([]));
    let page = api.must_get("/v1/diff?from=6&space=prod").await;
    assert_eq!(page["changes"][0]["before"], Value::Null);
    assert_eq!(page["changes"][0]["after"]["owner"]["uid"], "uid-3");
}

#[tokio::test]
async fn lists_are_written_as_json_csv_or_lines_and_not_sent_twice() {
    let api = Api::start().await;
    two_lives(&api).await;
    let path = "/v1/history?address=10.10.3.1&limit=2";
    let get =
        async |headers: &[(&str, &str)]| exchange(&api.target(), "GET", path, headers, "").await;
    let csv = get(&[("Accept", "text/csv")]).await;
    let content_type = csv.header("content-type").unwrap();
    assert_eq!(content_type, "text/csv; charset=utf-8; header=present");
    let lines: Vec<&str> = csv.text.split("\r\n").collect();
    assert!(lines[0].starts_with("space,seq,recorded_at,claimed_at,address,step,kind,reason"));
    assert!(lines[1].starts_with("prod,1,20"), "{}", lines[1]);
    assert_eq!(lines.len(), 4);
    let rows = get(&[("Accept", "application/x-ndjson")]).await;
    let seqs: Vec<u64> = rows
        .text
        .lines()
        .map(|line| {
            serde_json::from_str::<Value>(line).unwrap()["seq"]
                .as_u64()
                .unwrap()
        })
        .collect();
    assert_eq!(seqs, [1, 2]);
    let json = get(&[]).await;
    for other in [&csv, &rows] {
        assert_eq!(
            other.header("x-ipledger-next"),
            json.json()["next"].as_str()
        );
        assert_ne!(other.header("etag"), json.header("etag"));
    }
    let tag = json.header("etag").unwrap();
    let known = get(&[("If-None-Match", tag)]).await;
    assert_eq!((known.status, known.text.as_str()), (304, ""));
    assert_eq!(known.header("etag"), Some(tag));
}

#[tokio::test]
async fn what_cannot_be_meant_is_refused_with_the_key() {
    let api = Api::start().await;
    for (path, key, end) in [
        ("/v1/history", "address", "a history is about one of them"),
        ("/v1/history?pod=web-0", "namespace", "namespace is missing"),
        ("/v1/history?namespace=default", "pod", "pod is missing"),
        (
            "/v1/history?address=10.0.0.300",
            "address",
            "is not an IP address",
        ),
        (
            "/v1/history?address=10.0.0.1&node=n",
            "node",
            "about one of them",
        ),
        (
            "/v1/history?node=n&order=up",
            "order",
            "is neither \"oldest\" nor \"newest\"",
        ),
        (
            "/v1/history?node=n&since=yesterday",
            "since",
            "2026-01-31T07:42:00Z",
        ),
        (
            "/v1/history?node=n&cursor=x",
            "cursor",
            "is not a cursor of this service",
        ),
        ("/v1/diff?from=5", "space", "space is missing"),
        ("/v1/diff?from=noon", "from", "2026-01-31T07:42:00Z"),
        ("/v1/holds?at=noon", "at", "2026-01-31T07:42:00Z"),
        ("/v1/holds?range=10.0.0.0/33", "range", ""),
        (
            "/v1/holds?space=prod&as_of=1&at=2026-01-31T07:42:00Z",
            "at",
            "one of them",
        ),
    ] {
        let answer = api.get(path).await;
        assert_eq!(answer.problem().0, 400, "{path}");
        assert_eq!(answer.json()["key"], key, "{path}");
        assert!(answer.detail().contains(end), "{path}: {}", answer.detail());
    }
    for path in [
        "/v1/history?node=n&space=nowhere",
        "/v1/diff?from=1&space=nowhere",
    ] {
        let answer = api.get(path).await;
        assert_eq!(answer.problem().0, 404, "{path}: {}", answer.text);
    }
}
