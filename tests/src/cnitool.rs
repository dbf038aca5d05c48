//! `cnitool`, libcni's own command, built from the pinned module in `tests/go`.

use std::path::PathBuf;
use std::process::{Command, Output};
use std::sync::OnceLock;

use anyhow::{Context, Result, ensure};

use crate::chain::{Node, Pod};

/// Where it is, built now if need be; `None` on a machine without Go.
pub fn find() -> Result<Option<PathBuf>> {
    static BUILT: OnceLock<Result<Option<PathBuf>, String>> = OnceLock::new();
    BUILT
        .get_or_init(|| build().map_err(|error| format!("{error:#}")))
        .clone()
        .map_err(anyhow::Error::msg)
}

fn build() -> Result<Option<PathBuf>> {
    if Command::new("go").arg("version").output().is_err() {
        return Ok(None);
    }
    let module = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("go");
    // Beside the test's own binaries: cached, and gone with `cargo clean`.
    let tool = std::env::current_exe()?.with_file_name("cnitool");
    let output = Command::new("go")
        .args([
            "build",
            "-mod=readonly",
            "-trimpath",
            "-buildvcs=false",
            "-o",
        ])
        .arg(&tool)
        .arg("github.com/containernetworking/cni/cnitool")
        .current_dir(module)
        .output()
        .context("go build")?;
    ensure!(
        output.status.success(),
        "go build of cnitool failed: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(Some(tool))
}

/// Run it on a node: `add`, `check`, `del`, `status`, `gc` of a network for a pod.
pub fn run(
    tool: &std::path::Path,
    node: &Node,
    networks: &std::path::Path,
    verb: &str,
    network: &str,
    pod: &Pod,
) -> Result<Output> {
    node.namespace
        .command(&tool.display().to_string())
        .args([verb, network, &pod.namespace.path()])
        .env_clear()
        .envs(node.environment().iter().map(|(key, value)| (key, value)))
        .env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin")
        .env("NETCONFPATH", networks)
        .env("CNI_PATH", node.cni_path())
        .env("CNI_IFNAME", "net1")
        .env("CNI_ARGS", pod.cni_args())
        .output()
        .context("cnitool could not be started")
}
