//! A whole site: PostgreSQL, the API, a Kubernetes API server, sync, and a node with the plugin.
//! Each part can be taken down alone.

mod backend;
mod kubernetes;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

pub use self::backend::Backend;
pub use self::kubernetes::Kubernetes;
use crate::chain::{Node, Outcome, Pod};
use crate::process::Process;
use crate::{binaries, scenario};

/// The cluster's configured name.
pub const CLUSTER: &str = scenario::CLUSTER;
/// How long a pod must be gone before sync frees, in the story: seconds, not the usual 45.
pub const GRACE: Duration = Duration::from_secs(2);
/// How long a test waits for what must come by itself.
pub const PATIENCE: Duration = Duration::from_secs(45);

/// All parts, running.
#[derive(Debug)]
pub struct Site {
    /// PostgreSQL and the API.
    pub backend: Backend,
    /// The API server, its nodes' heartbeats and its pods.
    pub kubernetes: Kubernetes,
    nodes: BTreeMap<String, Node>,
    sync: Option<Process>,
    sync_program: PathBuf,
    plugin: PathBuf,
    directory: tempfile::TempDir,
}

impl Site {
    /// Start everything, with the nodes of these names.
    pub async fn start(nodes: &[&str]) -> Result<Site> {
        let programs = binaries::directory_with_sync()?;
        let kubernetes = Kubernetes::start().await?;
        let backend = Backend::start(&programs.join("ipledger-api")).await?;
        let mut site = Site {
            backend,
            kubernetes,
            nodes: BTreeMap::new(),
            sync: None,
            sync_program: programs.join("ipledger-sync"),
            plugin: programs.join("ipledger"),
            directory: tempfile::tempdir()?,
        };
        for name in nodes {
            site.add_node(name).await?;
        }
        site.start_sync()?;
        Ok(site)
    }

    /// A node: its object, heartbeats once a second, and a namespace with the plugin.
    pub async fn add_node(&mut self, name: &str) -> Result<()> {
        self.kubernetes.add_node(name).await?;
        let node = Node::new(name, &self.plugin, &self.backend.address(), CLUSTER)?;
        self.nodes.insert(name.to_owned(), node);
        Ok(())
    }

    /// Power off: no heartbeats, and the namespace and queue of the node are gone.
    pub fn cut_power(&mut self, name: &str) -> Result<()> {
        self.kubernetes.silence(name);
        self.nodes.remove(name).context("a node of that name")?;
        Ok(())
    }

    /// The node of this name.
    pub fn node(&self, name: &str) -> Result<&Node> {
        self.nodes.get(name).context("a node of that name")
    }

    /// Start `ipledger-sync run` under the rights of its manifest.
    pub fn start_sync(&mut self) -> Result<()> {
        let mut command = Command::new(&self.sync_program);
        command.arg("run").env_clear();
        let grace = format!("{}s", GRACE.as_secs());
        for (flag, value) in [
            ("--api-url", self.backend.address()),
            ("--cluster", CLUSTER.to_owned()),
            ("--kubeconfig", self.kubernetes.sync_kubeconfig()),
            ("--grace", grace),
            ("--period", "1s".to_owned()),
            ("--heartbeat-interval", "500ms".to_owned()),
            ("--settle", "100ms".to_owned()),
            ("--lease-namespace", kubernetes::SYNC_NAMESPACE.to_owned()),
            ("--lease-duration", "3s".to_owned()),
            ("--metrics-listen", "127.0.0.1:0".to_owned()),
        ] {
            command.args([flag, &value]);
        }
        let log = self.directory.path().join("sync.log");
        self.sync = Some(Process::start(command, log, PATIENCE, |_| true)?);
        Ok(())
    }

    /// Stop sync.
    pub fn stop_sync(&mut self) -> Result<()> {
        self.sync.take().context("sync runs")?.stop()
    }

    /// What sync printed.
    #[must_use]
    pub fn sync_log(&self) -> String {
        let log = self.directory.path().join("sync.log");
        std::fs::read_to_string(log).unwrap_or_default()
    }

    /// ADD on a node until it succeeds, each try with a new sandbox, as a kubelet does. Gives the
    /// pod's sandbox and its address.
    pub async fn add_until_given(
        &self,
        node: &str,
        name: &str,
        uid: &str,
        sandbox: impl Fn(u32) -> String,
    ) -> Result<(Pod, String)> {
        let deadline = Instant::now() + PATIENCE;
        for attempt in 0.. {
            let pod = Pod::new(name, uid, &sandbox(attempt))?;
            let outcome = self.add(node, &pod)?;
            if outcome.success {
                return Ok((pod, scenario::given(&outcome)?));
            }
            // A runtime gives the failed sandbox up.
            self.delete(node, &pod)?;
            ensure!(
                Instant::now() < deadline,
                "no address within {PATIENCE:?}: {}\nsync: {}",
                outcome.message(),
                self.sync_log()
            );
            tokio::time::sleep(Duration::from_millis(250)).await;
        }
        unreachable!("attempts do not end")
    }

    /// One ADD through macvlan with the reporter's definition.
    pub fn add(&self, node: &str, pod: &Pod) -> Result<Outcome> {
        scenario::add(self.node(node)?, pod)
    }

    /// One DEL.
    pub fn delete(&self, node: &str, pod: &Pod) -> Result<Outcome> {
        scenario::delete(self.node(node)?, pod)
    }

    /// The events of the reporter's address, oldest first.
    pub fn history(&self) -> Result<Vec<Value>> {
        let target = format!(
            "/v1/events?space={CLUSTER}&address={}&limit=500",
            scenario::ADDRESS
        );
        let page = self.backend.get(&target)?;
        Ok(page["events"].as_array().context("events")?.clone())
    }

    /// Wait until `what` is so.
    pub async fn until(
        &self,
        what: &str,
        mut is_so: impl AsyncFnMut(&Site) -> Result<bool>,
    ) -> Result<()> {
        let deadline = Instant::now() + PATIENCE;
        while !is_so(self).await? {
            ensure!(
                Instant::now() < deadline,
                "not within {PATIENCE:?}: {what}\nsync: {}",
                self.sync_log()
            );
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        Ok(())
    }
}
