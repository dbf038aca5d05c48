use std::os::unix::net::UnixListener;
use std::time::{Duration, Instant};

use ipledger_client::asynchronous::{Client, EventFilter, HoldFilter};
use ipledger_client::types::{ProblemCode, ReleaseHoldRequest};
use ipledger_client::{ApiAddress, Budget, ClientError};
use serde_json::json;

use crate::server::{Do, Server, answer, problem, read_request, start};

const RELEASED: &str = r#"{"released":{"address":"10.10.3.30","space":"prod","step":1,"seq":2,
    "recorded_at":"2026-11-30T00:00:00Z"},"repeated":false,"epoch":1}"#;

fn release_hold() -> ReleaseHoldRequest {
    let body = json!({
        "space": "prod", "address": "10.10.3.30", "step": 0, "reason": "pod_gone", "evidence": {},
    });
    serde_json::from_value(body).unwrap()
}

fn client(servers: &[&Server]) -> Client {
    let addresses: Vec<_> = servers
        .iter()
        .map(|server| ApiAddress::Tcp(server.address))
        .collect();
    Client::new(&addresses, Some("secret-token"), "ipledger-sync/0.1.0").unwrap()
}

fn budget(milliseconds: u64) -> Budget {
    Budget::within(Duration::from_millis(milliseconds))
}

/// An address on which nothing listens: no server of these tests, and none that a machine has,
/// takes port 1 of this loopback address.
fn nobody() -> ApiAddress {
    "http://127.255.0.1:1".parse().unwrap()
}

fn hold(address: &str) -> serde_json::Value {
    json!({
        "space": "prod", "pool": "10.10.3.0/24", "address": address, "step": 0, "seq": 1,
        "recorded_at": "2026-11-30T00:00:00Z", "position": 0,
        "attachment": {
            "cluster": "prod", "network": "n", "container_id": address, "ifname": "net1",
        },
    })
}

fn holds(addresses: &[&str], seq: u64, next: Option<&str>) -> Do {
    let holds: Vec<_> = addresses.iter().map(|address| hold(address)).collect();
    let page = json!({"holds": holds, "as_of": {"prod": seq}, "next": next});
    answer(200, &page.to_string())
}

#[tokio::test]
async fn a_request_carries_everything_and_the_answer_is_typed() {
    let server = start(vec![answer(200, RELEASED)]);
    let client = client(&[&server]);
    let response = client
        .release_hold(&release_hold(), budget(5_000))
        .await
        .unwrap();
    assert_eq!(response.released.step, 1);
    let sent = &server.requests()[0];
    let (head, body) = sent.split_once("\r\n\r\n").unwrap();
    let head = head.to_lowercase();
    assert!(head.starts_with("post /v1/holds/release http/1.1\r\n"));
    for line in [
        "authorization: bearer secret-token",
        "user-agent: ipledger-sync/0.1.0",
        "content-type: application/json",
    ] {
        assert!(head.lines().any(|sent| sent == line), "{line} in {head}");
    }
    let body: ReleaseHoldRequest = serde_json::from_str(body).unwrap();
    assert!((1..=5_000).contains(&body.deadline_ms.unwrap()));
    assert!(!format!("{client:?}").contains("secret-token"));
}

#[tokio::test]
async fn the_next_address_is_asked_when_one_is_away_cuts_or_is_busy() {
    let cutting = start(vec![Do::Cut]);
    let busy = start(vec![problem(ProblemCode::Overloaded)]);
    let good = start(vec![answer(200, RELEASED)]);
    let mut addresses = vec![nobody()];
    addresses.extend([&cutting, &busy, &good].map(|server| ApiAddress::Tcp(server.address)));
    let client = Client::new(&addresses, None, "test").unwrap();
    let once = budget(5_000).one_round();
    client.release_hold(&release_hold(), once).await.unwrap();
    // Whoever answered is asked first from now on.
    client.release_hold(&release_hold(), once).await.unwrap();
    assert_eq!(busy.requests().len(), 1);
    assert_eq!(good.requests().len(), 2);
}

#[tokio::test]
async fn a_request_is_repeated_while_the_api_cannot_serve() {
    let server = start(vec![
        problem(ProblemCode::DatabaseUnavailable),
        Do::Cut,
        answer(200, RELEASED),
    ]);
    let client = client(&[&server]);
    client
        .release_hold(&release_hold(), budget(10_000))
        .await
        .unwrap();
    assert_eq!(server.requests().len(), 3);
}

#[tokio::test]
async fn a_refusal_is_final_and_typed() {
    let server = start(vec![problem(ProblemCode::StepMismatch)]);
    let error = client(&[&server])
        .release_hold(&release_hold(), budget(5_000))
        .await
        .unwrap_err();
    assert_eq!(error.kind(), "step_mismatch");
    assert!(!error.outcome_unknown());
    assert_eq!(server.requests().len(), 1);
}

