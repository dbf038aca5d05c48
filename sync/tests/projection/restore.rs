//! What somebody does to the objects is undone, and told.

use ipledger_sync::project::ObjectKind::{Pool, Reservation};
use serde_json::json;

use crate::support::{Scene, until};

const RANGE: &str = "10.10.3.0/24";
const POOL: &str = "10.10.3.0-24";

async fn wait_for_note(
    scene: &Scene<'_>,
    kind: ipledger_sync::project::ObjectKind,
    name: &str,
    parts: &[&str],
) {
    until(&format!("an Event on {name} says {parts:?}"), async || {
        let notes = scene.objects.notes(kind, name).await;
        let says = |(reason, note): &(String, String)| {
            let text = format!("{reason}: {note}");
            parts.iter().all(|part| text.contains(part))
        };
        notes.iter().any(says)
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_edited_emptied_or_deleted_object_is_restored_with_an_event() {
    let scene = Scene::start("restore").await;
    let address = scene.allocate(RANGE, "super-pod").await;
    assert_eq!(address, "10.10.3.1");
    let world = scene.project();
    scene.shows(1).await;
    let right = scene.objects.specs(Pool).await[POOL].clone();
    let reservation = scene.objects.specs(Reservation).await[&address].clone();
    let since = scene.ledger.holds(scene.name, None).await[0].seq;
    let held =
        format!("10.10.3.1 is held by default/super-pod net1 since restore@{since} (step 0)");
    let is_right = async || {
        scene.objects.specs(Pool).await.get(POOL) == Some(&right)
            && scene.objects.specs(Reservation).await.get(&address) == Some(&reservation)
    };

    // Another pod written over it, and one added.
    let edit = json!({ "spec": { "allocations": {
        "1": { "podref": "default/thief" },
        "99": { "id": "c99", "podref": "default/thief" },
    } } });
    scene.objects.patch(Pool, POOL, edit).await;
    until("an edited pool is right again", &is_right).await;
    let parts = [
        "Restored: it was changed by kubectl-edit",
        &held,
        "99 showed default/thief c99: not held",
    ];
    wait_for_note(&scene, Pool, POOL, &parts).await;

    // Emptied.
    let empty = json!({ "spec": { "allocations": null } });
    scene
        .objects
        .patch(
            Pool,
            POOL,
            json!({ "spec": { "allocations": { "1": null } } }),
        )
        .await;
    until("an emptied pool is right again", &is_right).await;
    wait_for_note(&scene, Pool, POOL, &["1 was missing", &held]).await;
    drop(empty);

    // Deleted.
    scene.objects.delete(Pool, POOL).await;
    scene.objects.delete(Reservation, &address).await;
    until("deleted objects are right again", &is_right).await;
    wait_for_note(&scene, Pool, POOL, &["Recreated: it was deleted", &held]).await;
    wait_for_note(
        &scene,
        Reservation,
        &address,
        &["Recreated: it was deleted", &held],
    )
    .await;

    // A foreign reservation and a foreign pool.
    let foreign = json!({ "podref": "default/thief" });
    scene
        .objects
        .create(Reservation, "10.10.3.77", foreign)
        .await;
    let foreign = json!({
        "range": "10.77.0.0/24",
        "allocations": { "5": { "id": "c5", "podref": "default/thief" } },
    });
    scene.objects.create(Pool, "10.77.0.0-24", foreign).await;
    until("foreign objects show nothing", async || {
        scene.objects.reservations().await.len() == 1
            && scene.objects.entries("10.77.0.0-24").await.is_empty()
    })
    .await;
    wait_for_note(
        &scene,
        Reservation,
        "10.10.3.77",
        &["showed default/thief: not held"],
    )
    .await;
    wait_for_note(
        &scene,
        Pool,
        "10.77.0.0-24",
        &["5 showed default/thief c5: not held"],
    )
    .await;

    // Nothing of it changed who holds what.
    let holds = scene.ledger.holds(scene.name, None).await;
    assert_eq!(holds.len(), 1);
    let allocated = scene.ledger.events(scene.name).await;
    let kinds: Vec<&str> = allocated.iter().map(|event| event.kind.as_str()).collect();
    assert_eq!(kinds, ["cluster_bound", "allocated"]);
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_life_of_a_hold_is_shown_and_a_settled_projection_writes_nothing() {
    let scene = Scene::start("life").await;
    let world = scene.project();
    for pod in ["a", "b", "c"] {
        scene.allocate(RANGE, pod).await;
    }
    scene.shows(3).await;
    until("the pool shows them", async || {
        scene.objects.entries(POOL).await.len() == 3
    })
    .await;
    scene.ledger.release(scene.name, "b").await;
    scene.shows(2).await;
    until("the pool shows the release", async || {
        let entries = scene.objects.entries(POOL).await;
        let keys: Vec<&String> = entries.keys().collect();
        keys == ["1", "3"]
    })
    .await;
    // A release is no foreign deed.
    assert!(scene.objects.notes(Pool, POOL).await.is_empty());
    world.stop().await;

    // Another replica takes over: it reads everything, and has nothing to write.
    let versions = scene.objects.versions().await;
    let world = scene.project();
    world.settles(0).await;
    let written = world.metric("writes_total");
    assert_eq!(written, 0.0);
    // An event that changes no object moves the position, and is no reason to write.
    scene.allocate("10.99.0.0/24", "elsewhere").await;
    scene.shows(3).await;
    until("every event is taken in", async || {
        world.metric("lag_positions") == 0.0
    })
    .await;
    let after = scene.objects.versions().await;
    for (key, version) in versions {
        assert_eq!(after[&key], version, "{key:?} was written");
    }
    // The last holds go: reservations are deleted, pools stay, empty.
    for pod in ["a", "c", "elsewhere"] {
        scene.ledger.release(scene.name, pod).await;
    }
    scene.shows(0).await;
    until("the pools are empty", async || {
        let pools = scene.objects.specs(Pool).await;
        pools.len() == 2 && pools.values().all(|spec| spec["allocations"] == json!({}))
    })
    .await;
    world.stop().await;
}
