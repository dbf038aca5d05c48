//! Serving on a unix socket.

use embedded_postgres::testing::TestDatabase;
use ipledger_api::serve;
use ipledger_api::{ListenAddress, Listener, ServeConfig};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::support::{Target, allocate, exchange, open_ledger, outside};

#[tokio::test]
async fn a_peer_on_a_unix_socket_is_recorded_by_its_user() {
    let database = TestDatabase::create().await;
    ledger::migrate(&database.url()).await.unwrap();
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("api.sock");
    let listener = Listener::bind(&ListenAddress::Unix(path.clone()))
        .await
        .unwrap();
    let ledger = open_ledger(&database, |_| {}).await;
    let stop = CancellationToken::new();
    let shutdown = stop.clone().cancelled_owned();
    let config = ServeConfig::default();
    let task = tokio::spawn(serve::run(
        config,
        vec![listener],
        ledger,
        outside(),
        shutdown,
    ));

    let target = Target::Unix(path.clone());
    let headers = [
        ("Content-Type", "application/json"),
        ("User-Agent", "ipledger/0.1.0"),
    ];
    let body = allocate("c1").to_string();
    let answer = exchange(&target, "POST", "/v1/allocate", &headers, &body).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    let events = exchange(&target, "GET", "/v1/events?space=prod", &[], "")
        .await
        .json();
    let uid = rustix::process::geteuid().as_raw();
    assert_eq!(
        events["events"][0]["payload"]["actor"],
        json!({"name": "ipledger/0.1.0", "authenticated_by": format!("unix peer uid {uid}")})
    );
    stop.cancel();
    task.await.unwrap();
    assert!(!path.exists(), "the socket file is gone");
}
