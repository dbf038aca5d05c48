//! Stopping without leaving anybody unanswered.

use std::time::Duration;

use ipledger_api::ServeConfig;

use crate::support::{Answer, Api, Target, allocate, exchange, open, wait_until};

fn ask(target: &Target, container: &str) -> tokio::task::JoinHandle<Answer> {
    let (target, body) = (target.clone(), allocate(container).to_string());
    tokio::spawn(async move {
        let headers = [("Content-Type", "application/json")];
        exchange(&target, "POST", "/v1/allocate", &headers, &body).await
    })
}

#[tokio::test]
async fn everything_accepted_is_answered_and_nothing_new_is() {
    let api = Api::start().await;
    api.addresses(&allocate("c0")).await;
    let sql = api.sql().await;
    sql.block_appends().await;
    let target = api.target();
    let asked: Vec<_> = (1..=5)
        .map(|index| ask(&target, &format!("c{index}")))
        .collect();
    let in_flight = "ipledger_http_requests_in_flight 6";
    wait_until("all five have arrived", async || {
        api.get("/metrics").await.text.contains(in_flight)
    })
    .await;
    api.begin_stop();
    wait_until("no new connection", async || open(&target).await.is_err()).await;
    sql.let_go().await;
    for task in asked {
        assert_eq!(task.await.unwrap().status, 200);
    }
    let database = api.ended().await;
    let holds = "select count(*) from ipledger.addresses where step % 2 = 0";
    assert_eq!(sql.number(holds).await, 6, "what was answered is there");
    drop(database);
}

#[tokio::test]
async fn an_idle_connection_does_not_hold_the_shutdown_up() {
    let api = Api::start().await;
    let mut idle = open(&api.target()).await.unwrap();
    let request = "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n";
    tokio::io::AsyncWriteExt::write_all(&mut idle, request.as_bytes())
        .await
        .unwrap();
    let answer = crate::support::read_answer(&mut idle).await.unwrap();
    assert_eq!(answer.status, 200);
    tokio::time::timeout(Duration::from_secs(10), api.ended())
        .await
        .expect("it ends soon");
}

#[tokio::test]
async fn the_drain_time_bounds_the_wait() {
    let config = ServeConfig {
        drain_time: Duration::from_millis(200),
        ..ServeConfig::default()
    };
    let api = Api::start_with(config, |_| {}).await;
    let mut slow = open(&api.target()).await.unwrap();
    let head = "POST /v1/allocate HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n\
                Content-Length: 100\r\n\r\n";
    tokio::io::AsyncWriteExt::write_all(&mut slow, head.as_bytes())
        .await
        .unwrap();
    let in_flight = "ipledger_http_requests_in_flight 2";
    wait_until("it has arrived", async || {
        api.get("/metrics").await.text.contains(in_flight)
    })
    .await;
    tokio::time::timeout(Duration::from_secs(10), api.ended())
        .await
        .expect("it ends in time");
    assert!(
        crate::support::read_answer(&mut slow).await.is_none(),
        "nobody waits for its body"
    );
}
