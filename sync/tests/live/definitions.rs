//! Network definitions that cannot be served are told, and stop nothing.

use ipledger_sync::crd::NetworkAttachmentDefinition;
use kube::Api;
use kube::api::PostParams;
use serde_json::json;

use crate::support::{Scene, Syncer, TestNode, quick, until};

#[tokio::test(flavor = "multi_thread")]
async fn bad_definitions_stop_nothing() {
    let scene = Scene::start("definitions").await;
    let api: Api<NetworkAttachmentDefinition> =
        Api::namespaced(scene.admin.clone(), &scene.pods.namespace);
    for (name, config) in [
        ("broken", "{"),
        ("no-range", r#"{"ipam":{"type":"whereabouts"}}"#),
        ("other", r#"{"ipam":{"type":"host-local"}}"#),
        (
            "good",
            r#"{"ipam":{"type":"ipledger","range":"10.10.3.0/24"}}"#,
        ),
    ] {
        let object = json!({
            "apiVersion": "k8s.cni.cncf.io/v1", "kind": "NetworkAttachmentDefinition",
            "metadata": {"name": name}, "spec": {"config": config},
        });
        let object = serde_json::from_value(object).unwrap();
        api.create(&PostParams::default(), &object).await.unwrap();
    }
    let node = TestNode::start(&scene.admin, &scene.node_name("n")).await;
    let address = scene.pod_with_address("web", &node.name).await;
    let syncer = Syncer::start(&scene, quick(&scene));
    until("both are counted", async || {
        syncer.metric("ipledger_sync_definitions_unusable") == 2
    })
    .await;
    scene.pods.delete("web").await;
    scene.ledger.release_of(&address).await;
    syncer.stop().await.unwrap();
}
