//! Waiting over HTTP: wake-ups and changes, with two replicas on one database.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::{Answer, Api, Target, allocate, allocate_from, exchange, wait_until};

fn full() -> Value {
    json!([{"range": "10.10.3.0/24", "range_start": "10.10.3.30", "range_end": "10.10.3.30"}])
}

/// A GET that goes on beside the test.
fn ask(target: Target, path: &str) -> tokio::task::JoinHandle<Answer> {
    let path = path.to_owned();
    tokio::spawn(async move { exchange(&target, "GET", &path, &[], "").await })
}

/// So many requests have no answer yet, beside this one.
async fn in_flight(api: &Api, target: &Target, count: usize) {
    let line = format!("ipledger_http_requests_in_flight {}", count + 1);
    wait_until("requests wait", async || {
        let metrics = exchange(target, "GET", "/metrics", &[], "").await;
        metrics.text.lines().any(|found| found == line)
    })
    .await;
    // It is accepted, and has looked at what there is.
    let sql = api.sql().await;
    let looked = "select count(*) from pg_stat_activity where datname = current_database() \
        and query like '%wakeup_head%' and pid <> pg_backend_pid()";
    wait_until("they have looked", async || sql.number(looked).await > 0).await;
}

#[tokio::test]
async fn a_full_range_wakes_whoever_waits_at_any_replica() {
    let api = Api::start().await;
    let replica = api.replica().await;
    api.addresses(&allocate_from("c1", &full())).await;
    let path = "/v1/wakeups?cluster=prod&after=0&wait_seconds=60";
    let waiters = [ask(api.target(), path), ask(replica.target(), path)];
    in_flight(&api, &api.target(), 1).await;
    in_flight(&api, &replica.target(), 1).await;
    let answer = api
        .post("/v1/allocate", &allocate_from("c2", &full()))
        .await;
    assert_eq!(answer.problem(), (507, "exhausted".to_owned()));
    for waiter in waiters {
        let page = waiter.await.unwrap();
        assert_eq!(page.status, 200, "{}", page.text);
        let page = page.json();
        let mut wakeup = page["wakeups"][0].clone();
        assert!(wakeup["at"].as_str().unwrap().ends_with('Z'));
        wakeup.as_object_mut().unwrap().remove("at");
        let expected = json!({
            "id": 1, "space": "prod", "cidr": "10.10.3.0/24",
            "first": "10.10.3.30", "last": "10.10.3.30", "reason": "exhausted",
        });
        assert_eq!((wakeup, &page["next"]), (expected, &json!(1)));
    }

    let mut fixed = allocate("c3");
    fixed["ips"] = json!(["10.10.3.30"]);
    let answer = api.post("/v1/allocate", &fixed).await;
    assert_eq!(answer.problem(), (409, "address_taken".to_owned()));
    let path = "/v1/wakeups?cluster=prod&after=1&wait_seconds=60";
    let page = ask(replica.target(), path).await.unwrap().json();
    let wakeup = &page["wakeups"][0];
    assert_eq!(wakeup["reason"], "address_taken");
    assert_eq!(wakeup["address"], "10.10.3.30");
}

#[tokio::test]
async fn without_news_the_answer_is_empty_when_the_time_is_over() {
    let api = Api::start().await;
    api.addresses(&allocate("c1")).await;
    let began = Instant::now();
    let page = api
        .must_get("/v1/wakeups?cluster=prod&wait_seconds=1")
        .await;
    assert_eq!(page, json!({"wakeups": [], "next": 0}));
    assert!(began.elapsed() >= Duration::from_secs(1));
    let heads = api.must_get("/v1/changes?cluster=prod").await;
    let since = heads["next"].as_str().unwrap();
    let path = format!("/v1/changes?cluster=prod&since={since}&wait_seconds=1");
    let same = api.must_get(&path).await;
    assert_eq!(same["changed"], false);
    assert_eq!(
        (&same["heads"], &same["next"]),
        (&heads["heads"], &heads["next"])
    );
    assert!(began.elapsed() >= Duration::from_secs(2));
}

#[tokio::test]
async fn changes_are_told_with_the_heads_of_the_cluster_s_spaces() {
    let api = Api::start().await;
    let replica = api.replica().await;
    api.addresses(&allocate("c1")).await;
    let known = api.must_get("/v1/changes?cluster=prod").await;
    assert_eq!(known["changed"], true);
    assert_eq!(
        known["heads"],
        json!([{"space": "prod", "seq": 1, "epoch": 1}])
    );
    let since = known["next"].as_str().unwrap();
    let path = format!("/v1/changes?cluster=prod&since={since}&wait_seconds=60");
    let waiters = [ask(api.target(), &path), ask(replica.target(), &path)];
    in_flight(&api, &api.target(), 1).await;
    in_flight(&api, &replica.target(), 1).await;
    api.addresses(&allocate("c2")).await;
    for waiter in waiters {
        let changes = waiter.await.unwrap().json();
        assert_eq!(changes["changed"], true);
        assert_eq!(
            changes["heads"],
            json!([{"space": "prod", "seq": 2, "epoch": 1}])
        );
        assert_ne!(changes["next"], known["next"]);
    }
}

#[tokio::test]
async fn a_stop_answers_whoever_waits() {
    let api = Api::start().await;
    api.addresses(&allocate("c1")).await;
    let waiter = ask(api.target(), "/v1/wakeups?cluster=prod&wait_seconds=60");
    in_flight(&api, &api.target(), 1).await;
    let began = Instant::now();
    let target = api.target();
    let database = api.ended().await;
    assert!(
        began.elapsed() < Duration::from_secs(20),
        "nobody is waited for"
    );
    let page = waiter.await.unwrap();
    assert_eq!(
        (page.status, page.json()["next"].as_u64()),
        (200, Some(0)),
        "{target:?}"
    );
    drop(database);
}

#[tokio::test]
async fn what_cannot_be_meant_is_refused_by_its_name() {
    let api = Api::start().await;
    let other = api.must_get("/v1/changes?cluster=test").await;
    let other = other["next"].as_str().unwrap();
    let foreign = format!("/v1/changes?cluster=prod&since={other}");
    for (path, key, value) in [
        ("/v1/wakeups", "cluster", None),
        ("/v1/wakeups?cluster=A", "cluster", Some("A")),
        ("/v1/wakeups?cluster=prod&after=-1", "after", Some("-1")),
        (
            "/v1/wakeups?cluster=prod&after=9223372036854775808",
            "after",
            Some("9223372036854775808"),
        ),
        (
            "/v1/wakeups?cluster=prod&wait_seconds=61",
            "wait_seconds",
            Some("61"),
        ),
        (
            "/v1/wakeups?cluster=prod&wait_seconds=1.5",
            "wait_seconds",
            Some("1.5"),
        ),
        ("/v1/changes", "cluster", None),
        ("/v1/changes?cluster=prod&since=x", "since", Some("x")),
        ("/v1/changes?cluster=prod&cursor=x", "cursor", Some("x")),
        (&foreign, "since", Some(other)),
    ] {
        let answer = api.get(path).await;
        assert_eq!(
            answer.problem(),
            (400, "invalid_request".to_owned()),
            "{path}"
        );
        let body = answer.json();
        assert_eq!(
            (body["key"].as_str(), body["value"].as_str()),
            (Some(key), value),
            "{path}"
        );
    }
}
