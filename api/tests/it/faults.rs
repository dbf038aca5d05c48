//! The database away, and outcomes that nobody knows.

use std::path::Path;

use embedded_postgres::{Binaries, Cluster, Settings};
use rustix::process::Signal;
use serde_json::json;

use crate::support::{
    Api, Process, Sql, Target, allocate, directory, exchange, free_port, open, wait_until,
};

/// A cluster that only this test uses, so that it may stop it.
async fn cluster(dir: &Path) -> Cluster {
    let binaries = Binaries::find(None).unwrap();
    Cluster::start(&binaries, Settings::throwaway(dir.join("data")))
        .await
        .unwrap()
}

#[tokio::test]
async fn without_a_database_requests_are_told_to_come_back_and_then_served() {
    let dir = directory();
    let postgres = cluster(dir.path()).await;
    Sql::connect(&postgres.url("postgres"))
        .await
        .run("create database away")
        .await;
    ledger::migrate(&postgres.url("away")).await.unwrap();
    let (url, port) = (postgres.url_as("away_app", "away"), free_port());
    let listen = format!("127.0.0.1:{port}");
    let arguments = [
        "serve",
        "--database-url",
        url.as_str(),
        "--listen",
        listen.as_str(),
    ];
    let mut process = Process::start(dir.path(), &arguments, &[]);
    let target = Target::Tcp(([127, 0, 0, 1], port).into());
    wait_until("it listens", async || open(&target).await.is_ok()).await;
    let get = async |path: &str| exchange(&target, "GET", path, &[], "").await;
    let headers = [("Content-Type", "application/json")];
    let add = async |container: &str| {
        let mut body = allocate(container);
        body["deadline_ms"] = json!(2000);
        exchange(&target, "POST", "/v1/allocate", &headers, &body.to_string()).await
    };
    assert_eq!(add("c1").await.status, 200);

    postgres.stop().await.unwrap();
    // The first to notice may have been on its way.
    let (status, code) = add("c2").await.problem();
    assert_eq!(status, 503);
    assert!(
        matches!(code.as_str(), "outcome_unknown" | "database_unavailable"),
        "{code}"
    );
    let answer = add("c2").await;
    assert_eq!(answer.problem(), (503, "database_unavailable".to_owned()));
    assert!(
        !answer.text.contains("socket"),
        "no words of the driver: {}",
        answer.text
    );
    assert_eq!(
        get("/readyz").await.problem(),
        (503, "database_unavailable".to_owned())
    );
    assert_eq!(get("/v1/spaces").await.problem().1, "database_unavailable");
    assert_eq!(get("/healthz").await.status, 200);
    assert_eq!(get("/metrics").await.status, 200);

    let postgres = cluster(dir.path()).await;
    wait_until("it is ready again", async || {
        get("/readyz").await.status == 200
    })
    .await;
    assert_eq!(add("c2").await.status, 200);
    let holds = get("/v1/holds").await.json();
    assert_eq!(holds["holds"].as_array().unwrap().len(), 2);
    process.signal(Signal::TERM);
    assert_eq!(process.ended().await.code(), Some(0));
    postgres.stop().await.unwrap();
}

#[tokio::test]
async fn a_connection_lost_in_the_middle_is_not_the_callers_problem() {
    let api = Api::start().await;
    api.addresses(&allocate("c1")).await;
    let sql = api.sql().await;
    sql.block_appends().await;
    let target = api.target();
    let body = allocate("c2").to_string();
    let asked = tokio::spawn(async move {
        let headers = [("Content-Type", "application/json")];
        exchange(&target, "POST", "/v1/allocate", &headers, &body).await
    });
    sql.append_waits().await;
    sql.cut(api.database.name()).await;
    sql.let_go().await;
    let answer = asked.await.unwrap();
    assert_eq!(answer.status, 200, "{}", answer.text);
    assert_eq!(answer.json()["addresses"][0]["address"], "10.10.3.2");
    let holds = api.must_get("/v1/holds").await;
    assert_eq!(
        holds["holds"].as_array().unwrap().len(),
        2,
        "once, not twice"
    );
}

#[tokio::test]
async fn a_deadline_that_passes_while_it_is_written_is_an_unknown_outcome() {
    let api = Api::start().await;
    api.addresses(&allocate("c1")).await;
    let sql = api.sql().await;
    sql.block_appends().await;
    let mut request = allocate("c2");
    request["deadline_ms"] = json!(200);
    let answer = api.post("/v1/allocate", &request).await;
    assert_eq!(answer.problem(), (503, "outcome_unknown".to_owned()));
    sql.let_go().await;
    request["deadline_ms"] = json!(20_000);
    assert_eq!(api.addresses(&request).await, ["10.10.3.2"]);
}
