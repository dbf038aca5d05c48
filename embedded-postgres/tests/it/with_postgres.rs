//! The program that runs a command beside a server.

use std::process::{Output, Stdio};

use rustix::process::Signal;

use crate::support::{Supervised, connect, kill, server_processes, text, until, with_postgres};

fn run(script: &str) -> Output {
    let mut command = with_postgres();
    command
        .args(["--", "/bin/sh", "-c", script])
        .stdin(Stdio::null());
    command.output().expect("with-postgres")
}

#[test]
fn the_code_of_the_command_is_passed_on() {
    assert_eq!(run("exit 0").status.code(), Some(0));
    assert_eq!(run("exit 7").status.code(), Some(7));
    assert_eq!(run("kill -KILL $$").status.code(), Some(128 + 9));
}

#[test]
fn stdout_belongs_to_the_command_and_stderr_says_one_line() {
    let output = run("echo out");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "out\n");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        said.starts_with("with-postgres: IPLEDGER_TEST_POSTGRES=postgres://"),
        "{said}"
    );
    assert_eq!(said.lines().count(), 1, "{said}");
}

#[test]
fn a_command_that_does_not_exist_is_named() {
    let output = with_postgres()
        .args(["--", "/no/such/program"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(127));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("/no/such/program"), "{said}");
}

#[test]
fn wrong_binaries_are_named_and_the_command_is_not_run() {
    let output = with_postgres()
        .args([
            "--postgres-bin",
            "/no/such/directory",
            "--",
            "/bin/echo",
            "ran",
        ])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(output.stdout.is_empty());
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        said.contains("/no/such/directory") && said.contains("install"),
        "{said}"
    );
    assert_eq!(said.lines().count(), 1, "{said}");
}

#[tokio::test]
async fn the_server_is_reachable_and_gone_with_its_directory_afterwards() {
    let mut run = Supervised::start(|_| {});
    let client = connect(&run.url).await;
    assert_eq!(text(&client, "SHOW max_connections").await, "200");
    assert_eq!(text(&client, "SHOW fsync").await, "off");
    let data_dir = run.data_dir().await;
    assert!(!server_processes(&data_dir).is_empty());
    drop(run.child.stdin.take());
    // `read` fails at the end of its input, and that is the command's own code.
    assert_eq!(run.child.wait().unwrap().code(), Some(1));
    assert!(!data_dir.exists());
    assert_eq!(server_processes(&data_dir), Vec::<u32>::new());
}

#[tokio::test]
async fn a_signal_reaches_the_command_and_the_server_is_stopped() {
    for (signal, code) in [(Signal::TERM, 128 + 15), (Signal::INT, 128 + 2)] {
        let mut run = Supervised::start(|_| {});
        let data_dir = run.data_dir().await;
        // Kept open: waiting for a child closes its input, and `read` would end by itself.
        let _input = run.child.stdin.take();
        kill(run.child.id(), signal);
        assert_eq!(run.child.wait().unwrap().code(), Some(code));
        assert!(!data_dir.exists());
    }
}

#[tokio::test]
async fn a_kill_leaves_neither_server_nor_directory() {
    let mut run = Supervised::start(|_| {});
    let data_dir = run.data_dir().await;
    let server = server_processes(&data_dir);
    assert!(!server.is_empty());
    run.kill();
    until("the directory is gone", || !data_dir.exists()).await;
    until("the server is gone", || {
        server.iter().all(|pid| !crate::support::runs(*pid))
    })
    .await;
}
