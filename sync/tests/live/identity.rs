//! Which cluster it is.

use test_cluster::Cluster;

use crate::support::{Pods, Rights, Scene, Syncer, TestNode, quick, until};

#[tokio::test(flavor = "multi_thread")]
async fn another_cluster_under_the_same_name_is_never_judged() {
    let scene = Scene::start("two-clusters").await;
    let node = TestNode::start(&scene.admin, &scene.node_name("n")).await;
    let address = scene.pod_with_address("web", &node.name).await;
    // The right one binds the name at first contact.
    let right = Syncer::start(&scene, quick(&scene));
    until("the name is bound", async || {
        let events = scene.ledger.events().await;
        events.iter().any(|event| event.kind == "cluster_bound")
    })
    .await;
    right.stop().await.unwrap();

    // Another one, in which no such pod is, under the same name.
    let other = Cluster::start().await.unwrap();
    let admin = other.client().await.unwrap();
    let home = Pods::start(&admin, &scene.rights.namespace).await;
    let rights = Rights::grant(&other, &home.namespace, |text| text).await;
    let wrong = Syncer::start_at(&scene, quick(&scene), &rights.access);
    wrong.held_by("another_cluster").await;
    until("several passes", async || {
        let name = "ipledger_sync_passes_total{why=\"period\",outcome=\"another_cluster\"}";
        wrong.metric(name) >= 2
    })
    .await;
    assert_eq!(scene.ledger.releases().await.len(), 0);
    assert_eq!(scene.held().await, [address]);
    wrong.stop().await.unwrap();
}
