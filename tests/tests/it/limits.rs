//! The plugin's limits: every pod waits for it, and every node keeps it.

use std::process::Command;

use anyhow::{Context, Result, ensure};
use e2e::binaries;
use e2e::service::Service;

/// What an ADD may map for its data, in bytes. With a binary of at most 3 MiB it is then resident
/// with less than 8 MiB, whatever the kernel counts.
const DATA: u64 = 4 * 1024 * 1024;

#[test]
fn the_static_plugin_is_small_on_disk_and_in_memory() -> Result<()> {
    let directory = tempfile::tempdir()?;
    let built = Command::new(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../deploy/static-binaries"
    ))
    .arg(directory.path())
    .output()?;
    ensure!(
        built.status.success(),
        "{}",
        String::from_utf8_lossy(&built.stderr)
    );
    let plugin = directory.path().join("ipledger");
    let bytes = std::fs::metadata(&plugin)?.len();
    assert!(bytes <= 3 * 1024 * 1024, "the plugin has {bytes} bytes");
    let ldd = Command::new("ldd").arg(&plugin).output()?;
    let text = [ldd.stdout, ldd.stderr].concat();
    let text = String::from_utf8_lossy(&text);
    assert!(
        text.contains("statically linked") || text.contains("not a dynamic executable"),
        "{text}"
    );

    let service = Service::start(&binaries::directory()?.join("ipledger-api"))?;
    let configuration = directory.path().join("net.json");
    std::fs::write(
        &configuration,
        r#"{"cniVersion":"1.0.0","name":"n","type":"macvlan",
            "ipam":{"type":"ipledger","range":"10.64.0.0/24"}}"#,
    )?;
    let add = |data: u64| -> Result<std::process::Output> {
        Command::new("prlimit")
            .arg(format!("--data={data}"))
            .arg(&plugin)
            .stdin(std::fs::File::open(&configuration)?)
            .envs([
                ("CNI_COMMAND", "ADD"),
                ("CNI_CONTAINERID", "c1"),
                ("CNI_NETNS", "/run/netns/none"),
                ("CNI_IFNAME", "net1"),
                ("CNI_PATH", "/opt/cni/bin"),
                ("IPLEDGER_CLUSTER", "limits"),
            ])
            .env("IPLEDGER_API_URL", service.address())
            .env("IPLEDGER_QUEUE_DIR", directory.path().join("queue"))
            .output()
            .context("prlimit (Debian package util-linux)")
    };
    assert!(!add(1024)?.status.success(), "the limit does not bite");
    let output = add(DATA)?;
    let said = [output.stdout, output.stderr].concat();
    assert!(
        output.status.success(),
        "ADD with {DATA} bytes of data: {}",
        String::from_utf8_lossy(&said)
    );
    Ok(())
}
