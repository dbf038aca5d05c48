//! What several of these tests need.

use std::io::{Seek, Write};
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

/// Bound of every wait; nothing here takes more than seconds on an idle machine.
const BOUND: Duration = Duration::from_secs(60);

/// Waits for a condition.
pub(crate) async fn until(what: &str, mut condition: impl AsyncFnMut() -> bool) {
    let deadline = Instant::now() + BOUND;
    while !condition().await {
        assert!(Instant::now() < deadline, "not within {BOUND:?}: {what}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// Whether a process with this number is there and has not ended.
pub(crate) fn runs(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ")
        .is_some_and(|(_, rest)| !rest.starts_with('Z'))
}

/// The processes that were started with this directory in an argument.
pub(crate) fn mentioning(dir: &Path) -> Vec<u32> {
    let dir = dir.to_str().unwrap();
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter(|pid| {
        let command = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&command).contains(dir)
    })
    .collect()
}

/// Runs a command with `input` on its standard input.
pub(crate) fn output(command: &mut Command, input: &str) -> Output {
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(input.as_bytes()).unwrap();
    file.rewind().unwrap();
    command.stdin(Stdio::from(file)).output().unwrap()
}

/// Runs a command that must succeed.
pub(crate) fn run(command: &mut Command, input: &str) -> Output {
    let output = output(command, input);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {stderr}");
    output
}
