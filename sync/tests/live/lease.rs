//! One replica acts.

use k8s_openapi::api::coordination::v1::Lease;
use kube::Api;
use test_cluster::{Fault, Matcher};

use crate::support::{Scene, Syncer, TestNode, quick, until};

async fn lease(scene: &Scene) -> Lease {
    let api: Api<Lease> = Api::namespaced(scene.admin.clone(), &scene.rights.namespace);
    api.get("ipledger-sync").await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_other_replica_takes_over_and_only_one_acts() {
    let scene = Scene::start("hand-over").await;
    let node = TestNode::start(&scene.admin, &scene.node_name("n")).await;
    let first = Syncer::start(&scene, quick(&scene));
    first.leads().await;
    let mut config = quick(&scene);
    config.lease.identity = "second".to_owned();
    let second = Syncer::start(&scene, config);
    let early = scene.pod_with_address("early", &node.name).await;
    scene.pods.delete("early").await;
    scene.ledger.release_of(&early).await;
    assert!(first.is_leading() && !second.is_leading());
    assert_eq!(second.passes(), 0);

    first.stop().await.unwrap();
    second.leads().await;
    let spec = lease(&scene).await.spec.unwrap();
    assert_eq!(spec.holder_identity.as_deref(), Some("second"));
    assert_eq!(spec.lease_transitions, Some(1));
    let late = scene.pod_with_address("late", &node.name).await;
    scene.pods.delete("late").await;
    scene.ledger.release_of(&late).await;
    second.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_replica_that_cannot_renew_stops_before_another_can_begin() {
    let scene = Scene::start("cut-off").await;
    let first = Syncer::start(&scene, quick(&scene));
    first.leads().await;
    // The second one reaches the API server past the proxy.
    let mut config = quick(&scene);
    config.lease.identity = "second".to_owned();
    let second = Syncer::start_at(&scene, config, &scene.rights.access);
    let own = Matcher::new()
        .resource("leases")
        .namespace(&scene.rights.namespace);
    let cut = scene.proxy.inject(own, Fault::Disconnect);
    let mut overlap = false;
    until("the second one acts", async || {
        let (one, other) = (first.is_leading(), second.is_leading());
        overlap |= one && other;
        other
    })
    .await;
    assert!(!overlap && !first.is_leading());
    drop(cut);
    second.stop().await.unwrap();
    first.leads().await;
    first.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hand_over_begins_the_grace_anew() {
    let scene = Scene::start("grace-anew").await;
    let mut node = TestNode::start(&scene.admin, &scene.node_name("n")).await;
    let address = scene.pod_with_address("web", &node.name).await;
    let mut config = quick(&scene);
    config.look.settings.grace_seconds = 3;
    let first = Syncer::start(&scene, config.clone());
    first.leads().await;
    node.delete().await;
    scene.pods.delete("web").await;
    let waiting = "ipledger_sync_holds_waiting{reason=\"grace\"}";
    until("the absence is seen", async || first.metric(waiting) == 1).await;
    first.stop().await.unwrap();
    let handed_over = jiff_now();
    config.lease.identity = "second".to_owned();
    let second = Syncer::start(&scene, config);
    let evidence = scene.ledger.release_of(&address).await.evidence;
    assert!(evidence.absent_since > handed_over);
    second.stop().await.unwrap();
}

#[expect(clippy::disallowed_methods, reason = "tests run on the real clock")]
fn jiff_now() -> jiff::Timestamp {
    jiff::Timestamp::now()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_lease_and_an_event_say_why_reclaim_is_on_hold() {
    use k8s_openapi::api::events::v1::Event;
    use kube::api::ListParams;
    use test_cluster::{StatusCode, Verb};

    let scene = Scene::start("told").await;
    let identity = Matcher::new().verb(Verb::Get).resource("namespaces");
    let fault = Fault::Status(StatusCode::INTERNAL_SERVER_ERROR);
    let fault = scene.proxy.inject(identity, fault);
    let syncer = Syncer::start(&scene, quick(&scene));
    syncer.held_by("server_error").await;
    let annotation = async |name: &str| {
        let annotations = lease(&scene).await.metadata.annotations.unwrap_or_default();
        annotations.get(&format!("ipledger.io/{name}")).cloned()
    };
    until("the Lease says so", async || {
        annotation("reclaim").await.as_deref() == Some("on-hold")
    })
    .await;
    let reason = annotation("reclaim-reason").await;
    assert_eq!(reason.as_deref(), Some("server_error"));
    let message = annotation("reclaim-message").await.unwrap();
    assert!(message.contains("kube-system cannot be read"), "{message}");
    let events: Api<Event> = Api::namespaced(scene.admin.clone(), &scene.rights.namespace);
    let told = async |reason: &str| {
        let list = events.list(&ListParams::default()).await.unwrap();
        list.items
            .into_iter()
            .any(|event| event.reason.as_deref() == Some(reason))
    };
    until("an Event says so", async || told("ReclaimOnHold").await).await;
    drop(fault);
    syncer.resumed().await;
    until("an Event says that it goes on", async || {
        told("ReclaimResumed").await
    })
    .await;
    until("the Lease says so too", async || {
        annotation("reclaim").await.as_deref() == Some("active")
    })
    .await;
    assert_eq!(annotation("reclaim-reason").await, None);
    syncer.stop().await.unwrap();
}