#[tokio::test]
async fn the_end_of_the_time_says_what_is_known() {
    let unreachable = Client::new(&[nobody()], None, "test").unwrap();
    let error = unreachable
        .release_hold(&release_hold(), budget(300))
        .await
        .unwrap_err();
    assert_eq!(error.kind(), "unreachable");
    assert!(error.to_string().contains("Connection refused"), "{error}");

    let hanging = start(vec![Do::Hang]);
    let start_of_call = Instant::now();
    let error = client(&[&hanging])
        .release_hold(&release_hold(), budget(300))
        .await
        .unwrap_err();
    assert!(start_of_call.elapsed() < Duration::from_secs(5));
    assert_eq!(error.kind(), "no_answer");
    assert!(error.outcome_unknown());
}

#[tokio::test]
async fn something_else_than_the_api_is_named() {
    for strange in [answer(404, "<html>"), answer(200, "<html>")] {
        let server = start(vec![strange]);
        let error = client(&[&server]).spaces(budget(5_000)).await.unwrap_err();
        assert!(matches!(error, ClientError::Protocol { .. }), "{error}");
        assert!(error.to_string().contains("127.0.0.1"), "{error}");
    }
}

#[tokio::test]
async fn all_pages_of_one_reading_are_read() {
    let server = start(vec![
        holds(&["10.10.3.1", "10.10.3.2"], 9, Some("a b")),
        holds(&["10.10.3.3"], 9, None),
    ]);
    let filter = HoldFilter {
        cluster: Some("prod".to_owned()),
        ..HoldFilter::default()
    };
    let reading = client(&[&server])
        .holds(&filter, budget(5_000))
        .await
        .unwrap();
    let addresses: Vec<_> = reading.holds.iter().map(|hold| &hold.address).collect();
    assert_eq!(addresses, ["10.10.3.1", "10.10.3.2", "10.10.3.3"]);
    assert_eq!(reading.as_of["prod"], 9);
    let requests = server.requests();
    assert!(requests[0].starts_with("GET /v1/holds?cluster=prod&limit=5000 "));
    assert!(requests[1].starts_with("GET /v1/holds?cluster=prod&limit=5000&cursor=a%20b "));
}

#[tokio::test]
async fn pages_of_two_readings_are_refused() {
    let server = start(vec![
        holds(&["10.10.3.1"], 9, Some("x")),
        holds(&["10.10.3.3"], 10, None),
    ]);
    let reading = client(&[&server])
        .holds(&HoldFilter::default(), budget(5_000))
        .await;
    let error = reading.unwrap_err().to_string();
    assert!(error.contains("prod at two positions"), "{error}");
}

#[tokio::test]
async fn an_endless_list_ends_with_the_budget() {
    let server = start(vec![answer(200, r#"{"events":[],"next":"again"}"#)]);
    let filter = EventFilter {
        space: "prod/blue".to_owned(),
        after: 7,
        ..EventFilter::default()
    };
    let events = client(&[&server]).events(&filter, budget(300)).await;
    assert!(events.is_err());
    let first = &server.requests()[0];
    assert!(
        first.starts_with("GET /v1/events?space=prod%2Fblue&after=7&limit=500 "),
        "{first}"
    );
}

#[tokio::test]
async fn a_long_poll_outlives_the_usual_attempt() {
    let server = start(vec![answer(200, r#"{"wakeups":[],"next":3}"#)]);
    let page = client(&[&server])
        .wakeups("prod", 3, Duration::from_secs(25))
        .await
        .unwrap();
    assert_eq!(page.next, 3);
    let first = &server.requests()[0];
    assert!(
        first.starts_with("GET /v1/wakeups?cluster=prod&wait_seconds=25&after=3 "),
        "{first}"
    );
}

#[tokio::test]
async fn unix_sockets_are_spoken_to() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("api.sock");
    let listener = UnixListener::bind(&path).unwrap();
    let server = std::thread::spawn(move || {
        let (mut connection, _) = listener.accept().unwrap();
        let request = read_request(&mut connection);
        let page = r#"{"spaces":[]}"#;
        let length = page.len();
        let text = format!(
            "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n{page}"
        );
        std::io::Write::write_all(&mut connection, text.as_bytes()).unwrap();
        request
    });
    let client = Client::new(&[ApiAddress::Unix(path)], None, "test").unwrap();
    assert!(client.spaces(budget(5_000)).await.unwrap().is_empty());
    assert!(server.join().unwrap().starts_with("GET /v1/spaces?limit="));
}
