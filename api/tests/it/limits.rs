//! Limits of size, time and number.

use std::time::Duration;

use ipledger_api::ServeConfig;
use serde_json::json;
use tokio::io::AsyncWriteExt as _;

use crate::support::{Api, allocate, exchange, open, read_answer, wait_until};

const HEAD: &str = "POST /v1/allocate HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n";

fn short() -> ServeConfig {
    ServeConfig {
        body_limit_bytes: 1000,
        header_time: Duration::from_millis(300),
        request_time: Duration::from_millis(300),
        ..ServeConfig::default()
    }
}

#[tokio::test]
async fn a_body_that_says_it_is_too_large_is_refused_unread() {
    let api = Api::start_with(short(), |_| {}).await;
    let mut stream = open(&api.target()).await.unwrap();
    let head = format!("{HEAD}Content-Length: 1001\r\n\r\n");
    stream.write_all(head.as_bytes()).await.unwrap();
    let answer = read_answer(&mut stream).await.unwrap();
    assert_eq!(answer.problem(), (413, "body_too_large".to_owned()));
    assert_eq!(
        answer.detail(),
        "body of 1001 bytes is longer than the limit of 1000 bytes"
    );
}

#[tokio::test]
async fn a_body_that_does_not_say_its_size_is_cut_off_at_the_limit() {
    let api = Api::start_with(short(), |_| {}).await;
    let mut stream = open(&api.target()).await.unwrap();
    let chunk = format!("200\r\n{}\r\n", " ".repeat(0x200));
    let request = format!("{HEAD}Transfer-Encoding: chunked\r\n\r\n{chunk}{chunk}");
    stream.write_all(request.as_bytes()).await.unwrap();
    let answer = read_answer(&mut stream).await.unwrap();
    assert_eq!(answer.problem(), (413, "body_too_large".to_owned()));
}

#[tokio::test]
async fn a_body_in_pieces_is_read() {
    let api = Api::start().await;
    let body = allocate("c1").to_string();
    let (one, two) = body.split_at(40);
    let chunk = |text: &str| format!("{:x}\r\n{text}\r\n", text.len());
    let request = format!(
        "{HEAD}Transfer-Encoding: chunked\r\n\r\n{}{}0\r\n\r\n",
        chunk(one),
        chunk(two)
    );
    let mut stream = open(&api.target()).await.unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    assert_eq!(read_answer(&mut stream).await.unwrap().status, 200);
}

#[tokio::test]
async fn a_body_that_never_comes_is_given_up() {
    let api = Api::start_with(short(), |_| {}).await;
    let mut stream = open(&api.target()).await.unwrap();
    let head = format!("{HEAD}Content-Length: 100\r\n\r\n{{");
    stream.write_all(head.as_bytes()).await.unwrap();
    let answer = read_answer(&mut stream).await.unwrap();
    assert_eq!(answer.problem(), (503, "deadline_passed".to_owned()));
    assert_eq!(answer.json()["key"], "body");
}

#[tokio::test]
async fn a_head_that_never_ends_costs_the_connection() {
    let api = Api::start_with(short(), |_| {}).await;
    let mut stream = open(&api.target()).await.unwrap();
    stream.write_all(HEAD.as_bytes()).await.unwrap();
    assert!(
        read_answer(&mut stream)
            .await
            .is_none_or(|answer| answer.status == 408)
    );
}

#[tokio::test]
async fn a_request_whose_deadline_has_passed_is_not_applied() {
    let api = Api::start().await;
    let mut request = allocate("c1");
    request["deadline_ms"] = json!(0);
    let answer = api.post("/v1/allocate", &request).await;
    assert_eq!(answer.problem(), (503, "deadline_passed".to_owned()));
    assert_eq!(api.must_get("/v1/holds").await["holds"], json!([]));
}

#[tokio::test]
async fn too_many_waiting_requests_are_told_to_come_back() {
    let api = Api::start_with(ServeConfig::default(), |store| store.max_waiting = 2).await;
    api.addresses(&allocate("c0")).await;
    let sql = api.sql().await;
    sql.block_appends().await;
    let target = api.target();
    let ask = |index: usize| {
        let (target, body) = (target.clone(), allocate(&format!("w{index}")).to_string());
        tokio::spawn(async move {
            let headers = [("Content-Type", "application/json")];
            exchange(&target, "POST", "/v1/allocate", &headers, &body).await
        })
    };
    // One is being written, two wait, and the rest have no place.
    let first = ask(0);
    sql.append_waits().await;
    let others: Vec<_> = (1..=6).map(ask).collect();
    let refused = async || others.iter().filter(|task| task.is_finished()).count() == 4;
    wait_until("four are refused", refused).await;
    sql.let_go().await;
    let mut answers = vec![first.await.unwrap()];
    for task in others {
        answers.push(task.await.unwrap());
    }
    let count = |status| {
        answers
            .iter()
            .filter(|answer| answer.status == status)
            .count()
    };
    assert_eq!((count(200), count(503)), (3, 4));
    for answer in answers.iter().filter(|answer| answer.status == 503) {
        assert_eq!(answer.problem().1, "overloaded");
        assert_eq!(answer.header("retry-after"), Some("1"));
    }
}

/// Whoever reads needs a place first, and a connection after that; readiness needs neither.
#[tokio::test]
async fn too_many_readers_are_told_to_come_back_and_readiness_is_told_all_the_same() {
    let config = ServeConfig {
        max_reading: 2,
        ..ServeConfig::default()
    };
    let api = Api::start_with(config, |store| store.read_connections = 1).await;
    api.addresses(&allocate("c1")).await;
    let sql = api.sql().await;
    // What readiness asserts is not in the way.
    sql.run("begin; lock table ipledger.suspects in access exclusive mode")
        .await;
    let list = json!({
        "cluster": "prod", "node": "node-1", "network": "super-net", "valid": [],
        "token": {"boot_id": "3f2a55d0-9c1e-4b7d-8a61-0f5e2b94c7d3", "boottime_ns": 1},
    });
    let ask = || {
        let (target, list) = (api.target(), list.to_string());
        let headers = [("Content-Type", "application/json")];
        tokio::spawn(async move { exchange(&target, "POST", "/v1/gc", &headers, &list).await })
    };
    // One is being read, one waits for its connection.
    let reading = [ask(), ask()];
    sql.append_waits().await;
    let refused = async || {
        let answer = api.get("/v1/spaces").await;
        answer.status == 503 && {
            assert_eq!(answer.problem().1, "overloaded");
            assert_eq!(answer.header("retry-after"), Some("1"));
            true
        }
    };
    wait_until("there is no place left", refused).await;
    let ready = api.get("/readyz").await;
    assert_eq!(ready.status, 200, "{}", ready.text);
    sql.let_go().await;
    for reading in reading {
        assert_eq!(reading.await.unwrap().status, 200);
    }
    assert_eq!(api.get("/v1/spaces").await.status, 200);
}
