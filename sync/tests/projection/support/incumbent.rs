//! The incumbent's plugin, run as a container runtime runs it.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::sync::Arc;

use serde_json::{Value, json};
use test_cluster::GoProgram;

use super::Scene;

/// whereabouts v0.9.4, with its objects in the namespace of a scene.
#[derive(Clone)]
pub(crate) struct Incumbent(Arc<Parts>);

struct Parts {
    program: PathBuf,
    directory: tempfile::TempDir,
    /// A process in a network namespace of its own: the plugin refuses to run in the pod's.
    elsewhere: Child,
}

impl Incumbent {
    pub(crate) fn start(scene: &Scene<'_>) -> Incumbent {
        let programs = GoProgram::Whereabouts.build().unwrap();
        let directory = tempfile::tempdir().unwrap();
        let text = std::fs::read_to_string(scene.cluster.kubeconfig_path()).unwrap();
        let mut kubeconfig: Value = serde_json::from_str(&text).unwrap();
        kubeconfig["contexts"][0]["context"]["namespace"] = scene.name.into();
        let kubeconfig_path = directory.path().join("whereabouts.kubeconfig");
        std::fs::write(&kubeconfig_path, kubeconfig.to_string()).unwrap();
        let flat = json!({ "kubernetes": { "kubeconfig": kubeconfig_path } });
        std::fs::write(directory.path().join("whereabouts.conf"), flat.to_string()).unwrap();
        let elsewhere = Command::new("unshare")
            .args(["--map-root-user", "--net", "sleep", "3600"])
            .spawn()
            .unwrap();
        wait_until_elsewhere(elsewhere.id());
        Incumbent(Arc::new(Parts {
            program: programs.join("whereabouts"),
            directory,
            elsewhere,
        }))
    }

    /// The address, without its prefix length.
    pub(crate) fn add(
        &self,
        namespace: &str,
        pod: &str,
        container: &str,
        range: &str,
    ) -> Result<String, String> {
        let output = self.run("ADD", namespace, pod, container, range);
        let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
        if !output.status.success() {
            let stderr = String::from_utf8_lossy(&output.stderr);
            return Err(format!("{stdout}\n{stderr}"));
        }
        let result: Value = serde_json::from_str(&stdout).unwrap();
        let address = result["ips"][0]["address"].as_str().unwrap();
        Ok(address.split('/').next().unwrap().to_owned())
    }

    pub(crate) fn del(&self, namespace: &str, pod: &str, container: &str, range: &str) {
        let output = self.run("DEL", namespace, pod, container, range);
        assert!(output.status.success(), "{output:?}");
    }

    fn run(&self, verb: &str, namespace: &str, pod: &str, container: &str, range: &str) -> Output {
        let Parts {
            program,
            directory,
            elsewhere,
        } = &*self.0;
        let config = json!({
            "cniVersion": "1.0.0",
            "name": "super-net",
            "type": "macvlan",
            "ipam": {
                "type": "whereabouts",
                "range": range,
                "configuration_path": directory.path().join("whereabouts.conf"),
                "log_level": "error",
            },
        });
        let mut child = Command::new(program)
            .env_clear()
            .env("CNI_COMMAND", verb)
            .env("CNI_CONTAINERID", container)
            .env("CNI_NETNS", format!("/proc/{}/ns/net", elsewhere.id()))
            .env("CNI_IFNAME", "net1")
            .env("CNI_PATH", directory.path())
            .env(
                "CNI_ARGS",
                format!("IgnoreUnknown=1;K8S_POD_NAMESPACE={namespace};K8S_POD_NAME={pod}"),
            )
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdin = child.stdin.take().unwrap();
        stdin.write_all(config.to_string().as_bytes()).unwrap();
        drop(stdin);
        child.wait_with_output().unwrap()
    }
}

/// Until the process has left this network namespace.
fn wait_until_elsewhere(pid: u32) {
    let own = std::fs::read_link("/proc/self/ns/net").unwrap();
    let start = std::time::Instant::now();
    while std::fs::read_link(format!("/proc/{pid}/ns/net")).is_ok_and(|found| found == own) {
        assert!(
            start.elapsed() < super::PATIENCE,
            "unshare made no network namespace"
        );
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
}

impl Drop for Parts {
    fn drop(&mut self) {
        let _ = self.elsewhere.kill();
        let _ = self.elsewhere.wait();
    }
}
