//! The program from outside: arguments, migrations, serving, signals.

use std::process::{Output, Stdio};

use embedded_postgres::testing::TestDatabase;
use rustix::process::Signal;
use serde_json::json;

use crate::support::{Process, Sql, Target, allocate, exchange, free_port, open, wait_until};

fn run(arguments: &[&str], environment: &[(&str, &str)]) -> Output {
    Process::command(arguments, environment).output().unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn an_address_beyond_loopback_is_refused_in_one_line() {
    let environment = [
        ("IPLEDGER_LISTEN", "0.0.0.0:8311"),
        ("IPLEDGER_DATABASE_URL", "postgres://nowhere"),
    ];
    let output = run(&["serve"], &environment);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(
        stderr(&output),
        "ipledger-api: listen \"0.0.0.0:8311\" can be reached from other machines, and this \
         version cannot tell callers apart; listen on 127.0.0.1, [::1] or unix:/path until \
         authentication can be configured\n"
    );
}

#[test]
fn what_is_missing_is_named() {
    let output = run(&["serve"], &[]);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        stderr(&output).contains("--database-url <URL>"),
        "{}",
        stderr(&output)
    );
    let output = run(
        &["migrate"],
        &[
            ("IPLEDGER_DATABASE_URL", "postgres://x"),
            ("IPLEDGER_LOG", "a=b=c"),
        ],
    );
    assert_eq!(output.status.code(), Some(1));
    assert!(
        stderr(&output).contains("log \"a=b=c\" is not a filter"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn a_service_that_is_away_is_not_healthy() {
    let listen = format!("127.0.0.1:{}", free_port());
    let output = run(&["health"], &[("IPLEDGER_LISTEN", listen.as_str())]);
    assert_eq!(output.status.code(), Some(1));
    let text = stderr(&output);
    let expected = format!("ipledger-api: the service at {listen} is not ready: ");
    assert!(text.starts_with(&expected), "{text}");
    assert_eq!(text.lines().count(), 1, "{text}");
}

#[test]
fn the_document_is_printed() {
    let output = run(&["openapi"], &[]);
    assert!(output.status.success());
    assert_eq!(stdout(&output), ipledger_api::openapi_text());
}

#[test]
fn help_shows_examples_and_no_secret() {
    let output = run(&["--help"], &[]);
    let text = stdout(&output);
    for expected in [
        "serve",
        "migrate",
        "dev",
        "check",
        "health",
        "openapi",
        "Examples:",
        "curl",
    ] {
        assert!(text.contains(expected), "{expected}: {text}");
    }
    let output = run(
        &["serve", "--help"],
        &[("IPLEDGER_DATABASE_URL", "postgres://u:hunter2@x")],
    );
    let text = stdout(&output);
    assert!(
        text.contains("IPLEDGER_DATABASE_URL") && !text.contains("hunter2"),
        "{text}"
    );
}

#[tokio::test]
async fn migrations_may_run_twice_and_side_by_side() {
    let database = TestDatabase::create().await;
    let url = database.url();
    let start = || {
        Process::command(&["migrate", "--database-url", &url], &[])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    };
    let both = [start(), start(), start()].map(|child| child.wait_with_output().unwrap());
    for output in &both {
        assert!(output.status.success(), "{}", stderr(output));
    }
    let again = run(&["migrate", "--database-url", &url], &[]);
    assert!(
        stdout(&again).ends_with("(nothing to apply)\n"),
        "{}",
        stdout(&again)
    );
    let check = run(&["check"], &[("IPLEDGER_DATABASE_URL", url.as_str())]);
    assert!(check.status.success(), "{}", stderr(&check));
    assert!(
        stdout(&check).ends_with("and the guard is whole\n"),
        "{}",
        stdout(&check)
    );
}

#[tokio::test]
async fn an_epoch_is_begun_with_a_reason() {
    let database = TestDatabase::create().await;
    ledger::migrate(&database.url()).await.unwrap();
    let begin = |reason: &str| {
        let url = database.url();
        run(
            &["begin-epoch", "--database-url", &url, "--reason", reason],
            &[],
        )
    };
    for (reason, why) in [
        (" ", "a reason is needed"),
        ("a\nb", "has control characters"),
        (&"x".repeat(501), "is longer than 500 characters"),
    ] {
        let output = begin(reason);
        assert_eq!(output.status.code(), Some(2));
        let text = stderr(&output);
        assert!(text.contains("--reason") && text.contains(why), "{text}");
    }
    let output = begin("restored from the backup of 7 o'clock");
    assert!(output.status.success(), "{}", stderr(&output));
    assert_eq!(stdout(&output), "epoch 2 has begun\n");
}

#[tokio::test]
async fn the_services_role_gets_the_password_of_a_file() {
    let database = TestDatabase::create().await;
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("password");
    let migrate = |text: &str| {
        std::fs::write(&file, text).unwrap();
        let (url, file) = (database.url(), file.to_str().unwrap());
        run(
            &[
                "migrate",
                "--database-url",
                &url,
                "--app-password-file",
                file,
            ],
            &[],
        )
    };
    let output = migrate("it's secret\n");
    assert!(output.status.success(), "{}", stderr(&output));
    let sql = Sql::connect(&database.url()).await;
    let hashed = format!(
        "select count(*) from pg_authid where rolname = '{}_app' and rolpassword like 'SCRAM-%'",
        database.name()
    );
    assert_eq!(sql.number(&hashed).await, 1);
    let output = migrate("\n");
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("is empty"), "{}", stderr(&output));
}

#[tokio::test]
async fn a_database_without_a_schema_is_refused_in_one_line() {
    let database = TestDatabase::create().await;
    for command in ["serve", "check"] {
        let output = run(
            &[command, "--database-url", &database.url()],
            &[("IPLEDGER_LISTEN", "127.0.0.1:0"), ("IPLEDGER_LOG", "off")],
        );
        assert_eq!(output.status.code(), Some(1), "{command}");
        let text = stderr(&output);
        assert!(
            text.starts_with("ipledger-api: ") && text.lines().count() == 1,
            "{text}"
        );
        assert!(text.contains("migrate"), "{text}");
    }
}

#[tokio::test]
async fn it_serves_until_sigterm_and_logs_refusals_as_json() {
    let database = TestDatabase::create().await;
    ledger::migrate(&database.url()).await.unwrap();
    let dir = tempfile::tempdir().unwrap();
    let socket = dir.path().join("api.sock");
    let port = free_port();
    let listen = format!("127.0.0.1:{port},unix:{}", socket.display());
    let url = database.url_as(&format!("{}_app", database.name()));
    let environment = [
        ("IPLEDGER_DATABASE_URL", url.as_str()),
        ("IPLEDGER_LISTEN", listen.as_str()),
    ];
    let mut process = Process::start(dir.path(), &["serve"], &environment);
    let target = Target::Tcp(([127, 0, 0, 1], port).into());
    wait_until("it listens", async || {
        assert!(process.is_running());
        open(&target).await.is_ok()
    })
    .await;
    wait_until("it is ready", async || {
        run(&["health"], &environment).status.success()
    })
    .await;
    let headers = [
        ("Content-Type", "application/json"),
        ("X-Request-Id", "r-7"),
    ];
    let body = allocate("c1").to_string();
    for target in [&target, &Target::Unix(socket.clone())] {
        let answer = exchange(target, "POST", "/v1/allocate", &headers, &body).await;
        assert_eq!(answer.status, 200, "{}", answer.text);
    }
    let refused = exchange(&target, "POST", "/v1/allocate", &headers, "{}").await;
    assert_eq!(refused.status, 400);
    process.signal(Signal::TERM);
    assert_eq!(process.ended().await.code(), Some(0));
    assert!(!socket.exists());

    let log = std::fs::read_to_string(dir.path().join("stderr")).unwrap();
    let events: Vec<serde_json::Value> = log
        .lines()
        .map(|line| serde_json::from_str(line).expect(line))
        .collect();
    let of_request = |event: &&serde_json::Value| event["target"] == "ipledger_api::request";
    let requests: Vec<_> = events.iter().filter(of_request).collect();
    assert_eq!(
        requests.len(),
        1,
        "a request that was answered is no news: {log}"
    );
    let event = requests[0];
    assert_eq!(event["level"], "INFO");
    assert_eq!(event["method"], "POST");
    assert_eq!(event["route"], "/v1/allocate");
    assert_eq!(event["status"], 400);
    assert_eq!(event["code"], "invalid_request");
    assert_eq!(event["request_id"], "r-7");
    assert_eq!(event["actor"], "anonymous");
    assert!(event["duration_seconds"].is_f64());
    assert_eq!(event["key"], "attachment");
    assert_eq!(
        event["detail"],
        json!(null),
        "a sentence that may hold a body stays out"
    );
}

#[tokio::test]
async fn a_taken_port_is_named() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let output = run(
        &["serve", "--listen", &address],
        &[("IPLEDGER_DATABASE_URL", "postgres://x")],
    );
    assert_eq!(output.status.code(), Some(1));
    let text = stderr(&output);
    assert!(
        text.contains(&format!("listen \"{address}\" is in use")),
        "{text}"
    );
}
