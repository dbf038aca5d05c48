//! Reads that fail or lie: nothing is freed, ever; why is told; and it goes on by itself.

use std::time::Duration;

use test_cluster::{Fault, Injected, Matcher, StatusCode, Verb, WatchBreak};

use crate::support::{Scene, Syncer, TestNode, quick};

/// Three pods that live, and one that is gone; the reads are bad from before the start.
struct Stage {
    scene: Scene,
    _node: TestNode,
    living: Vec<String>,
    gone: String,
}

impl Stage {
    async fn set(name: &'static str) -> Stage {
        let scene = Scene::start(name).await;
        let node = TestNode::start(&scene.admin, &scene.node_name("n")).await;
        let mut living = Vec::new();
        for pod in ["a", "b", "c"] {
            living.push(scene.pod_with_address(pod, &node.name).await);
        }
        let gone = scene.pod_with_address("gone", &node.name).await;
        scene.pods.delete("gone").await;
        Stage {
            scene,
            _node: node,
            living,
            gone,
        }
    }

    /// Nothing was freed in the whole history.
    async fn nothing_freed(&self) {
        assert_eq!(self.scene.ledger.releases().await.len(), 0);
        assert_eq!(self.scene.held().await.len(), 4);
    }

    /// The faults end: the dead one goes, and it alone.
    async fn mend(self, faults: Vec<Injected>, syncer: Syncer) {
        drop(faults);
        syncer.resumed().await;
        self.scene.ledger.release_of(&self.gone).await;
        syncer.more_passes(3).await;
        assert_eq!(self.scene.held().await, self.living);
        syncer.stop().await.unwrap();
    }
}

fn pods(verb: Verb) -> Matcher {
    Matcher::new().verb(verb).resource("pods")
}

/// Direct reads of pods fail in this way.
async fn direct_reads(name: &'static str, fault: Fault, reason: &str) {
    let stage = Stage::set(name).await;
    let fault = stage.scene.proxy.inject(pods(Verb::Get), fault);
    let syncer = Syncer::start(&stage.scene, quick(&stage.scene));
    syncer.held_by(reason).await;
    syncer.more_passes(3).await;
    stage.nothing_freed().await;
    stage.mend(vec![fault], syncer).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn direct_reads_answer_500() {
    let fault = Fault::Status(StatusCode::INTERNAL_SERVER_ERROR);
    direct_reads("reads-500", fault, "server_error").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn direct_reads_are_forbidden() {
    let fault = Fault::Status(StatusCode::FORBIDDEN);
    direct_reads("reads-403", fault, "forbidden").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn direct_reads_answer_410() {
    let fault = Fault::Status(StatusCode::GONE);
    direct_reads("reads-410", fault, "server_error").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn direct_reads_answer_a_bare_404() {
    let fault = Fault::Status(StatusCode::NOT_FOUND);
    direct_reads("reads-404", fault, "unreadable").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn direct_reads_hang() {
    direct_reads("reads-hang", Fault::Hang, "timed_out").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn direct_reads_break_off() {
    let fault = Fault::TruncateBody { after_bytes: 40 };
    direct_reads("reads-cut", fault, "timed_out").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn lists_by_name_fail() {
    let stage = Stage::set("lists-500").await;
    let fault = Fault::Status(StatusCode::INTERNAL_SERVER_ERROR);
    let by_name = pods(Verb::List).namespace(&stage.scene.pods.namespace);
    let fault = stage.scene.proxy.inject(by_name, fault);
    let syncer = Syncer::start(&stage.scene, quick(&stage.scene));
    syncer.held_by("not_listed").await;
    syncer.more_passes(3).await;
    stage.nothing_freed().await;
    stage.mend(vec![fault], syncer).await;
}

/// Lists lie: whatever they leave out, a living pod is read directly and kept.
async fn lying_lists(name: &'static str, fault: Fault) {
    let stage = Stage::set(name).await;
    let fault = stage.scene.proxy.inject(pods(Verb::List), fault);
    let syncer = Syncer::start(&stage.scene, quick(&stage.scene));
    // The one that is gone is not in the list by name either, and its GET says so.
    stage.scene.ledger.release_of(&stage.gone).await;
    syncer.more_passes(4).await;
    assert_eq!(stage.scene.held().await, stage.living);
    let reads = stage.scene.proxy.seen(&pods(Verb::Get).name("a"));
    assert!(!reads.is_empty());
    drop(fault);
    syncer.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn lists_are_empty() {
    lying_lists("lists-empty", Fault::EmptyList).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn lists_lack_a_namespace() {
    let fault = Fault::WithoutNamespace("lists-partial".to_owned());
    lying_lists("lists-partial", fault).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_first_list_of_pods_never_comes() {
    let stage = Stage::set("lists-403").await;
    let all = Matcher::new().verb(Verb::List).path_prefix("/api/v1/pods?");
    let fault = Fault::Status(StatusCode::FORBIDDEN);
    let fault = stage.scene.proxy.inject(all, fault);
    let syncer = Syncer::start(&stage.scene, quick(&stage.scene));
    syncer.held_by("pods_not_listed").await;
    stage.nothing_freed().await;
    stage.mend(vec![fault], syncer).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_clusters_identity_cannot_be_read() {
    let stage = Stage::set("identity-500").await;
    let identity = Matcher::new().verb(Verb::Get).resource("namespaces");
    let fault = Fault::Status(StatusCode::SERVICE_UNAVAILABLE);
    let fault = stage.scene.proxy.inject(identity, fault);
    let syncer = Syncer::start(&stage.scene, quick(&stage.scene));
    syncer.held_by("server_error").await;
    stage.nothing_freed().await;
    stage.mend(vec![fault], syncer).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nodes_and_their_leases_cannot_be_read() {
    let stage = Stage::set("nodes-403").await;
    let fault = Fault::Status(StatusCode::FORBIDDEN);
    let node = Matcher::new().verb(Verb::Get).resource("nodes");
    let lease = Matcher::new()
        .verb(Verb::Get)
        .resource("leases")
        .namespace("kube-node-lease");
    let faults = vec![
        stage.scene.proxy.inject(node, fault.clone()),
        stage.scene.proxy.inject(lease, fault),
    ];
    let syncer = Syncer::start(&stage.scene, quick(&stage.scene));
    syncer.held_by("forbidden").await;
    syncer.more_passes(3).await;
    stage.nothing_freed().await;
    stage.mend(faults, syncer).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn watches_that_break_are_opened_again() {
    let scene = Scene::start("watches").await;
    let node = TestNode::start(&scene.admin, &scene.node_name("n")).await;
    let mut config = quick(&scene);
    // Only an event can bring the pass that is needed in time.
    config.period = Duration::from_secs(3600);
    let syncer = Syncer::start(&scene, config);
    syncer.leads().await;
    for (pod, how) in [("cut", WatchBreak::Cut), ("expired", WatchBreak::Expired)] {
        let address = scene.pod_with_address(pod, &node.name).await;
        let watches = pods(Verb::Watch);
        crate::support::until("the pods are watched", async || {
            scene.proxy.open_watches(&watches) == 2
        })
        .await;
        assert_eq!(scene.proxy.break_watches(&watches, how), 2);
        scene.pods.delete(pod).await;
        scene.ledger.release_of(&address).await;
    }
    syncer.stop().await.unwrap();
}
