//! An allocate is refused for lack of addresses, and the next one succeeds.

use std::time::{Duration, Instant};

use crate::support::{Scene, Syncer, TestNode, Want, quick, until};

/// From the refusal to the success, apart from the grace and the heartbeats that must cover it.
const BOUND: Duration = Duration::from_secs(2);

#[tokio::test(flavor = "multi_thread")]
async fn a_full_pool_with_a_dead_holder_serves_the_next_try() {
    let scene = Scene::start("wakeup").await;
    let node = TestNode::start(&scene.admin, &scene.node_name("n")).await;
    let mut config = quick(&scene);
    // Neither the period nor an event brings the pass: only the wake-up can.
    config.period = Duration::from_secs(3600);
    config.settle = Duration::from_secs(3600);
    let grace = Duration::from_secs(config.look.settings.grace_seconds.into());
    let syncer = Syncer::start(&scene, config);
    until("the first pass", async || syncer.passes() == 1).await;
    let uid = scene.pods.run("web", &node.name).await;
    let one = |want| Want {
        window: (30, 30),
        ..want
    };
    let first = one(scene.want("web", Some(&uid), Some(&node.name)));
    let address = scene.ledger.allocate(first).await;
    scene.pods.delete("web").await;

    let next = one(scene.want("web2", Some("u2"), Some(&node.name)));
    let start = Instant::now();
    let refused = scene.ledger.try_allocate(next).await.unwrap_err();
    assert_eq!(refused.kind(), "exhausted");
    let mut got = None;
    until("the next try succeeds", async || {
        got = scene.ledger.try_allocate(next).await.ok();
        got.is_some()
    })
    .await;
    let took = start.elapsed();
    assert_eq!(got.unwrap().addresses[0].address, address);
    assert!(took < BOUND + grace, "{took:?}");
    assert!(syncer.metric("ipledger_sync_wakeups_total") >= 1);
    syncer.stop().await.unwrap();
}
