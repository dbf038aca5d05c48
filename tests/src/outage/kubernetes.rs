//! A real API server, and what kubelets would do: heartbeats and states of pods.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use kube::api::{Api, DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::core::DynamicObject;
use kube::discovery::ApiResource;
use kube::{Client, ResourceExt as _};
use serde_json::{Value, json};
use test_cluster::Cluster;
use tokio::task::JoinHandle;

/// Where sync runs, as its manifest has it.
pub(super) const SYNC_NAMESPACE: &str = "ipledger";
/// Rights of sync, as an operator applies them.
const RIGHTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../deploy/sync/rbac.yaml");
/// A kubelet renews every ten seconds; here time is short.
const HEARTBEAT: Duration = Duration::from_millis(500);

/// The cluster.
pub struct Kubernetes {
    cluster: Cluster,
    client: Client,
    heartbeats: BTreeMap<String, JoinHandle<()>>,
    sync_kubeconfig: String,
}

impl std::fmt::Debug for Kubernetes {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "Kubernetes({})", self.cluster.url())
    }
}

impl Kubernetes {
    /// Start it, with the definitions of objects and sync's rights.
    pub async fn start() -> Result<Kubernetes> {
        let cluster = Cluster::start().await?;
        cluster.install_crds().await?;
        let client = cluster.client().await?;
        let namespace = json!({"metadata": {"name": SYNC_NAMESPACE}});
        create(&client, "v1", "Namespace", None, namespace).await?;
        // Without the controller manager nobody makes it, and pods need one.
        let account = json!({"metadata": {"name": "default", "namespace": "default"}});
        create(&client, "v1", "ServiceAccount", Some("default"), account).await?;
        let applied = cluster.kubectl()?.args(["apply", "-f", RIGHTS]).output()?;
        ensure!(
            applied.status.success(),
            "kubectl apply -f {RIGHTS}: {}",
            String::from_utf8_lossy(&applied.stderr)
        );
        let path = cluster.directory().join("sync.kubeconfig");
        let access = cluster.access_as(SYNC_NAMESPACE, "ipledger-sync").await?;
        access.write_kubeconfig(&path)?;
        Ok(Kubernetes {
            cluster,
            client,
            heartbeats: BTreeMap::new(),
            sync_kubeconfig: path.display().to_string(),
        })
    }

    /// The kubeconfig of sync's own account.
    #[must_use]
    pub fn sync_kubeconfig(&self) -> String {
        self.sync_kubeconfig.clone()
    }

    /// `kubectl` as the administrator; gives what it printed.
    pub fn kubectl(&self, arguments: &[&str]) -> Result<String> {
        let output = self.cluster.kubectl()?.args(arguments).output()?;
        ensure!(
            output.status.success(),
            "kubectl {}: {}",
            arguments.join(" "),
            String::from_utf8_lossy(&output.stderr)
        );
        Ok(String::from_utf8(output.stdout)?)
    }

    /// Apply a manifest.
    pub fn apply(&self, manifest: &str) -> Result<()> {
        let path = self.cluster.directory().join("manifest.yaml");
        std::fs::write(&path, manifest)?;
        self.kubectl(&["apply", "-f", &path.display().to_string()])?;
        Ok(())
    }

    /// A node that is ready and renews its Lease.
    pub async fn add_node(&mut self, name: &str) -> Result<()> {
        create(
            &self.client,
            "v1",
            "Node",
            None,
            json!({"metadata": {"name": name}}),
        )
        .await?;
        let lease = json!({
            "metadata": {"name": name, "namespace": "kube-node-lease"},
            "spec": {"holderIdentity": name, "leaseDurationSeconds": 40},
        });
        let group = "coordination.k8s.io/v1";
        create(&self.client, group, "Lease", Some("kube-node-lease"), lease).await?;
        let leases = api(&self.client, group, "Lease", Some("kube-node-lease"));
        let node = name.to_owned();
        let task = tokio::spawn(async move {
            loop {
                let now = now();
                let renewal = json!({"spec": {"renewTime": now}});
                // The API server may be gone at the end of a test.
                let _ = leases
                    .patch(&node, &PatchParams::default(), &Patch::Merge(renewal))
                    .await;
                tokio::time::sleep(HEARTBEAT).await;
            }
        });
        self.heartbeats.insert(name.to_owned(), task);
        Ok(())
    }

    /// The node renews its Lease no more.
    pub fn silence(&mut self, name: &str) {
        if let Some(task) = self.heartbeats.remove(name) {
            task.abort();
        }
    }

