//! Servers of a test's own, where the settings matter or the server must die.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use embedded_postgres::{Binaries, Cluster, Settings};
use ledger::{Ledger, StoreConfig, SystemClock};
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use crate::guard::sql::{connect, run};

/// The database on a server of one's own. Its roles are `ipledger_app` and so on.
pub(crate) const DATABASE: &str = "ipledger";

/// Longest wait for something that takes well under a second.
const BOUND: Duration = Duration::from_secs(60);

pub(crate) fn binaries() -> Binaries {
    Binaries::find(None).expect("PostgreSQL is installed")
}

pub(crate) fn temporary() -> TempDir {
    tempfile::tempdir().expect("a temporary directory")
}

/// A server that does not wait for the disk, only for what a session asks it to wait for; with
/// further settings. What it wrote survives a kill of its processes.
pub(crate) async fn server(dir: &Path, extra: &[(&str, &str)]) -> Cluster {
    let mut settings = Settings::throwaway(dir);
    settings.extra = extra
        .iter()
        .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
        .collect();
    Cluster::start(&binaries(), settings)
        .await
        .expect("a server")
}

/// Make the database and migrate it.
pub(crate) async fn prepare(cluster: &Cluster) {
    prepare_as(cluster, DATABASE).await;
}

/// The same under another name.
pub(crate) async fn prepare_as(cluster: &Cluster, database: &str) {
    let client = connect(&cluster.url("postgres")).await;
    run(&client, &format!("create database {database}")).await;
    ledger::migrate(&cluster.url(database))
        .await
        .expect("migrations");
}

pub(crate) async fn open(cluster: &Cluster) -> Ledger {
    open_on(cluster, DATABASE).await
}

pub(crate) async fn open_on(cluster: &Cluster, database: &str) -> Ledger {
    let config = StoreConfig::new(&cluster.url_as(&format!("{database}_app"), database));
    Ledger::open(&config, Arc::new(SystemClock))
        .await
        .expect("a ledger")
}

/// A standby of the server, made with `pg_basebackup` and caught up.
pub(crate) async fn standby_of(primary: &Cluster, dir: &Path) -> Cluster {
    let of_primary = primary
        .socket_dir()
        .parent()
        .expect("a data directory")
        .join("cluster");
    let owner = fs::metadata(&of_primary).expect("the primary's files");
    // The mark by which `Cluster` knows the directory as its own.
    fs::write(dir.join("owner.lock"), "").expect("a file");
    fs::set_permissions(dir, fs::Permissions::from_mode(0o711)).expect("mode");
    let target = dir.join("cluster");
    fs::create_dir(&target).expect("a directory");
    fs::set_permissions(&target, fs::Permissions::from_mode(0o700)).expect("mode");
    chown(&target, Some(owner.uid()), Some(owner.gid())).expect("owner");
    let mut command = Command::new(binaries().program("pg_basebackup"));
    command
        .arg("--dbname")
        .arg(primary.url("postgres"))
        .arg("--pgdata")
        .arg(&target)
        .args([
            "--write-recovery-conf",
            "--wal-method=stream",
            "--checkpoint=fast",
            "--no-sync",
        ])
        .current_dir(&target);
    if rustix::process::geteuid().is_root() {
        command.uid(owner.uid()).gid(owner.gid());
    }
    let output = command.output().expect("pg_basebackup runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    server(dir, &[("hot_standby", "on")]).await
}

/// The processes that work in the directory of a server.
fn processes(dir: &Path) -> Vec<Pid> {
    let cluster = fs::canonicalize(dir.join("cluster")).expect("a cluster");
    let entries = fs::read_dir("/proc").expect("/proc").flatten();
    entries
        .filter_map(|entry| Pid::from_raw(entry.file_name().to_str()?.parse().ok()?))
        .filter(|pid| {
            let cwd = fs::read_link(format!("/proc/{}/cwd", pid.as_raw_nonzero()));
            cwd.is_ok_and(|cwd| cwd == cluster)
        })
        .collect()
}

/// Kill a server as a power cut would: at once, and nobody is told.
pub(crate) fn kill_all_processes(cluster: &Cluster, dir: &Path) {
    let mut doomed = processes(dir);
    // The postmaster first: it would start a recovery of its own.
    doomed.sort_by_key(|pid| pid.as_raw_nonzero().get().cast_unsigned() != cluster.pid());
    assert!(doomed.len() > 3, "{doomed:?}");
    for pid in doomed {
        // The later ones may have noticed that the first is gone.
        let _ = kill_process(pid, Signal::KILL);
    }
}

/// A process of this test that is stopped; it goes on when this is dropped.
pub(crate) struct Stopped(Pid);

impl Stopped {
    pub(crate) fn process(pid: i32) -> Stopped {
        let pid = Pid::from_raw(pid).expect("a process id");
        kill_process(pid, Signal::STOP).expect("stop a process of this test");
        Stopped(pid)
    }
}

impl Drop for Stopped {
    fn drop(&mut self) {
        // It fails only if the process is gone.
        let _ = kill_process(self.0, Signal::CONT);
    }
}

/// Wait for a condition that is asked for again and again.
pub(crate) async fn until(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    let deadline = Instant::now() + BOUND;
    while !holds().await {
        assert!(Instant::now() < deadline, "not within {BOUND:?}: {what}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}
