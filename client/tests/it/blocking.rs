use std::os::unix::net::UnixListener;
use std::time::{Duration, Instant};

use ipledger_client::blocking::{ApiAddress, Budget, Client, ClientError};
use ipledger_client::types::{AllocateRequest, Attachment, ProblemCode, ReleaseRequest};

use crate::server::{Do, Server, answer, problem, read_request, start};

const ALLOCATED: &str = r#"{"addresses":[{"address":"10.10.3.30","prefix_length":24,"space":"prod",
    "pool":"10.10.3.0/24","step":0,"seq":1}],"repeated":false,"dry_run":false,"epoch":1}"#;
const RELEASED: &str = r#"{"released":[],"stale":false,"epoch":1}"#;

fn attachment() -> Attachment {
    Attachment {
        cluster: "prod".into(),
        network: "super-net".into(),
        container_id: "c1".into(),
        ifname: "net 1&x".into(),
    }
}

fn allocate_request() -> AllocateRequest {
    let body = serde_json::json!({ "attachment": attachment(), "ranges": [] });
    serde_json::from_value(body).unwrap()
}

fn release_request() -> ReleaseRequest {
    serde_json::from_value(serde_json::json!({ "attachment": attachment() })).unwrap()
}

fn client(servers: &[&Server]) -> Client {
    let addresses: Vec<_> = servers
        .iter()
        .map(|server| ApiAddress::Tcp(server.address))
        .collect();
    Client::new(&addresses, Some("secret-token"), "ipledger/0.1.0").unwrap()
}

fn budget(milliseconds: u64) -> Budget {
    Budget::within(Duration::from_millis(milliseconds))
}

/// An address on which nothing listens: no server of these tests, and none that a machine has,
/// takes port 1 of this loopback address.
fn nobody() -> ApiAddress {
    "http://127.255.0.1:1".parse().unwrap()
}

#[test]
fn a_request_carries_everything_and_the_answer_is_typed() {
    let server = start(vec![answer(200, ALLOCATED)]);
    let mut client = client(&[&server]);
    client.add_header("Traceparent", "00-1-2-01").unwrap();
    let response = client.allocate(&allocate_request(), budget(5_000)).unwrap();
    assert_eq!(response.addresses[0].address, "10.10.3.30");
    let sent = &server.requests()[0];
    let (head, body) = sent.split_once("\r\n\r\n").unwrap();
    assert!(
        head.starts_with("POST /v1/allocate HTTP/1.1\r\nHost: 127.0.0.1:"),
        "{head}"
    );
    for line in [
        "Authorization: Bearer secret-token",
        "User-Agent: ipledger/0.1.0",
        "Traceparent: 00-1-2-01",
        "Content-Type: application/json",
        "Connection: close",
    ] {
        assert!(head.lines().any(|sent| sent == line), "{line} in {head}");
    }
    let body: AllocateRequest = serde_json::from_str(body).unwrap();
    let deadline = body.deadline_ms.unwrap();
    assert!((1..=5_000).contains(&deadline), "{deadline}");
}

#[test]
fn lookup_encodes_its_key_and_reads_not_found_as_nothing_held() {
    let server = start(vec![
        answer(
            200,
            &ALLOCATED.replace("\"repeated\":false", "\"repeated\":true"),
        ),
        problem(ProblemCode::NotFound),
    ]);
    let client = client(&[&server]);
    assert!(
        client
            .lookup(&attachment(), budget(5_000))
            .unwrap()
            .unwrap()
            .repeated
    );
    assert_eq!(client.lookup(&attachment(), budget(5_000)).unwrap(), None);
    assert!(server.requests()[0].starts_with(
        "GET /v1/attachments?cluster=prod&network=super%2Dnet&container_id=c1&ifname=net%201%26x "
    ));
}

#[test]
fn a_dead_address_is_passed_over() {
    let server = start(vec![answer(200, RELEASED)]);
    let addresses = [nobody(), ApiAddress::Tcp(server.address)];
    let client = Client::new(&addresses, None, "test").unwrap();
    let started = Instant::now();
    client.release(&release_request(), budget(5_000)).unwrap();
    assert!(started.elapsed() < Duration::from_secs(2));
}

#[test]
fn a_request_that_nobody_took_is_known_not_to_be_applied() {
    let client = Client::new(&[nobody()], None, "test").unwrap();
    let error = client.release(&release_request(), budget(300)).unwrap_err();
    assert_eq!(
        (error.kind(), error.outcome_unknown()),
        ("unreachable", false)
    );
    assert!(
        error.to_string().ends_with(": Connection refused"),
        "{error}"
    );
}

#[test]
fn an_answer_that_never_came_is_asked_for_again() {
    for fault in [
        Do::Cut,
        Do::Say("HTTP/1.1 200 OK\r\nContent-Le".into()),
        answer(502, "<html>"),
    ] {
        let server = start(vec![fault, answer(200, ALLOCATED)]);
        let response = client(&[&server])
            .allocate(&allocate_request(), budget(5_000))
            .unwrap();
        assert_eq!(response.addresses.len(), 1);
        assert_eq!(server.requests().len(), 2);
    }
}

