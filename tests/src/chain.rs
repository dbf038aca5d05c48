//! The CNI chain as a runtime drives it: environment, configuration on stdin, result on stdout.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::namespace::Namespace;

/// Directories where distributions put the reference plugins.
const PLUGIN_DIRECTORIES: [&str; 3] = ["/usr/lib/cni", "/opt/cni/bin", "/usr/libexec/cni"];

/// A pod as the runtime sees it.
#[derive(Debug)]
pub struct Pod {
    /// Its network namespace.
    pub namespace: Namespace,
    /// Sandbox id.
    pub container_id: String,
    /// Name of the pod, in the namespace `default`.
    pub name: String,
    /// UID of the pod.
    pub uid: String,
}

impl Pod {
    /// A pod with a fresh sandbox.
    pub fn new(name: &str, uid: &str, container_id: &str) -> Result<Pod> {
        Ok(Pod {
            namespace: Namespace::new("pod")?,
            container_id: container_id.to_owned(),
            name: name.to_owned(),
            uid: uid.to_owned(),
        })
    }

    /// What a Kubernetes runtime puts into `CNI_ARGS`.
    #[must_use]
    pub fn cni_args(&self) -> String {
        format!(
            "IgnoreUnknown=1;K8S_POD_NAMESPACE=default;K8S_POD_NAME={};\
             K8S_POD_INFRA_CONTAINER_ID={};K8S_POD_UID={}",
            self.name, self.container_id, self.uid
        )
    }
}

/// What a plugin answered.
#[derive(Debug)]
pub struct Outcome {
    /// Exit status 0.
    pub success: bool,
    /// The JSON on stdout; null if there was none.
    pub json: Value,
    /// The log on stderr.
    pub log: String,
}

impl Outcome {
    /// `msg` and `details` of an error.
    #[must_use]
    pub fn message(&self) -> String {
        let text = |key: &str| self.json[key].as_str().unwrap_or_default().to_owned();
        let (message, details) = (text("msg"), text("details"));
        if details.is_empty() {
            message
        } else {
            format!("{message}: {details}")
        }
    }
}

/// A node with its plugins.
#[derive(Debug)]
pub struct Node {
    /// The node's network namespace.
    pub namespace: Namespace,
    name: String,
    plugins: tempfile::TempDir,
    reference: PathBuf,
    environment: Vec<(String, String)>,
}

impl Node {
    /// A node whose plugin directory has the reference plugins and ours, under both its names.
    pub fn new(name: &str, ipledger: &Path, api: &str, cluster: &str) -> Result<Node> {
        let reference = PLUGIN_DIRECTORIES
            .iter()
            .map(PathBuf::from)
            .find(|directory| directory.join("macvlan").exists())
            .context("no macvlan plugin (Debian package containernetworking-plugins)")?;
        let plugins = tempfile::tempdir()?;
        for own in ["ipledger", "whereabouts"] {
            std::fs::copy(ipledger, plugins.path().join(own))
                .with_context(|| format!("copy {}", ipledger.display()))?;
        }
        let queue = plugins.path().join("queue");
        let environment = [
            ("IPLEDGER_API_URL", api.to_owned()),
            ("IPLEDGER_CLUSTER", cluster.to_owned()),
            ("IPLEDGER_QUEUE_DIR", queue.display().to_string()),
            ("NODENAME", name.to_owned()),
        ];
        Ok(Node {
            namespace: Namespace::node()?,
            name: name.to_owned(),
            plugins,
            reference,
            environment: environment
                .map(|(key, value)| (key.to_owned(), value))
                .into(),
        })
    }

    /// The node's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// `CNI_PATH`.
    #[must_use]
    pub fn cni_path(&self) -> String {
        format!(
            "{}:{}",
            self.plugins.path().display(),
            self.reference.display()
        )
    }

    /// Where the plugin keeps releases that could not be delivered.
    #[must_use]
    pub fn queue(&self) -> PathBuf {
        self.plugins.path().join("queue")
    }

    /// The plugin's environment, beside the CNI variables.
    #[must_use]
    pub fn environment(&self) -> &[(String, String)] {
        &self.environment
    }

    /// Call the interface plugin of a configuration, as a runtime does, for one pod.
    pub fn call(&self, verb: &str, configuration: &str, pod: &Pod) -> Result<Outcome> {
        let parsed: Value = serde_json::from_str(configuration).context("the configuration")?;
        let kind = parsed["type"]
            .as_str()
            .context("the configuration has no type")?;
        let plugin = self.reference.join(kind);
        let mut command = self.namespace.command(&plugin.display().to_string());
        command
            .env_clear()
            .envs(self.environment.iter().map(|(key, value)| (key, value)))
            .env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin")
            .env("CNI_COMMAND", verb)
            .env("CNI_CONTAINERID", &pod.container_id)
            .env("CNI_NETNS", pod.namespace.path())
            .env("CNI_IFNAME", "net1")
            .env("CNI_ARGS", pod.cni_args())
            .env("CNI_PATH", self.cni_path());
        run(command, configuration)
    }

    /// A program of the node that is not part of a pod's chain, for example `ipledger drain`.
    pub fn run_ipledger(&self, arguments: &[&str]) -> Result<std::process::Output> {
        self.namespace
            .command(&self.plugins.path().join("ipledger").display().to_string())
            .args(arguments)
            .env_clear()
            .envs(self.environment.iter().map(|(key, value)| (key, value)))
            .output()
            .context("ipledger could not be started")
    }
}

fn run(mut command: std::process::Command, stdin: &str) -> Result<Outcome> {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .context("the plugin could not be started")?;
    child
        .stdin
        .take()
        .context("stdin")?
        .write_all(stdin.as_bytes())?;
    let output = child.wait_with_output()?;
    let json = if output.stdout.is_empty() {
        Value::Null
    } else {
        serde_json::from_slice(&output.stdout).with_context(|| {
            format!(
                "stdout is not JSON: {}",
                String::from_utf8_lossy(&output.stdout)
            )
        })?
    };
    ensure!(
        output.status.success() || !json.is_null(),
        "the plugin failed without an error on stdout: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(Outcome {
        success: output.status.success(),
        json,
        log: String::from_utf8_lossy(&output.stderr).into_owned(),
    })
}
