//! Whose hold it is: by UID, never by name.

use std::time::Duration;

use ipledger_client::Budget;
use serde_json::json;

use crate::support::{Scene, Syncer, TestNode, Want, quick};

/// A StatefulSet's pod of a dead node and the one reborn under its name, both with addresses;
/// the dead one has the lower or the higher address.
async fn reborn(name: &'static str, dead_first: bool) {
    let scene = Scene::start(name).await;
    let mut dead_node = TestNode::start(&scene.admin, &scene.node_name("dead")).await;
    let node = TestNode::start(&scene.admin, &scene.node_name("alive")).await;
    let old_uid = scene.pods.run("db-0", &dead_node.name).await;
    let old = scene.want("db-0", Some(&old_uid), Some(&dead_node.name));
    let other = scene.want("other", Some("other"), Some(&node.name));
    // What holds the lower address until the order is as it should be.
    let first = if dead_first {
        scene.ledger.allocate(old).await
    } else {
        scene.ledger.allocate(other).await
    };
    let second = if dead_first {
        None
    } else {
        Some(scene.ledger.allocate(old).await)
    };
    dead_node.delete().await;
    scene.pods.delete("db-0").await;
    let new_uid = scene.pods.run("db-0", &node.name).await;
    let new = scene.want("db-0", Some(&new_uid), Some(&node.name));
    let (dead, living) = match second {
        None => (first, scene.ledger.allocate(new).await),
        Some(dead) => {
            release_by_hand(&scene, &first).await;
            (dead, scene.ledger.allocate(new).await)
        }
    };
    assert_eq!(dead < living, dead_first);

    let syncer = Syncer::start(&scene, quick(&scene));
    let release = scene.ledger.release_of(&dead).await;
    assert_eq!(release.evidence.hold.owner.unwrap().uid, Some(old_uid));
    syncer.more_passes(3).await;
    assert_eq!(scene.held().await, [living]);
    syncer.stop().await.unwrap();
}

/// Ends a hold without sync, so that its address is free.
async fn release_by_hand(scene: &Scene, address: &str) {
    let request = serde_json::from_value(json!({
        "space": "prod", "address": address, "step": 0, "reason": "by hand", "evidence": {},
    }))
    .unwrap();
    let budget = Budget::within(Duration::from_secs(30));
    let released = scene.ledger.client.release_hold(&request, budget).await;
    released.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn of_two_pods_of_one_name_the_dead_one_is_freed_if_it_comes_first() {
    reborn("reborn-first", true).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn of_two_pods_of_one_name_the_dead_one_is_freed_if_it_comes_last() {
    reborn("reborn-last", false).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_static_pod_is_known_by_its_mirror() {
    let scene = Scene::start("mirror").await;
    let node = TestNode::start(&scene.admin, &scene.node_name("n")).await;
    // The runtime passes the UID of the static pod, and the API server shows the mirror's.
    let mirror = json!({"kubernetes.io/config.mirror": "static-uid"});
    scene.pods.run_with("etcd", &node.name, mirror).await;
    let own = scene.want("etcd", Some("static-uid"), Some(&node.name));
    let own = scene.ledger.allocate(own).await;
    let former = scene.want("etcd", Some("former-static-uid"), Some(&node.name));
    let former = scene.ledger.allocate(former).await;
    let syncer = Syncer::start(&scene, quick(&scene));
    scene.ledger.release_of(&former).await;
    syncer.more_passes(3).await;
    assert_eq!(scene.held().await, std::slice::from_ref(&own));
    scene.pods.delete("etcd").await;
    scene.ledger.release_of(&own).await;
    syncer.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_uid_a_hold_goes_only_when_the_name_is_gone() {
    let scene = Scene::start("no-uid").await;
    let node = TestNode::start(&scene.admin, &scene.node_name("n")).await;
    scene.pods.run("old", &node.name).await;
    let want = scene.want("old", None, Some(&node.name));
    let address = scene.ledger.allocate(want).await;
    let syncer = Syncer::start(&scene, quick(&scene));
    syncer.leads().await;
    // Reborn within what the clocks may differ: it may be its own pod.
    scene.pods.delete("old").await;
    scene.pods.run("old", &node.name).await;
    syncer.more_passes(4).await;
    assert_eq!(scene.held().await, std::slice::from_ref(&address));
    scene.pods.delete("old").await;
    scene.ledger.release_of(&address).await;
    syncer.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn holds_of_other_clusters_in_a_shared_space_are_not_judged() {
    let scene = Scene::start("shared-space").await;
    let members = json!([{"cluster": "prod"}, {"cluster": "other"}]);
    let declare = serde_json::from_value(json!({"name": "vlan7", "members": members})).unwrap();
    let budget = Budget::within(Duration::from_secs(30));
    let declared = scene.ledger.client.declare_space(&declare, budget).await;
    assert_eq!(declared.unwrap().name, "shared:vlan7");
    let node = TestNode::start(&scene.admin, &scene.node_name("n")).await;
    let elsewhere = Want {
        cluster: "other",
        ..scene.want("unknown-here", Some("u"), Some("unknown-node"))
    };
    let elsewhere = scene.ledger.allocate(elsewhere).await;
    let own = scene.pod_with_address("web", &node.name).await;
    scene.pods.delete("web").await;
    let syncer = Syncer::start(&scene, quick(&scene));
    scene.ledger.release_of(&own).await;
    syncer.more_passes(3).await;
    assert_eq!(scene.ledger.held("other").await, [elsewhere]);
    assert_eq!(scene.ledger.releases().await.len(), 1);
    syncer.stop().await.unwrap();
}
