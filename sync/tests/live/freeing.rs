//! What is freed, and what the release rests on.

use ipledger_sync::diff::{ContainersGone, PodGone, Read};

use crate::support::{Scene, Syncer, TestNode, quick, until};

#[tokio::test(flavor = "multi_thread")]
async fn a_pod_that_is_gone_with_its_node_is_freed_on_complete_evidence() {
    let scene = Scene::start("gone-with-node").await;
    let (here, there) = (scene.node_name("here"), scene.node_name("there"));
    let _alive = TestNode::start(&scene.admin, &here).await;
    let mut lost = TestNode::start(&scene.admin, &there).await;
    let kept = scene.pod_with_address("stays", &here).await;
    let freed = scene.pod_with_address("goes", &there).await;
    let syncer = Syncer::start(&scene, quick(&scene));
    syncer.leads().await;

    lost.delete().await;
    scene.pods.delete("goes").await;
    let release = scene.ledger.release_of(&freed).await;
    assert_eq!(release.step, 1);
    assert_eq!(
        release.reason,
        "sync: pod not_found, containers node_deleted"
    );
    let evidence = release.evidence;
    assert_eq!(evidence.rules, 2);
    assert_eq!(evidence.pod_gone, PodGone::NotFound);
    assert_eq!(evidence.containers_gone, [ContainersGone::NodeDeleted]);
    assert!(!evidence.timed_out_only);
    let owner = evidence.hold.owner.as_ref().unwrap();
    assert_eq!(owner.node.as_deref(), Some(there.as_str()));
    let seen = &evidence.observation;
    assert!(!seen.pass.is_empty());
    assert_eq!(seen.cluster.name(), "prod");
    assert!(matches!(seen.pod.get, Read::NotFound(_)));
    let list = seen.pod.list.as_ref().unwrap();
    let version: u64 = list.resource_version.parse().unwrap();
    assert!(version > 0 && list.uid.is_none());
    assert!(matches!(seen.node, Read::NotFound(_)));
    let grace = i64::from(evidence.settings.grace_seconds);
    assert!(
        evidence
            .judged_at
            .duration_since(evidence.absent_since)
            .as_secs()
            >= grace
    );

    assert_eq!(scene.held().await, [kept]);
    until("the metrics tell it", async || {
        let freed = "ipledger_sync_holds_freed_total{reason=\"not_found\"}";
        syncer.metric(freed) == 1
    })
    .await;
    syncer.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn on_a_node_that_is_heard_a_grace_suffices() {
    let scene = Scene::start("heard").await;
    let node = TestNode::start(&scene.admin, &scene.node_name("n")).await;
    let address = scene.pod_with_address("web", &node.name).await;
    let syncer = Syncer::start(&scene, quick(&scene));
    syncer.leads().await;
    scene.pods.delete("web").await;
    let evidence = scene.ledger.release_of(&address).await.evidence;
    assert_eq!(evidence.containers_gone, [ContainersGone::NodeHeartbeat]);
    let Read::Found(_, node) = evidence.observation.node else {
        panic!("the node was read");
    };
    let heard = node.heartbeats.unwrap();
    let row = heard.later_than.duration_since(evidence.absent_since);
    assert!(row.as_secs() >= i64::from(evidence.settings.grace_seconds));
    syncer.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn what_went_while_nobody_looked_is_freed_after_the_start() {
    let scene = Scene::start("unwatched").await;
    let node = TestNode::start(&scene.admin, &scene.node_name("n")).await;
    let address = scene.pod_with_address("web", &node.name).await;
    scene.pods.delete("web").await;
    let syncer = Syncer::start(&scene, quick(&scene));
    scene.ledger.release_of(&address).await;
    // The next pod gets the address.
    let next = scene.pod_with_address("next", &node.name).await;
    assert_eq!(next, address);
    syncer.more_passes(2).await;
    assert_eq!(scene.held().await, [next]);
    syncer.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pod_that_ended_frees_once_every_container_was_seen_terminated() {
    let scene = Scene::start("ended").await;
    // Not heard: a pod that was seen terminated needs no node.
    let node = TestNode::silent(&scene.admin, &scene.node_name("n")).await;
    let completed = scene.pod_with_address("completed", &node.name).await;
    let failed = scene.pod_with_address("failed", &node.name).await;
    let podgc = scene.pod_with_address("podgc", &node.name).await;
    let running = scene.pod_with_address("running", &node.name).await;
    let syncer = Syncer::start(&scene, quick(&scene));
    syncer.leads().await;
    scene.pods.complete("completed").await;
    let ended = serde_json::json!({"terminated": {"exitCode": 1}});
    scene.pods.report("failed", "Failed", ended).await;
    // Podgc writes Failed for pods of lost nodes; their containers may run.
    let unknown = serde_json::json!({"running": {}});
    scene.pods.report("podgc", "Failed", unknown).await;
    for address in [&completed, &failed] {
        let evidence = scene.ledger.release_of(address).await.evidence;
        assert_eq!(evidence.pod_gone, PodGone::Finished);
        assert_eq!(evidence.containers_gone, [ContainersGone::Terminated]);
    }
    syncer.more_passes(3).await;
    let mut held = scene.held().await;
    held.sort();
    let mut expected = [podgc, running];
    expected.sort();
    assert_eq!(held, expected);
    let kept = "ipledger_sync_holds_kept{reason=\"containers_not_terminated\"}";
    until("it is kept", async || syncer.metric(kept) == 1).await;
    syncer.stop().await.unwrap();
}
