//! A force-deleted pod on a node that is silent: its address stays until one of the proofs.

use ipledger_sync::diff::ContainersGone;

use crate::support::{Scene, Syncer, TestNode, quick, until};

/// A pod of a node that was heard, fell silent, and whose pod was then deleted by force. It is
/// kept for several passes, then something happens, and it is freed on that proof.
async fn kept_until(
    name: &'static str,
    timeout_seconds: Option<u32>,
    event: impl AsyncFnOnce(&mut TestNode),
) -> Vec<ContainersGone> {
    let scene = Scene::start(name).await;
    let mut node = TestNode::start(&scene.admin, &scene.node_name("n")).await;
    let address = scene.pod_with_address("web", &node.name).await;
    let mut config = quick(&scene);
    config.look.settings.unreachable_node_timeout_seconds = timeout_seconds;
    let syncer = Syncer::start(&scene, config);
    syncer.leads().await;
    node.fall_silent();
    scene.pods.delete("web").await;
    syncer.more_passes(4).await;
    assert_eq!(scene.ledger.releases().await.len(), 0);
    assert_eq!(scene.held().await, std::slice::from_ref(&address));
    let kept = "ipledger_sync_holds_kept{reason=\"containers_may_run\"}";
    until("the hold is kept for its node", async || {
        syncer.metric(kept) == 1
    })
    .await;
    event(&mut node).await;
    let release = scene.ledger.release_of(&address).await;
    let evidence = release.evidence;
    let timed_out = evidence.containers_gone == [ContainersGone::NodeUnreachable];
    assert_eq!(evidence.timed_out_only, timed_out);
    syncer.stop().await.unwrap();
    evidence.containers_gone
}

#[tokio::test(flavor = "multi_thread")]
async fn its_node_is_heard_again_for_a_grace() {
    let proofs = kept_until("silent-heard", None, async |node| node.speak()).await;
    assert_eq!(proofs, [ContainersGone::NodeHeartbeat]);
}

#[tokio::test(flavor = "multi_thread")]
async fn its_node_is_deleted() {
    let proofs = kept_until("silent-deleted", None, async |node| node.delete().await).await;
    assert_eq!(proofs, [ContainersGone::NodeDeleted]);
}

#[tokio::test(flavor = "multi_thread")]
async fn its_node_is_replaced() {
    let proofs = kept_until("silent-replaced", None, async |node| node.replace().await).await;
    // Whether a pass falls between the two is chance.
    assert!(
        proofs == [ContainersGone::NodeReplaced] || proofs == [ContainersGone::NodeDeleted],
        "{proofs:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn its_node_is_out_of_service() {
    let event = async |node: &mut TestNode| node.out_of_service().await;
    let proofs = kept_until("silent-tainted", None, event).await;
    assert_eq!(proofs, [ContainersGone::NodeOutOfService]);
}

#[tokio::test(flavor = "multi_thread")]
async fn its_node_is_unreachable_for_longer_than_the_time_out() {
    let event = async |node: &mut TestNode| node.ready("Unknown").await;
    let proofs = kept_until("silent-timeout", Some(2), event).await;
    assert_eq!(proofs, [ContainersGone::NodeUnreachable]);
}

#[tokio::test(flavor = "multi_thread")]
async fn never_is_never() {
    let scene = Scene::start("silent-never").await;
    let node = TestNode::silent(&scene.admin, &scene.node_name("n")).await;
    let address = scene.pod_with_address("web", &node.name).await;
    node.ready("Unknown").await;
    let syncer = Syncer::start(&scene, quick(&scene));
    syncer.leads().await;
    scene.pods.delete("web").await;
    syncer.more_passes(5).await;
    assert_eq!(scene.held().await, [address]);
    assert_eq!(scene.ledger.releases().await.len(), 0);
    syncer.stop().await.unwrap();
}
