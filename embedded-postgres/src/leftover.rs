//! What a predecessor that was killed may have left running.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::process::{Pid, Signal};

use crate::{Error, wait};

/// Time for each way of stopping a server that is not our child.
const BOUND: Duration = Duration::from_secs(30);

/// Stops a server that still runs in `cluster_dir`, although nobody holds its lock, and removes
/// a pid file that names a process which has nothing to do with it (after a reboot, or in a
/// container that numbers its processes alike each time; PostgreSQL would refuse to start).
///
/// Without `/proc` everything is left to PostgreSQL's own checks.
pub(crate) fn settle(cluster_dir: &Path) -> Result<(), Error> {
    let pid_file = cluster_dir.join("postmaster.pid");
    let Some(pid) = read_pid(&pid_file) else {
        return Ok(());
    };
    if !Path::new("/proc/self/cwd").exists() {
        return Ok(());
    }
    if works_in(pid, cluster_dir) {
        stop(pid, cluster_dir);
    }
    // The server's children notice its death and leave, but one that is busy goes on; a second
    // server beside it would be two writers on one cluster.
    for signal in [Signal::QUIT, Signal::KILL] {
        for orphan in processes_in(cluster_dir) {
            let _ = rustix::process::kill_process(orphan, signal);
        }
        if wait::until(BOUND, || processes_in(cluster_dir).is_empty()) {
            break;
        }
    }
    if !processes_in(cluster_dir).is_empty() {
        let owner = "processes of an earlier server that cannot be ended".to_owned();
        return Err(Error::InUse {
            dir: cluster_dir.to_owned(),
            owner,
        });
    }
    if rustix::process::test_kill_process(pid).is_ok() && pid_file.exists() {
        fs::remove_file(&pid_file).map_err(Error::io("remove", &pid_file))?;
    }
    Ok(())
}

fn read_pid(pid_file: &Path) -> Option<Pid> {
    let text = fs::read_to_string(pid_file).ok()?;
    Pid::from_raw(text.lines().next()?.trim().parse().ok()?)
}

fn stop(pid: Pid, cluster_dir: &Path) {
    tracing::info!(
        pid = pid.as_raw_nonzero(),
        "stopping a PostgreSQL server left by a killed process"
    );
    for signal in [Signal::INT, Signal::QUIT, Signal::KILL] {
        if !works_in(pid, cluster_dir) {
            return;
        }
        // It may end on its own between the look and the signal.
        let _ = rustix::process::kill_process(pid, signal);
        wait::until(BOUND, || !works_in(pid, cluster_dir));
    }
}

/// Every process of a server has the cluster as its working directory.
fn works_in(pid: Pid, cluster_dir: &Path) -> bool {
    let process = PathBuf::from(format!("/proc/{}", pid.as_raw_nonzero()));
    let is_postgres = fs::read_to_string(process.join("comm"))
        .is_ok_and(|name| name.trim_end().starts_with("postgres"));
    is_postgres && fs::read_link(process.join("cwd")).is_ok_and(|cwd| cwd == cluster_dir)
}

fn processes_in(cluster_dir: &Path) -> Vec<Pid> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries
        .filter_map(|entry| Pid::from_raw(entry.file_name().to_str()?.parse().ok()?))
        .filter(|pid| works_in(*pid, cluster_dir))
        .collect()
}
