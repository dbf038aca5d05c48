//! One ADD as a whole process, durable, against `/bin/true` in turn.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use hdrhistogram::Histogram;

use super::Figures;

/// ADD of an IPAM plugin alone: what the interface plugin would execute.
const CONFIGURATION: &str = r#"{"cniVersion":"1.0.0","name":"super-net","type":"macvlan",
"ipam":{"type":"ipledger","range":"10.64.0.0/10"}}"#;

/// Latencies of the plugin and of `/bin/true`, run in turn.
#[derive(Debug, Clone, Copy)]
pub struct Pair {
    /// The plugin.
    pub add: Figures,
    /// `/bin/true`.
    pub bare: Figures,
}

/// So many rounds against one address of the API. The first round is its own: another series on
/// the same server that began with it would only repeat what was allocated.
pub fn run(plugin: &Path, api: &str, first_round: u32, rounds: u32) -> Result<Pair> {
    let mut add = Histogram::<u64>::new(3)?;
    let mut bare = Histogram::<u64>::new(3)?;
    let queue = tempfile::tempdir()?;
    for round in first_round..first_round + rounds {
        let begun = Instant::now();
        ensure!(
            Command::new("/bin/true").status()?.success(),
            "/bin/true failed"
        );
        bare.record(u64::try_from(begun.elapsed().as_micros())?)?;

        let mut command = add_command(plugin, api, queue.path(), round);
        let begun = Instant::now();
        let mut child = command.spawn().context("the plugin could not be started")?;
        child
            .stdin
            .take()
            .context("stdin")?
            .write_all(CONFIGURATION.as_bytes())?;
        ensure!(child.wait()?.success(), "ADD failed");
        add.record(u64::try_from(begun.elapsed().as_micros())?)?;
    }
    Ok(Pair {
        add: Figures::of(&add, 1.0),
        bare: Figures::of(&bare, 1.0),
    })
}

fn add_command(plugin: &Path, api: &str, queue: &Path, round: u32) -> Command {
    let run = std::process::id();
    let mut command = Command::new(plugin);
    command
        .env_clear()
        .env("CNI_COMMAND", "ADD")
        .env("CNI_CONTAINERID", format!("bench{run:016x}{round:024x}"))
        .env("CNI_NETNS", "/run/netns/none")
        .env("CNI_IFNAME", "net1")
        .env("CNI_PATH", "/opt/cni/bin")
        .env(
            "CNI_ARGS",
            format!(
                "IgnoreUnknown=1;K8S_POD_NAMESPACE=default;K8S_POD_NAME=pod-{round};\
                 K8S_POD_UID=uid-{run}-{round};K8S_POD_INFRA_CONTAINER_ID=x"
            ),
        )
        .env("IPLEDGER_API_URL", api)
        .env("IPLEDGER_CLUSTER", "bench")
        .env("IPLEDGER_QUEUE_DIR", queue)
        .env("NODENAME", "node-1")
        .stdin(Stdio::piped())
        .stdout(Stdio::null());
    command
}

/// Peak resident memory of one ADD, in MiB. Only exact in a process that has waited for no other
/// child, so the benchmark starts itself for it.
pub fn resident_mib(plugin: &Path, api: &str) -> Result<f64> {
    let queue = tempfile::tempdir()?;
    let mut child = add_command(plugin, api, queue.path(), u32::MAX).spawn()?;
    child
        .stdin
        .take()
        .context("stdin")?
        .write_all(CONFIGURATION.as_bytes())?;
    ensure!(child.wait()?.success(), "ADD failed");
    let usage = nix::sys::resource::getrusage(nix::sys::resource::UsageWho::RUSAGE_CHILDREN)?;
    #[expect(clippy::cast_precision_loss, reason = "figures for people")]
    Ok(usage.max_rss() as f64 / 1024.0)
}
