//! Power cuts and kills of the server: what was committed is there again.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use embedded_postgres::{Cluster, Settings};
use rustix::process::Signal;
use tokio_postgres::Client;

use crate::support::{
    commit_row, connect, is_root, kill, rows, runs, server_processes, start, temporary, until,
};

async fn started(dir: &Path) -> Cluster {
    start(Settings::durable(dir)).await.expect("a cluster")
}

/// A server process that computes and looks at nothing else, with its process id.
async fn busy(cluster: &Cluster) -> (Client, u32) {
    let client = connect(&cluster.url("postgres")).await;
    let row = client
        .query_one("SELECT pg_backend_pid()", &[])
        .await
        .expect("a pid");
    let pid: i32 = row.get(0);
    let other = connect(&cluster.url("postgres")).await;
    tokio::spawn(async move {
        // It never answers: the server is killed under it.
        let query =
            "SELECT count(*) FROM generate_series(1, 1000000) a, generate_series(1, 1000000) b";
        let _ = client.query_one(query, &[]).await;
    });
    (other, pid.cast_unsigned())
}

#[tokio::test]
async fn killing_every_server_process_loses_nothing_committed() {
    let dir = temporary();
    let cluster = started(dir.path()).await;
    commit_row(&cluster.url("postgres"), 1).await;
    let pid = cluster.pid();
    let mut processes = server_processes(dir.path());
    assert!(processes.len() > 3, "{processes:?}");
    // The postmaster first: otherwise it would start a recovery of its own.
    processes.sort_by_key(|process| *process != pid);
    for process in processes {
        // The later ones may already have noticed that the first is gone.
        let process = rustix::process::Pid::from_raw(process.cast_signed()).unwrap();
        let _ = rustix::process::kill_process(process, Signal::KILL);
    }
    until("every process ended", || {
        server_processes(dir.path()).is_empty()
    })
    .await;
    assert!(dir.path().join("cluster/postmaster.pid").exists());
    drop(cluster);

    let cluster = started(dir.path()).await;
    assert_eq!(rows(&cluster.url("postgres")).await, "1");
    let log = fs::read_to_string(cluster.log_path()).unwrap();
    assert!(
        log.contains("not properly shut down; automatic recovery"),
        "{log}"
    );
    cluster.stop().await.unwrap();
}

#[tokio::test]
async fn a_busy_process_that_outlives_its_server_is_ended_before_the_next_start() {
    let dir = temporary();
    let cluster = started(dir.path()).await;
    commit_row(&cluster.url("postgres"), 1).await;
    let (_other, orphan) = busy(&cluster).await;
    let computes = format!("/proc/{orphan}/cmdline");
    until("the query runs", || {
        fs::read_to_string(&computes).is_ok_and(|t| t.contains("SELECT"))
    })
    .await;
    kill(cluster.pid(), Signal::KILL);
    until("the server ended", || !runs(cluster.pid())).await;
    drop(cluster);
    assert!(
        runs(orphan),
        "the query must outlive its server for this test to mean anything"
    );

    let cluster = started(dir.path()).await;
    assert!(!runs(orphan));
    assert_eq!(rows(&cluster.url("postgres")).await, "1");
    cluster.stop().await.unwrap();
}

#[tokio::test]
async fn a_pid_file_that_names_a_stranger_is_no_obstacle_and_no_verdict_on_the_stranger() {
    let dir = temporary();
    started(dir.path()).await.stop().await.unwrap();
    let cluster_dir = dir.path().join("cluster");
    let stranger = Stranger::of_the_server(&cluster_dir);
    let pid_file = cluster_dir.join("postmaster.pid");
    fs::write(
        &pid_file,
        format!("{}\n{}\n", stranger.0.id(), cluster_dir.display()),
    )
    .unwrap();

    let cluster = started(dir.path()).await;
    assert!(runs(stranger.0.id()));
    cluster.stop().await.unwrap();
}

/// A process of the account that the server runs as: PostgreSQL would take it for a server.
struct Stranger(Child);

impl Stranger {
    fn of_the_server(cluster_dir: &Path) -> Self {
        let mut command = Command::new("sleep");
        command
            .arg("600")
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        if is_root() {
            let owner = fs::metadata(cluster_dir).expect("the cluster");
            command.uid(owner.uid()).gid(owner.gid());
        }
        Self(command.spawn().expect("sleep"))
    }
}

impl Drop for Stranger {
    fn drop(&mut self) {
        self.0.kill().expect("kill the stranger");
        self.0.wait().expect("reap the stranger");
    }
}
