//! Kills of the process that owns the server.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use embedded_postgres::{Cluster, Settings};

use crate::support::{
    Supervised, binaries, commit_row, rows, server_processes, start, temporary, until,
    with_postgres,
};

#[tokio::test]
async fn the_server_ends_with_its_owner_and_its_data_is_there_again() {
    let dir = temporary();
    let mut owner = Supervised::start(|command| {
        command.arg("--data-dir").arg(dir.path());
    });
    commit_row(&owner.url, 1).await;
    owner.kill();
    until("the server ended by itself", || {
        server_processes(dir.path()).is_empty()
    })
    .await;

    let cluster = start(Settings::durable(dir.path())).await.unwrap();
    assert_eq!(rows(&cluster.url("postgres")).await, "1");
    let log = fs::read_to_string(cluster.log_path()).unwrap();
    assert!(!log.contains("not properly shut down"), "{log}");
    cluster.stop().await.unwrap();
}

#[tokio::test]
async fn without_setpriv_the_next_start_stops_the_server_that_was_left() {
    let dir = temporary();
    let empty_path = temporary();
    let mut owner = Supervised::start(|command| {
        command.arg("--data-dir").arg(dir.path());
        command.arg("--postgres-bin").arg(binaries().dir());
        command.env("PATH", empty_path.path());
    });
    commit_row(&owner.url, 1).await;
    owner.kill();
    let left = server_processes(dir.path());
    assert!(
        !left.is_empty(),
        "the server must outlive its owner for this test to mean anything"
    );
    commit_row(&owner.url, 2).await;

    let cluster = start(Settings::durable(dir.path())).await.unwrap();
    assert!(
        left.iter()
            .all(|process| !server_processes(dir.path()).contains(process))
    );
    assert_eq!(rows(&cluster.url("postgres")).await, "1,2");
    let log = fs::read_to_string(cluster.log_path()).unwrap();
    assert!(!log.contains("not properly shut down"), "{log}");
    cluster.stop().await.unwrap();
}

/// What initdb is still working on.
fn unfinished(dir: &Path) -> Option<PathBuf> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    let mut paths = entries.map(|entry| entry.path());
    paths.find(|path| path.to_string_lossy().contains("cluster.unfinished."))
}

/// Starts an owner in `dir` and kills it as soon as initdb has written something. Returns
/// whether that was early enough.
async fn kill_during_initdb(dir: &Path) -> bool {
    let mut command = with_postgres();
    command
        .arg("--data-dir")
        .arg(dir)
        .args(["--", "/bin/sh", "-c", ":"]);
    let mut owner = command.spawn().expect("with-postgres");
    let begun = || unfinished(dir).is_some_and(|path| path.join("PG_VERSION").exists());
    until("initdb is at work", || {
        begun() || dir.join("cluster").exists()
    })
    .await;
    owner.kill().expect("kill with-postgres");
    owner.wait().expect("reap with-postgres");
    !dir.join("cluster").exists()
}

#[tokio::test]
async fn a_kill_while_the_cluster_is_made_is_repaired_by_the_next_start() {
    let mut dir = temporary();
    for _ in 0..10 {
        if kill_during_initdb(dir.path()).await {
            break;
        }
        until("the server ended", || {
            server_processes(dir.path()).is_empty()
        })
        .await;
        dir = temporary();
    }
    assert!(
        unfinished(dir.path()).is_some(),
        "no kill came before the end of initdb"
    );

    let cluster = start(Settings::durable(dir.path())).await.unwrap();
    commit_row(&cluster.url("postgres"), 1).await;
    assert_eq!(unfinished(dir.path()), None);
    cluster.stop().await.unwrap();
}

#[tokio::test]
async fn a_start_that_nobody_waits_for_leaves_no_server() {
    let dir = temporary();
    let link = dir.path().join("link");
    let data = dir.path().join("data");
    fs::create_dir(&data).unwrap();
    symlink(&data, &link).unwrap();
    if crate::support::is_root() {
        use std::os::unix::fs::PermissionsExt;
        fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755)).unwrap();
    }
    let starting = tokio::spawn(async move {
        Cluster::start(&binaries(), Settings::throwaway(&link))
            .await
            .map(drop)
    });
    until("the server runs", || !server_processes(&data).is_empty()).await;
    starting.abort();
    until("the server is gone", || server_processes(&data).is_empty()).await;
}
