//! The program as a process.

use std::path::PathBuf;
use std::process::Stdio;

use test_cluster::Access;
use tokio::process::Command;

use super::Scene;

/// How a run ended.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// Runs `ipledger-sync` to its end, with an empty environment but for `PATH`.
pub(crate) async fn run_program(scene: &Scene, access: &Access, arguments: &[&str]) -> Ended {
    let name = format!("{}.kubeconfig", uuid::Uuid::new_v4());
    let kubeconfig: PathBuf = scene.cluster.directory().join(name);
    access.write_kubeconfig(&kubeconfig).unwrap();
    let running = Command::new(env!("CARGO_BIN_EXE_ipledger-sync"))
        .args(arguments)
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap())
        .env("IPLEDGER_KUBECONFIG", &kubeconfig)
        .env(
            "IPLEDGER_API_URL",
            format!("http://{}", scene.ledger.address),
        )
        .env("IPLEDGER_CLUSTER", "prod")
        .env("IPLEDGER_LOG", "error")
        .env("IPLEDGER_METRICS_LISTEN", "127.0.0.1:0")
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output();
    let ended = tokio::time::timeout(super::PATIENCE, running).await;
    let output = ended.expect("it ends by itself").unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    Ended {
        code: output.status.code(),
        stdout: text(output.stdout),
        stderr: text(output.stderr),
    }
}
