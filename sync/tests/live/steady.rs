//! With nothing to do, nothing is written and next to nothing is read.

use ipledger_sync::crd::OverlappingRangeIpReservation;
use kube::Api;
use kube::api::ListParams;
use test_cluster::{Matcher, SeenRequest};

use crate::support::{Scene, Syncer, TestNode, quick, until};

#[tokio::test(flavor = "multi_thread")]
async fn at_rest_only_the_lease_is_written() {
    let scene = Scene::start("steady").await;
    let node = TestNode::start(&scene.admin, &scene.node_name("n")).await;
    for pod in ["a", "b", "c"] {
        scene.pod_with_address(pod, &node.name).await;
    }
    let syncer = Syncer::start(&scene, quick(&scene));
    syncer.leads().await;
    let reservations: Api<OverlappingRangeIpReservation> =
        Api::namespaced(scene.admin.clone(), &scene.rights.namespace);
    until("every hold is shown", async || {
        let listed = reservations.list(&ListParams::default()).await;
        listed.unwrap().items.len() == 3
    })
    .await;
    syncer.more_passes(2).await;
    let events_before = scene.ledger.events().await.len();
    let all = Matcher::new();
    let before = scene.proxy.seen(&all).len();
    syncer.more_passes(4).await;
    let seen: Vec<SeenRequest> = scene.proxy.seen(&all).split_off(before);
    let is_own_lease = |request: &SeenRequest| {
        request.resource.as_deref() == Some("leases")
            && request.namespace.as_deref() == Some(scene.rights.namespace.as_str())
    };
    let others: Vec<&SeenRequest> = seen
        .iter()
        .filter(|request| !is_own_lease(request))
        .collect();
    // Per pass, who answers; no pod and no node is read while all pods are shown alive. New
    // watches may begin.
    for request in &others {
        assert!(!request.verb.is_write(), "{request:?}");
        let is_identity = request.name.as_deref() == Some("kube-system");
        let is_watch = request.path.contains("watch=true");
        assert!(is_identity || is_watch, "{request:?}");
    }
    assert_eq!(scene.ledger.events().await.len(), events_before);
    syncer.stop().await.unwrap();
}
