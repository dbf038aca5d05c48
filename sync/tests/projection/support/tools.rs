//! Programs that are run as people run them.

use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use test_cluster::Cluster;

/// A script of `bash` with `kubectl` for the cluster, which must succeed.
pub(crate) fn shell(cluster: &Cluster, script: &str) -> String {
    let program = cluster.kubectl().unwrap();
    let mut path = PathBuf::from(program.get_program());
    path.pop();
    let inherited = std::env::var("PATH").unwrap_or_default();
    let mut bash = Command::new("bash");
    bash.args(["-euo", "pipefail", "-c", script])
        .env("KUBECONFIG", cluster.kubeconfig_path())
        .env("PATH", format!("{}:{inherited}", path.display()))
        .stdin(Stdio::null());
    text(&[script], &bash.output().unwrap())
}

fn text(what: &[&str], output: &Output) -> String {
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{what:?}: {stderr}");
    String::from_utf8(output.stdout.clone()).unwrap()
}

/// `ipledger-sync` with these arguments: exit code, standard output, standard error.
pub(crate) fn program(arguments: &[&str]) -> (Option<i32>, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ipledger-sync"));
    // Nothing of the tests' own surroundings decides.
    for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("IPLEDGER_")) {
        command.env_remove(name);
    }
    let output = command.args(arguments).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (
        output.status.code(),
        text(&output.stdout),
        text(&output.stderr),
    )
}
