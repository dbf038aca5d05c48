//! whereabouts v0.9.4 on a real Kubernetes API server. Each case has a namespace of its own, and
//! with it pools, reservations and a lease that no other case sees.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use anyhow::{Context as _, Result};
use kube::api::{Api, PostParams};
use kube::core::{DynamicObject, GroupVersionKind};
use kube::discovery::ApiResource;
use serde_json::{Value, json};
use test_cluster::{Cluster, GoProgram};

use super::answer::Answer;
use super::case::Case;

/// The plugin and the API server that it works with.
pub struct Incumbent {
    cluster: Cluster,
    program: PathBuf,
}

impl Incumbent {
    /// Start the API server; build the plugin if this machine has not done so yet.
    pub async fn start() -> Result<Self> {
        let cluster = Cluster::start().await?;
        cluster.install_crds().await?;
        let build = || GoProgram::Whereabouts.build();
        let directory = tokio::task::spawn_blocking(build).await??;
        Ok(Self {
            cluster,
            program: directory.join("whereabouts"),
        })
    }

    /// Makes the namespaces of these cases, and what else must be there.
    pub async fn prepare(&self, cases: impl IntoIterator<Item = &Case>) -> Result<()> {
        let client = self.cluster.client().await?;
        let kind = GroupVersionKind::gvk("", "v1", "Namespace");
        let namespaces: Api<DynamicObject> =
            Api::all_with(client.clone(), &ApiResource::from_gvk(&kind));
        let kind = GroupVersionKind::gvk("whereabouts.cni.cncf.io", "v1alpha1", "NodeSlicePool");
        let slices = ApiResource::from_gvk(&kind);
        for case in cases {
            let namespace = json!({"apiVersion": "v1", "kind": "Namespace",
                                   "metadata": {"name": case.id}});
            create(&namespaces, namespace).await?;
            if let Some(slice) = &case.slice {
                let pool = json!({
                    "apiVersion": "whereabouts.cni.cncf.io/v1alpha1", "kind": "NodeSlicePool",
                    "metadata": {"name": "net-a", "namespace": case.id},
                    "spec": {"range": "10.0.0.0/16", "sliceSize": "/24"},
                    "status": {"allocations": [{"nodeName": "node-1", "sliceRange": slice}]},
                });
                let api = Api::namespaced_with(client.clone(), &case.id, &slices);
                create(&api, pool).await?;
            }
        }
        Ok(())
    }

    /// Runs the steps of a case.
    pub fn answers(&self, case: &Case) -> Result<Vec<Answer>> {
        let directory = tempfile::tempdir()?;
        let kubeconfig = directory.path().join("kubeconfig");
        std::fs::write(&kubeconfig, self.kubeconfig(&case.id)?)?;
        // Any file that is not the plugin's own network namespace will do.
        let namespace = directory.path().join("namespace");
        std::fs::write(&namespace, "")?;
        let flat_file = directory.path().join("whereabouts.conf");
        let configuration_path = match case.flat_file(&kubeconfig) {
            None => None,
            Some(text) => {
                std::fs::write(&flat_file, text)?;
                Some(flat_file.as_path())
            }
        };
        let answer = |step: &String| {
            let mut call = case.call(step, configuration_path)?;
            if let Some(path) = call.variables.get_mut("CNI_NETNS") {
                *path = namespace.display().to_string();
            }
            let output = run(&self.program, &call.variables, &call.stdin)?;
            let mut answer = Answer::of_whereabouts(&output);
            let own = directory.path().display().to_string();
            answer.message = answer.message.map(|text| text.replace(&own, "DIR"));
            Ok(answer)
        };
        case.steps.iter().map(answer).collect()
    }

    /// The administrator's, for a namespace of its own.
    fn kubeconfig(&self, namespace: &str) -> Result<String> {
        let text = std::fs::read_to_string(self.cluster.kubeconfig_path())?;
        let mut kubeconfig: Value = serde_json::from_str(&text)?;
        kubeconfig["contexts"][0]["context"]["namespace"] = namespace.into();
        Ok(kubeconfig.to_string())
    }
}

async fn create(api: &Api<DynamicObject>, object: Value) -> Result<()> {
    let object = serde_json::from_value(object)?;
    api.create(&PostParams::default(), &object).await?;
    Ok(())
}

/// Runs a plugin as a runtime does.
pub(super) fn run<'a>(
    program: &Path,
    variables: impl IntoIterator<Item = (&'a String, &'a String)>,
    stdin: &[u8],
) -> Result<Output> {
    let mut child = Command::new(program)
        .env_clear()
        .envs(variables)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .with_context(|| program.display().to_string())?;
    let mut pipe = child.stdin.take().context("a pipe")?;
    // A plugin that refuses early does not read its input to the end.
    let _ = pipe.write_all(stdin);
    drop(pipe);
    Ok(child.wait_with_output()?)
}