#[test]
fn a_server_that_hangs_ends_at_the_deadline_with_an_unknown_outcome() {
    let server = start(vec![Do::Hang]);
    let started = Instant::now();
    let error = client(&[&server])
        .allocate(&allocate_request(), budget(300))
        .unwrap_err();
    assert!(
        started.elapsed() < Duration::from_secs(2),
        "{:?}",
        started.elapsed()
    );
    assert_eq!((error.kind(), error.outcome_unknown()), ("no_answer", true));
    let reading = client(&[&server]).ready(budget(100)).unwrap_err();
    assert_eq!(
        (reading.kind(), reading.outcome_unknown()),
        ("no_answer", false)
    );
}

#[test]
fn temporary_refusals_are_repeated_and_others_are_final() {
    for code in ProblemCode::ALL.iter().copied() {
        let server = start(vec![problem(code), answer(200, RELEASED)]);
        let result = client(&[&server]).release(&release_request(), budget(5_000));
        if code.status() == 503 {
            result.unwrap();
            continue;
        }
        match result.unwrap_err() {
            ClientError::Problem(problem) => assert_eq!(problem.code, code),
            other => panic!("{code:?}: {other}"),
        }
        assert_eq!(server.requests().len(), 1, "{code:?}");
    }
}

#[test]
fn one_round_asks_each_address_once() {
    let servers = [
        start(vec![problem(ProblemCode::Overloaded)]),
        start(vec![Do::Cut]),
    ];
    let client = client(&[&servers[0], &servers[1]]);
    let error = client
        .release(&release_request(), budget(5_000).one_round())
        .unwrap_err();
    assert!(error.outcome_unknown(), "{error}");
    assert!(
        error.to_string().contains("says overloaded; http://"),
        "{error}"
    );
    assert_eq!(servers.map(|server| server.requests().len()), [1, 1]);
}

#[test]
fn an_overload_that_lasts_is_reported_as_the_problem_it_is() {
    let server = start(vec![problem(ProblemCode::Overloaded)]);
    let error = client(&[&server])
        .release(&release_request(), budget(300))
        .unwrap_err();
    assert_eq!(
        (error.kind(), error.outcome_unknown()),
        ("overloaded", false)
    );
    let server = start(vec![problem(ProblemCode::OutcomeUnknown)]);
    let error = client(&[&server])
        .release(&release_request(), budget(300))
        .unwrap_err();
    assert!(error.outcome_unknown());
}

#[test]
fn a_stranger_on_the_port_is_named_at_once() {
    for (said, reason) in [
        (
            Do::Say("SSH-2.0-OpenSSH_9.2\r\n".into()),
            "not HTTP/1.1 (invalid HTTP version)",
        ),
        (
            answer(404, "nginx"),
            "HTTP status 404 without a problem body",
        ),
        (
            answer(200, "{}"),
            "the answer is not what this API sends: missing field `released`",
        ),
    ] {
        let server = start(vec![said]);
        let error = client(&[&server])
            .release(&release_request(), budget(5_000))
            .unwrap_err();
        assert_eq!(error.kind(), "protocol");
        assert!(error.to_string().contains(reason), "{error}");
        assert_eq!(server.requests().len(), 1);
    }
}

#[test]
fn a_stranger_beside_the_api_does_no_harm() {
    let stranger = start(vec![answer(404, "nginx")]);
    let server = start(vec![answer(200, RELEASED)]);
    let client = client(&[&stranger, &server]);
    client.release(&release_request(), budget(5_000)).unwrap();
    client.release(&release_request(), budget(5_000)).unwrap();
    assert_eq!(
        stranger.requests().len(),
        1,
        "the address that answered is asked first"
    );
}

#[test]
fn unix_sockets_are_spoken_and_a_full_backlog_does_not_hang() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("api.sock");
    let listener = UnixListener::bind(&path).unwrap();
    let address: ApiAddress = format!("unix://{}", path.display()).parse().unwrap();
    let client = Client::new(&[address], None, "test").unwrap();
    let server = std::thread::spawn(move || {
        let (mut connection, _) = listener.accept().unwrap();
        let request = read_request(&mut connection);
        let Do::Say(text) = answer(200, RELEASED) else {
            unreachable!("answer() says")
        };
        std::io::Write::write_all(&mut connection, text.as_bytes()).unwrap();
        (request, listener)
    });
    client.release(&release_request(), budget(5_000)).unwrap();
    let (request, listener) = server.join().unwrap();
    assert!(request.contains("\r\nHost: localhost\r\n"), "{request}");

    rustix::net::listen(&listener, 0).unwrap();
    let _waiting = std::os::unix::net::UnixStream::connect(&path).unwrap();
    let started = Instant::now();
    let error = client
        .release(&release_request(), budget(300).one_round())
        .unwrap_err();
    assert!(
        started.elapsed() < Duration::from_secs(2),
        "{:?}",
        started.elapsed()
    );
    assert_eq!(error.kind(), "unreachable", "{error}");
}

#[test]
fn a_token_that_no_header_can_carry_is_refused_without_being_shown() {
    for token in ["", "two\nlines", "söcret"] {
        let error = Client::new(&[nobody()], Some(token), "test")
            .unwrap_err()
            .to_string();
        assert_eq!(
            error,
            "the value for the HTTP header Authorization is empty or not printable ASCII"
        );
    }
}