    /// Delete the Node object, as an operator does when a machine is lost.
    pub async fn delete_node(&self, name: &str) -> Result<()> {
        let nodes = api(&self.client, "v1", "Node", None);
        nodes.delete(name, &DeleteParams::default()).await?;
        Ok(())
    }

    /// Create a pod that runs on a node; gives its UID.
    pub async fn create_pod(&self, name: &str, node: &str) -> Result<String> {
        let pod = json!({
            "metadata": {
                "name": name, "namespace": "default",
                "annotations": {"k8s.v1.cni.cncf.io/networks": "default/super-net"},
            },
            "spec": {
                "nodeName": node, "restartPolicy": "Never",
                "automountServiceAccountToken": false,
                "terminationGracePeriodSeconds": 3,
                "containers": [{"name": "main", "image": "example/main"}],
            },
        });
        let pod = create(&self.client, "v1", "Pod", Some("default"), pod).await?;
        let running = json!({"state": {"running": {"startedAt": now()}}});
        self.report(name, "Running", running).await?;
        pod.uid().context("a UID")
    }

    /// The pod ended well: phase and container states as a kubelet reports them.
    pub async fn complete_pod(&self, name: &str) -> Result<()> {
        let ended = json!({"state": {"terminated": {
            "exitCode": 0, "reason": "Completed", "startedAt": now(), "finishedAt": now(),
        }}});
        self.report(name, "Succeeded", ended).await
    }

    async fn report(&self, name: &str, phase: &str, mut container: Value) -> Result<()> {
        for (key, value) in [
            ("name", json!("main")),
            ("image", json!("example/main")),
            ("imageID", json!("")),
            ("ready", json!(phase == "Running")),
            ("restartCount", json!(0)),
        ] {
            container[key] = value;
        }
        let status = json!({"status": {"phase": phase, "containerStatuses": [container]}});
        let pods = api(&self.client, "v1", "Pod", Some("default"));
        pods.patch_status(name, &PatchParams::default(), &Patch::Merge(status))
            .await?;
        Ok(())
    }

    /// The pod's object goes at once, as when its kubelet has stopped it, or by force.
    pub async fn delete_pod(&self, name: &str) -> Result<()> {
        let pods = api(&self.client, "v1", "Pod", Some("default"));
        let now = DeleteParams::default().grace_period(0);
        pods.delete(name, &now).await?;
        Ok(())
    }

    /// An object as JSON, if it is there.
    pub async fn get(
        &self,
        version: &str,
        kind: &str,
        namespace: &str,
        name: &str,
    ) -> Result<Option<Value>> {
        let objects = api(&self.client, version, kind, Some(namespace));
        let object = objects.get_opt(name).await?;
        object.map(|o| Ok(serde_json::to_value(o)?)).transpose()
    }

    /// All objects of a kind in a namespace.
    pub async fn list(&self, version: &str, kind: &str, namespace: &str) -> Result<Vec<Value>> {
        let objects = api(&self.client, version, kind, Some(namespace));
        let list = objects.list(&ListParams::default()).await?;
        list.into_iter()
            .map(|o| Ok(serde_json::to_value(o)?))
            .collect()
    }
}

impl Drop for Kubernetes {
    fn drop(&mut self) {
        for task in self.heartbeats.values() {
            task.abort();
        }
    }
}

/// MicroTime, as Leases have it.
fn now() -> String {
    let since = std::time::UNIX_EPOCH.elapsed().unwrap_or_default();
    let now =
        jiff::Timestamp::UNIX_EPOCH + jiff::SignedDuration::try_from(since).unwrap_or_default();
    format!("{now:.6}")
}

fn api(client: &Client, version: &str, kind: &str, namespace: Option<&str>) -> Api<DynamicObject> {
    let (group, version) = version.rsplit_once('/').unwrap_or(("", version));
    let resource = ApiResource::from_gvk(&kube::core::GroupVersionKind::gvk(group, version, kind));
    match namespace {
        Some(namespace) => Api::namespaced_with(client.clone(), namespace, &resource),
        None => Api::all_with(client.clone(), &resource),
    }
}

async fn create(
    client: &Client,
    version: &str,
    kind: &str,
    namespace: Option<&str>,
    mut object: Value,
) -> Result<DynamicObject> {
    object["apiVersion"] = json!(version);
    object["kind"] = json!(kind);
    let object: DynamicObject = serde_json::from_value(object)?;
    let created = api(client, version, kind, namespace)
        .create(&PostParams::default(), &object)
        .await;
    created.with_context(|| format!("create {kind} {}", object.name_any()))
}
