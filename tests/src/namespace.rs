//! Network namespaces: a node with a parent link, and pods. All made here, all removed on drop.

use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use anyhow::{Context, Result, ensure};

/// One network namespace.
#[derive(Debug)]
pub struct Namespace {
    name: String,
}

impl Namespace {
    /// A namespace with a name that nobody else has.
    pub fn new(role: &str) -> Result<Namespace> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("ipledger-{}-{number}-{role}", std::process::id());
        ip(&["netns", "add", &name])?;
        Ok(Namespace { name })
    }

    /// A node: a namespace with a link `eth1` that is up, to be macvlan's parent. Its other end
    /// stays inside, so nothing leaves the namespace.
    pub fn node() -> Result<Namespace> {
        let node = Namespace::new("node")?;
        node.ip(&[
            "link", "add", "eth1", "type", "veth", "peer", "name", "uplink",
        ])?;
        for link in ["lo", "eth1", "uplink"] {
            node.ip(&["link", "set", link, "up"])?;
        }
        Ok(node)
    }

    /// Its name, as `ip netns` lists it.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its path, as `CNI_NETNS` wants it.
    #[must_use]
    pub fn path(&self) -> String {
        format!("/run/netns/{}", self.name)
    }

    /// `ip` inside the namespace.
    pub fn ip(&self, arguments: &[&str]) -> Result<String> {
        ip(&[&["-n", &self.name], arguments].concat())
    }

    /// A command inside the namespace.
    #[must_use]
    pub fn command(&self, program: &str) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.name, program]);
        command
    }

    /// Addresses of a link, `10.10.3.30/24` and so on; empty if there is no such link.
    pub fn addresses(&self, link: &str) -> Result<Vec<String>> {
        let text = self.ip(&["-json", "address", "show"])?;
        let links: serde_json::Value = serde_json::from_str(&text).context("ip -json")?;
        let of_link = links
            .as_array()
            .into_iter()
            .flatten()
            .filter(|l| l["ifname"] == link);
        Ok(of_link
            .flat_map(|l| l["addr_info"].as_array().cloned().unwrap_or_default())
            .filter(|address| address["scope"] == "global")
            .filter_map(|address| {
                Some(format!(
                    "{}/{}",
                    address["local"].as_str()?,
                    address["prefixlen"]
                ))
            })
            .collect())
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        if let Err(error) = ip(&["netns", "del", &self.name]) {
            tracing::warn!(error = %error, namespace = self.name, "namespace left behind");
        }
    }
}

fn ip(arguments: &[&str]) -> Result<String> {
    let output = Command::new("ip")
        .args(arguments)
        .output()
        .context("ip (Debian package iproute2) could not be started")?;
    ensure!(
        output.status.success(),
        "ip {} failed: {}",
        arguments.join(" "),
        String::from_utf8_lossy(&output.stderr).trim()
    );
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
