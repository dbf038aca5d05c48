//! Whether whereabouts runs in the cluster.

use std::fmt;

use k8s_openapi::api::apps::v1::{DaemonSet, Deployment};
use k8s_openapi::api::core::v1::PodTemplateSpec;
use kube::api::{ListParams, ObjectMeta};
use kube::{Api, Client};
use serde::Serialize;

/// A Deployment or DaemonSet of whereabouts that is meant to run somewhere.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Workload {
    /// `Deployment` or `DaemonSet`.
    pub kind: &'static str,
    /// Namespace.
    pub namespace: String,
    /// Name.
    pub name: String,
    /// How many pods are meant to run, or still do.
    pub pods: i32,
}

impl fmt::Display for Workload {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Workload {
            kind,
            namespace,
            name,
            ..
        } = self;
        write!(formatter, "{kind} {namespace}/{name}")
    }
}

/// Deployments and DaemonSets that are whereabouts' by image or name, and have pods.
///
/// # Errors
/// They cannot be listed.
pub async fn incumbent_workloads(client: &Client) -> Result<Vec<Workload>, kube::Error> {
    let everything = ListParams::default();
    let deployments: Api<Deployment> = Api::all(client.clone());
    let daemon_sets: Api<DaemonSet> = Api::all(client.clone());
    let mut found = Vec::new();
    for deployment in deployments.list(&everything).await? {
        let template = deployment.spec.as_ref().map(|spec| &spec.template);
        let wanted = deployment.spec.as_ref().and_then(|spec| spec.replicas);
        let running = deployment
            .status
            .as_ref()
            .and_then(|status| status.replicas);
        let pods = wanted.unwrap_or(1).max(running.unwrap_or(0));
        found.extend(workload("Deployment", &deployment.metadata, template, pods));
    }
    for daemon_set in daemon_sets.list(&everything).await? {
        let template = daemon_set.spec.as_ref().map(|spec| &spec.template);
        let status = daemon_set.status.as_ref();
        let pods = status.map_or(0, |status| {
            status
                .desired_number_scheduled
                .max(status.current_number_scheduled)
        });
        found.extend(workload("DaemonSet", &daemon_set.metadata, template, pods));
    }
    found.sort();
    Ok(found)
}

fn workload(
    kind: &'static str,
    metadata: &ObjectMeta,
    template: Option<&PodTemplateSpec>,
    pods: i32,
) -> Option<Workload> {
    let name = metadata.name.clone().unwrap_or_default();
    let images: Vec<&str> = template
        .and_then(|template| template.spec.as_ref())
        .into_iter()
        .flat_map(|spec| &spec.containers)
        .filter_map(|container| container.image.as_deref())
        .collect();
    (pods > 0 && is_incumbent(&name, &images)).then(|| Workload {
        kind,
        namespace: metadata.namespace.clone().unwrap_or_default(),
        name,
        pods,
    })
}

/// By image, else by name. Our own runs under the incumbent's name on purpose where it serves
/// existing definitions, so an image of ours clears it.
fn is_incumbent(name: &str, images: &[&str]) -> bool {
    let last_part = |image: &&str| image.rsplit('/').next().unwrap_or_default().to_owned();
    let images: Vec<String> = images.iter().map(last_part).collect();
    if images.iter().any(|image| image.contains("ipledger")) {
        return false;
    }
    images.iter().any(|image| image.contains("whereabouts")) || name.contains("whereabouts")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_told_by_image_or_name() {
        let cases = [
            (
                "whereabouts",
                "ghcr.io/k8snetworkplumbingwg/whereabouts:v0.9.4",
                true,
            ),
            (
                "ip-reconciler",
                "registry/mirror/whereabouts@sha256:00",
                true,
            ),
            ("whereabouts-controller", "registry/own:1", true),
            ("whereabouts", "registry/ipledger:1", false),
            (
                "multus",
                "ghcr.io/k8snetworkplumbingwg/multus-cni:v4",
                false,
            ),
            ("x", "whereabouts.example/other:1", false),
        ];
        for (name, image, expected) in cases {
            assert_eq!(is_incumbent(name, &[image]), expected, "{name} {image}");
        }
    }

    #[test]
    fn one_that_is_scaled_to_nothing_does_not_run() {
        let metadata = ObjectMeta {
            name: Some("whereabouts".to_owned()),
            ..ObjectMeta::default()
        };
        assert!(workload("DaemonSet", &metadata, None, 0).is_none());
        assert!(workload("DaemonSet", &metadata, None, 1).is_some());
    }
}
