//! Runs a command beside a cluster of its own: `with-cluster kubectl get namespaces`.
//!
//! The command finds the administrator's kubeconfig in `KUBECONFIG`, and whereabouts' and Multus'
//! custom resources installed. When it ends, the cluster ends, and its exit code is ours.

use std::env;
use std::process::{Command, ExitCode};

use anyhow::{Context, Result};
use test_cluster::Cluster;

#[tokio::main]
async fn main() -> Result<ExitCode> {
    let mut arguments = env::args_os().skip(1);
    let program = arguments
        .next()
        .context("usage: with-cluster COMMAND [ARGUMENT ...]")?;
    let mut cluster = Cluster::start().await?;
    cluster.install_crds().await?;
    cluster.start_controller_manager().await?;
    let status = Command::new(&program)
        .args(arguments)
        .env("KUBECONFIG", cluster.kubeconfig_path())
        .status()
        .with_context(|| format!("run {}", program.display()))?;
    let code = status.code().and_then(|code| u8::try_from(code).ok());
    Ok(code.map_or(ExitCode::FAILURE, ExitCode::from))
}
