//! What several tests need: connections, processes, and a bounded wait.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use embedded_postgres::{Binaries, Cluster, Error, Settings};
use rustix::process::{Pid, Signal};
use tempfile::TempDir;
use tokio_postgres::{Client, NoTls};

/// Longest wait for something that takes well under a second.
const BOUND: Duration = Duration::from_secs(30);

pub(crate) fn binaries() -> Binaries {
    Binaries::find(None).expect("PostgreSQL is installed")
}

pub(crate) async fn start(settings: Settings) -> Result<Cluster, Error> {
    Cluster::start(&binaries(), settings).await
}

/// A directory that the server's account reaches, also as root.
pub(crate) fn temporary() -> TempDir {
    tempfile::tempdir().expect("a temporary directory")
}

pub(crate) async fn connect(url: &str) -> Client {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await.expect("connect");
    tokio::spawn(connection);
    client
}

pub(crate) async fn text(client: &Client, query: &str) -> String {
    let row = client.query_one(query, &[]).await.expect("one row");
    row.get(0)
}

/// Inserts and commits one row.
pub(crate) async fn commit_row(url: &str, value: i32) {
    let client = connect(url).await;
    client
        .batch_execute(&format!(
            "CREATE TABLE IF NOT EXISTS kept (value int); INSERT INTO kept VALUES ({value})"
        ))
        .await
        .expect("insert");
}

/// All committed rows, as `1,2,3`.
pub(crate) async fn rows(url: &str) -> String {
    let query = "SELECT string_agg(value::text, ',' ORDER BY value) FROM kept";
    text(&connect(url).await, query).await
}

pub(crate) async fn until(what: &str, mut condition: impl FnMut() -> bool) {
    let deadline = Instant::now() + BOUND;
    while !condition() {
        assert!(
            Instant::now() < deadline,
            "not within {} s: {what}",
            BOUND.as_secs()
        );
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

pub(crate) fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Whether the process runs; one that only waits to be reaped does not.
pub(crate) fn runs(pid: u32) -> bool {
    let status = fs::read_to_string(format!("/proc/{pid}/status"));
    status.is_ok_and(|text| !text.contains("State:\tZ"))
}

pub(crate) fn kill(pid: u32, signal: Signal) {
    let pid = Pid::from_raw(pid.cast_signed()).expect("a process id");
    rustix::process::kill_process(pid, signal).expect("signal a process of this test");
}

/// The server processes that work in `data_dir/cluster`.
pub(crate) fn server_processes(data_dir: &Path) -> Vec<u32> {
    let Ok(cluster) = fs::canonicalize(data_dir.join("cluster")) else {
        return Vec::new();
    };
    let entries = fs::read_dir("/proc").expect("/proc").flatten();
    entries
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter(|pid| fs::read_link(format!("/proc/{pid}/cwd")).is_ok_and(|cwd| cwd == cluster))
        .filter(|pid| runs(*pid))
        .collect()
}

/// `with-postgres` around a command that prints the server's URL and then waits for our end.
pub(crate) struct Supervised {
    pub(crate) child: Child,
    pub(crate) url: String,
}

impl Supervised {
    pub(crate) fn start(configure: impl FnOnce(&mut Command)) -> Self {
        let mut command = with_postgres();
        configure(&mut command);
        let mut child = command
            .args([
                "--",
                "/bin/sh",
                "-c",
                "echo \"$IPLEDGER_TEST_POSTGRES\"; read -r line",
            ])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("with-postgres");
        let mut url = String::new();
        let stdout = child.stdout.take().expect("a pipe");
        BufReader::new(stdout).read_line(&mut url).expect("the URL");
        Self {
            child,
            url: url.trim().to_owned(),
        }
    }

    /// The directory that was given to the cluster.
    pub(crate) async fn data_dir(&self) -> PathBuf {
        let client = connect(&self.url).await;
        let cluster = PathBuf::from(text(&client, "SHOW data_directory").await);
        cluster
            .parent()
            .expect("the cluster lies in the data directory")
            .to_owned()
    }

    /// Ends only `with-postgres` itself, without a word.
    pub(crate) fn kill(&mut self) {
        self.child.kill().expect("kill with-postgres");
        self.child.wait().expect("reap with-postgres");
    }
}

pub(crate) fn with_postgres() -> Command {
    Command::new(env!("CARGO_BIN_EXE_with-postgres"))
}
