//! Pod objects as the rules see them.

use std::collections::BTreeMap;

use jiff::Timestamp;
use k8s_openapi::api::core::v1 as core;

use crate::diff::{ContainerState, Phase, Pod, PodName};
use crate::kube_time::of_time;

/// Where the UID of a static pod stands on its mirror.
pub(crate) const MIRROR: &str = "kubernetes.io/config.mirror";

/// What matters of a pod. `None` if it is not the one that was asked for, or not whole.
pub(crate) fn pod(asked: &PodName, object: core::Pod) -> Option<Pod> {
    let metadata = object.metadata;
    let is_asked = metadata.name.as_deref() == Some(asked.name.as_str())
        && metadata.namespace.as_deref() == Some(asked.namespace.as_str());
    let (spec, status) = (object.spec?, object.status?);
    let uid = metadata.uid.filter(|uid| is_asked && !uid.is_empty())?;
    let mut annotations = metadata.annotations.unwrap_or_default();
    Some(Pod {
        node: spec.node_name.clone(),
        uid,
        mirror_of: annotations.remove(MIRROR),
        resource_version: metadata.resource_version?,
        created_at: of_time(&metadata.creation_timestamp?),
        terminating_until: metadata.deletion_timestamp.as_ref().map(of_time),
        phase: phase(status.phase.as_deref()),
        containers: containers(spec, &status),
    })
}

fn phase(text: Option<&str>) -> Phase {
    match text {
        Some("Pending") => Phase::Pending,
        Some("Running") => Phase::Running,
        Some("Succeeded") => Phase::Succeeded,
        Some("Failed") => Phase::Failed,
        _ => Phase::Unknown,
    }
}

fn containers(spec: core::PodSpec, status: &core::PodStatus) -> BTreeMap<String, ContainerState> {
    let init = spec.init_containers.unwrap_or_default();
    let ephemeral = spec.ephemeral_containers.unwrap_or_default();
    let names = init
        .into_iter()
        .chain(spec.containers)
        .map(|container| container.name);
    let names = names.chain(ephemeral.into_iter().map(|container| container.name));
    let mut states: BTreeMap<String, ContainerState> = names
        .map(|name| (name, ContainerState::Unreported))
        .collect();
    let reported = [
        &status.init_container_statuses,
        &status.container_statuses,
        &status.ephemeral_container_statuses,
    ];
    for status in reported.into_iter().flatten().flatten() {
        states.insert(status.name.clone(), state(status.state.as_ref()));
    }
    states
}

fn state(state: Option<&core::ContainerState>) -> ContainerState {
    match state {
        None => ContainerState::Unreported,
        Some(state) if state.running.is_some() => ContainerState::Running,
        Some(state) if state.terminated.is_some() => ContainerState::Terminated,
        // What says nothing counts as waiting, as the field is documented.
        Some(_) => ContainerState::Waiting,
    }
}

/// When an object's metadata says that it was made.
pub(crate) fn created_at(metadata: &kube::core::ObjectMeta) -> Timestamp {
    let created = metadata.creation_timestamp.as_ref();
    created.map_or(Timestamp::MAX, of_time)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked() -> PodName {
        PodName {
            namespace: "default".to_owned(),
            name: "web-0".to_owned(),
        }
    }

    fn object(changes: &serde_json::Value) -> core::Pod {
        let mut pod = serde_json::json!({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {
                "name": "web-0", "namespace": "default", "uid": "u1", "resourceVersion": "7",
                "creationTimestamp": "2026-11-30T07:00:00Z",
                "annotations": {MIRROR: "static-1"},
            },
            "spec": {
                "initContainers": [{"name": "init"}],
                "containers": [{"name": "app"}, {"name": "late"}],
                "ephemeralContainers": [{"name": "debug"}],
            },
            "status": {
                "phase": "Failed",
                "initContainerStatuses": [{
                    "name": "init", "ready": false, "restartCount": 0, "image": "", "imageID": "",
                    "state": {"terminated": {"exitCode": 0}},
                }],
                "containerStatuses": [{
                    "name": "app", "ready": false, "restartCount": 0, "image": "", "imageID": "",
                    "state": {"running": {}},
                }],
            },
        });
        for (pointer, value) in changes.as_object().unwrap() {
            *pod.pointer_mut(pointer).unwrap() = value.clone();
        }
        serde_json::from_value(pod).unwrap()
    }

    #[test]
    fn every_container_of_the_spec_has_a_state() {
        let pod = pod(&asked(), object(&serde_json::json!({}))).unwrap();
        assert_eq!(pod.phase, Phase::Failed);
        assert_eq!(pod.mirror_of.as_deref(), Some("static-1"));
        let states: Vec<_> = pod.containers.into_iter().collect();
        let expected = [
            ("app", ContainerState::Running),
            ("debug", ContainerState::Unreported),
            ("init", ContainerState::Terminated),
            ("late", ContainerState::Unreported),
        ];
        assert_eq!(
            states,
            expected.map(|(name, state)| (name.to_owned(), state))
        );
    }

    #[test]
    fn another_object_or_half_of_one_is_not_taken() {
        for change in [
            serde_json::json!({"/metadata/name": "web-1"}),
            serde_json::json!({"/metadata/namespace": "other"}),
            serde_json::json!({"/metadata/uid": ""}),
            serde_json::json!({"/metadata/uid": null}),
            serde_json::json!({"/metadata/resourceVersion": null}),
            serde_json::json!({"/spec": null}),
            serde_json::json!({"/status": null}),
        ] {
            assert_eq!(pod(&asked(), object(&change)), None, "{change}");
        }
    }
}
