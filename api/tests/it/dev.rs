//! `ipledger-api dev`: from nothing to an address, through kill -9 and back.

use std::path::Path;

use rustix::process::Signal;
use serde_json::Value;

use crate::support::{Process, Target, allocate, directory, exchange, free_port, wait_until};

/// A run of `dev` on a directory.
struct Dev {
    process: Process,
    target: Target,
}

impl Dev {
    async fn start(dir: &Path) -> Dev {
        let port = free_port();
        let (data, listen) = (dir.join("data"), format!("127.0.0.1:{port}"));
        let arguments = [
            "dev",
            "--data-dir",
            data.to_str().unwrap(),
            "--listen",
            listen.as_str(),
        ];
        let mut process = Process::start(dir, &arguments, &[]);
        let target = Target::Tcp(([127, 0, 0, 1], port).into());
        wait_until("it says how to try it", async || {
            assert!(process.is_running(), "{}", said(dir, "stderr"));
            said(dir, "stdout").contains("Stop with Ctrl-C.")
        })
        .await;
        Dev { process, target }
    }

    async fn allocate(&self, container: &str) -> Value {
        let headers = [("Content-Type", "application/json")];
        let body = allocate(container).to_string();
        let answer = exchange(&self.target, "POST", "/v1/allocate", &headers, &body).await;
        assert_eq!(answer.status, 200, "{}", answer.text);
        answer.json()
    }
}

fn said(dir: &Path, name: &str) -> String {
    std::fs::read_to_string(dir.join(name)).unwrap_or_default()
}

fn postmaster(dir: &Path) -> Option<String> {
    let file = std::fs::read_to_string(dir.join("data/cluster/postmaster.pid")).ok()?;
    file.lines().next().map(str::to_owned)
}

#[tokio::test]
async fn it_starts_stops_and_starts_again_with_what_it_knew() {
    let dir = directory();
    let mut first = Dev::start(dir.path()).await;
    let made = first.allocate("c1").await;
    let text = said(dir.path(), "stdout");
    for expected in [
        "PostgreSQL ",
        "migrations applied",
        "listens on http://127.0.0.1:",
        "curl ",
    ] {
        assert!(text.contains(expected), "{expected}: {text}");
    }
    first.process.signal(Signal::INT);
    assert_eq!(
        first.process.ended().await.code(),
        Some(0),
        "{}",
        said(dir.path(), "stderr")
    );
    assert_eq!(
        postmaster(dir.path()),
        None,
        "PostgreSQL was stopped cleanly"
    );

    let mut second = Dev::start(dir.path()).await;
    assert!(said(dir.path(), "stdout").contains("nothing to apply"));
    let again = second.allocate("c1").await;
    assert_eq!(again["repeated"], true);
    assert_eq!(again["addresses"], made["addresses"]);
    second.process.signal(Signal::TERM);
    assert_eq!(second.process.ended().await.code(), Some(0));
}

#[tokio::test]
async fn it_recovers_after_kill_9() {
    let dir = directory();
    let mut first = Dev::start(dir.path()).await;
    let made = first.allocate("c1").await;
    first.process.signal(Signal::KILL);
    assert!(!first.process.ended().await.success());

    let mut second = Dev::start(dir.path()).await;
    let again = second.allocate("c1").await;
    assert_eq!(
        again["addresses"], made["addresses"],
        "what was acknowledged is there"
    );
    second.process.signal(Signal::TERM);
    assert_eq!(second.process.ended().await.code(), Some(0));
}

#[tokio::test]
async fn a_directory_in_use_and_missing_binaries_are_named_in_one_line() {
    let dir = directory();
    let dev = Dev::start(dir.path()).await;
    let data = dir.path().join("data");
    let data = data.to_str().unwrap();
    let second = ["dev", "--data-dir", data, "--listen", "127.0.0.1:0"];
    let output = Process::command(&second, &[("IPLEDGER_LOG", "off")])
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1));
    assert!(
        text.lines().count() == 1 && text.contains("in use"),
        "{text}"
    );

    let nowhere = [&second[..], &["--postgres-bin", "/nonexistent"]].concat();
    let output = Process::command(&nowhere, &[("IPLEDGER_LOG", "off")])
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1));
    assert!(
        text.lines().count() == 1 && text.contains("/nonexistent"),
        "{text}"
    );
    drop(dev);
}
