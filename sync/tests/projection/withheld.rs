//! When nothing may be written.

use ipledger_client::types::GateRequest;
use ipledger_sync::project::ObjectKind::{Pool, Reservation};
use ipledger_sync::project::{ProjectionMode, ProjectionSettings};
use serde_json::json;

use crate::support::{Scene, World, until};

async fn is_withheld(world: &World, kind: &str) {
    until(&format!("nothing is written: {kind}"), async || {
        world.metric(&format!("withheld{{kind=\"{kind}\"}}")) == 1.0
    })
    .await;
}

async fn set_gate(scene: &Scene<'_>, closed: bool) {
    let request = GateRequest {
        closed,
        reason: "test".to_owned(),
        cluster_uid: None,
    };
    let budget = ipledger_client::Budget::within(std::time::Duration::from_secs(30));
    let set = scene
        .ledger
        .client
        .set_gate(scene.name, &request, budget)
        .await;
    set.unwrap();
}

/// An entry of whereabouts, which the ledger does not know.
async fn foreign_pool(scene: &Scene<'_>) {
    let spec = json!({
        "range": "10.10.3.0/24",
        "allocations": { "30": { "id": "c30", "podref": "default/theirs", "ifname": "net1" } },
    });
    scene.objects.create(Pool, "10.10.3.0-24", spec).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn whereabouts_objects_are_left_alone_until_the_gate_was_used() {
    let scene = Scene::start("foreign").await;
    foreign_pool(&scene).await;
    scene.allocate("10.10.3.0/24", "ours").await;
    let versions = scene.objects.versions().await;
    let world = scene.project();
    is_withheld(&world, "foreign_objects").await;
    assert_eq!(scene.objects.versions().await, versions);
    assert!(world.metric("differing_objects") >= 2.0);
    // While the gate is closed they belong to whoever gives out addresses.
    set_gate(&scene, true).await;
    is_withheld(&world, "gate_closed").await;
    assert_eq!(scene.objects.versions().await, versions);
    // Once it is opened, they are ours, and what nobody imported goes.
    set_gate(&scene, false).await;
    scene.shows(1).await;
    until("the foreign entry is gone", async || {
        let entries = scene.objects.entries("10.10.3.0-24").await;
        let entries: Vec<(&str, &str)> = entries
            .iter()
            .map(|(key, podref)| (key.as_str(), podref.as_str()))
            .collect();
        entries == [("1", "default/ours")]
    })
    .await;
    until("it was told", async || {
        let notes = scene.objects.notes(Pool, "10.10.3.0-24").await;
        notes
            .iter()
            .any(|(_, note)| note.contains("30 showed default/theirs net1 c30: not held"))
    })
    .await;
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_closed_gate_stops_writing_at_once_whatever_is_set() {
    let scene = Scene::start("gate").await;
    let world = scene.project_in(ProjectionMode::On);
    scene.allocate("10.10.3.0/24", "a").await;
    scene.shows(1).await;
    set_gate(&scene, true).await;
    scene.ledger.release(scene.name, "a").await;
    is_withheld(&world, "gate_closed").await;
    assert_eq!(scene.objects.reservations().await.len(), 1);
    set_gate(&scene, false).await;
    scene.shows(0).await;
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn shadow_compares_and_writes_nothing() {
    let scene = Scene::start("shadow").await;
    scene.allocate("10.10.3.0/24", "a").await;
    let world = scene.project_in(ProjectionMode::Shadow);
    is_withheld(&world, "shadow").await;
    until("it has compared", async || {
        world.metric("differing_objects") == 2.0
    })
    .await;
    assert!(scene.objects.versions().await.is_empty());
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_holds_of_one_cluster_are_never_shown_in_another() {
    let scene = Scene::start("identity").await;
    // The ledger knows a cluster under this name, and it is not this one.
    let budget = ipledger_client::Budget::within(std::time::Duration::from_secs(30));
    let elsewhere = "11111111-2222-4333-8444-555555555555";
    let bound = scene
        .ledger
        .client
        .bind_cluster("elsewhere", elsewhere, budget)
        .await;
    bound.unwrap();
    scene
        .ledger
        .allocate("elsewhere", "10.10.3.0/24", "a")
        .await;
    let settings = |cluster: &str| ProjectionSettings {
        cluster: cluster.to_owned(),
        ..scene.settings()
    };
    let world = scene.project_with(settings("elsewhere"));
    is_withheld(&world, "another_cluster").await;
    assert!(scene.objects.versions().await.is_empty());
    world.stop().await;
    // Nor those of a name that is bound to none.
    scene.ledger.allocate("unbound", "10.10.3.0/24", "a").await;
    let world = scene.project_with(settings("unbound"));
    is_withheld(&world, "not_bound").await;
    assert!(scene.objects.versions().await.is_empty());
    assert!(scene.objects.all(Reservation).await.is_empty());
    world.stop().await;
}
