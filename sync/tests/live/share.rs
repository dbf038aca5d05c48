//! Unusually much at once waits for a second look, and then goes.

use crate::support::{Scene, Syncer, TestNode, quick, until};

#[tokio::test(flavor = "multi_thread")]
async fn fifty_of_fifty_pods_that_are_gone_go_after_the_second_look() {
    let scene = Scene::start("all-gone").await;
    let node = TestNode::start(&scene.admin, &scene.node_name("n")).await;
    let names: Vec<String> = (0..50).map(|number| format!("web-{number}")).collect();
    for name in &names {
        scene.pod_with_address(name, &node.name).await;
    }
    let syncer = Syncer::start(&scene, quick(&scene));
    syncer.leads().await;
    for name in &names {
        scene.pods.delete(name).await;
    }
    until("all are freed", async || scene.held().await.is_empty()).await;
    let releases = scene.ledger.releases().await;
    assert_eq!(releases.len(), 50);
    // Those that went in a pass which freed much were looked at twice.
    let looked_twice = releases.iter().filter(|release| {
        let absence = release.evidence.observation.absence.as_ref();
        let first = absence.and_then(|absence| absence.first_look.as_ref());
        first.is_some_and(|first| first.pass != release.evidence.observation.pass)
    });
    assert!(looked_twice.count() > 0);
    // Made for that, not by the way of a pass that heartbeats or the period brought.
    let second = "ipledger_sync_passes_total{why=\"second_look\",outcome=\"judged\"}";
    assert!(syncer.metric(second) > 0);
    syncer.stop().await.unwrap();
}
