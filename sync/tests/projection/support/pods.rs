//! Pods as the API server shows them, without a node that runs them.

use k8s_openapi::api::core::v1::{Pod, ServiceAccount};
use kube::api::{Patch, PatchParams, PostParams};
use kube::{Api, Client};
use serde_json::{Value, json};

/// A pod on `node-a` that reports these addresses of a secondary network. Answers with its UID.
pub(crate) async fn run_pod(
    client: &Client,
    namespace: &str,
    name: &str,
    addresses: &[&str],
) -> String {
    let report = json!([
        { "name": "cbr0", "ips": ["10.244.0.9"], "default": true },
        { "name": "default/super-net", "interface": "net1", "ips": addresses },
    ]);
    let annotations = json!({ "k8s.v1.cni.cncf.io/network-status": report.to_string() });
    run_pod_with(client, namespace, name, "node-a", json!({}), annotations).await
}

/// A Ready pod with labels and annotations.
pub(crate) async fn run_pod_with(
    client: &Client,
    namespace: &str,
    name: &str,
    node: &str,
    labels: Value,
    annotations: Value,
) -> String {
    let account = json!({ "metadata": { "name": "default" } });
    let account: ServiceAccount = serde_json::from_value(account).unwrap();
    let accounts: Api<ServiceAccount> = Api::namespaced(client.clone(), namespace);
    match accounts.create(&PostParams::default(), &account).await {
        Ok(_) => {}
        Err(kube::Error::Api(status)) if status.code == 409 => {}
        Err(error) => panic!("{error}"),
    }
    let pod: Pod = serde_json::from_value(json!({
        "metadata": { "name": name, "labels": labels, "annotations": annotations },
        "spec": {
            "nodeName": node,
            "automountServiceAccountToken": false,
            "containers": [{ "name": "main", "image": "pause" }],
        },
    }))
    .unwrap();
    let pods: Api<Pod> = Api::namespaced(client.clone(), namespace);
    let created = pods.create(&PostParams::default(), &pod).await.unwrap();
    let status = json!({ "status": {
        "phase": "Running",
        "conditions": [{ "type": "Ready", "status": "True" }],
    } });
    let parameters = PatchParams::default();
    let patched = pods
        .patch_status(name, &parameters, &Patch::Merge(status))
        .await;
    patched.unwrap();
    created.metadata.uid.unwrap()
}
