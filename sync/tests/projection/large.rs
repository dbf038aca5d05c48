//! A pool with more holds than one object can show.

use futures_util::{StreamExt as _, stream};
use ipledger_sync::project::ObjectKind::{Pool, Reservation};
use ipledger_sync::project::{LARGEST_POOL_BYTES, ProjectionMode, ProjectionSettings};
use serde_json::json;

use crate::support::{Scene, entries_of, until};

const HOLDS: usize = 6000;

/// A pod whose entry is as long as they usually are.
fn pod(number: usize) -> String {
    format!("statistics-collector-{number:05}")
}

#[tokio::test(flavor = "multi_thread")]
async fn it_shows_its_lowest_addresses_says_so_and_never_fails_the_rest() {
    let scene = Scene::start("large").await;
    // Without the check of overlapping ranges there are no reservations, which would be 6,000.
    stream::iter(0..HOLDS)
        .for_each_concurrent(64, async |number| {
            scene
                .ledger
                .allocate_private(scene.name, "10.0.0.0/8", &pod(number))
                .await;
        })
        .await;
    scene.allocate("10.10.3.0/24", "small").await;
    let world = scene.project();
    until("both pools are there", async || {
        scene.objects.all(Pool).await.len() == 2
    })
    .await;
    scene.shows(1).await;
    world.settles(1).await;
    let pools = scene.objects.all(Pool).await;
    let large = pools
        .iter()
        .find(|pool| pool.metadata.name.as_deref() == Some("10.0.0.0-8"));
    let large = large.unwrap();
    let entries = entries_of(&large.data["spec"]);
    let shown = entries.len();
    assert!(
        (4_500..HOLDS).contains(&shown),
        "{shown} of {HOLDS} are shown"
    );
    let lowest = (1..=shown).all(|key| entries.contains_key(&key.to_string()));
    assert!(lowest, "the lowest addresses are shown");
    let note = &large.metadata.annotations.as_ref().unwrap()["ipledger/omitted"];
    let expected = format!("{} of {HOLDS} holds do not fit one object", HOLDS - shown);
    assert!(note.starts_with(&expected), "{note}");
    assert_eq!(world.metric("omitted_holds"), (HOLDS - shown) as f64);
    assert_eq!(scene.objects.entries("10.10.3.0-24").await.len(), 1);
    world.stop().await;

    // The same object, written by whereabouts and taken over: two managers stand beside each
    // field then, and it fits all the same.
    let other = Scene::start("large-adopted").await;
    let spec = large.data["spec"].clone();
    other.objects.create(Pool, "10.0.0.0-8", spec).await;
    let world = scene.project_with(ProjectionSettings {
        namespace: other.name.to_owned(),
        mode: ProjectionMode::On,
        ..scene.settings()
    });
    other.shows(1).await;
    world.settles(1).await;
    let adopted = other.objects.api(Pool).get("10.0.0.0-8").await.unwrap();
    assert!(adopted.metadata.annotations.is_some());
    assert_eq!(adopted.metadata.managed_fields.as_ref().unwrap().len(), 2);
    let size = serde_json::to_vec(&adopted).unwrap().len();
    assert!(
        size > LARGEST_POOL_BYTES / 2 && size < 3 * 1024 * 1024 / 2,
        "{size} bytes"
    );
    assert_eq!(world.metric("failures_total"), 0.0);
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_object_that_the_api_server_refuses_fails_nothing_else() {
    let scene = Scene::start("refused").await;
    let address = scene.allocate("10.10.3.0/24", "a").await;
    // Somebody has blown up the pool with an annotation, and Kubernetes takes 256 KiB of them.
    let spec = json!({ "range": "10.10.3.0/24", "allocations": {} });
    scene.objects.create(Pool, "10.10.3.0-24", spec).await;
    let filler = "x".repeat(256 * 1024 - 20);
    let annotations = json!({ "metadata": { "annotations": { "filler": filler } } });
    scene.objects.patch(Pool, "10.10.3.0-24", annotations).await;
    let world = scene.project();
    until("it has failed", async || {
        world.metric("failures_total") > 0.0
    })
    .await;
    until("the reservation is there", async || {
        scene.objects.reservations().await.contains_key(&address)
    })
    .await;
    // As soon as somebody takes it away, the pool is written, with no help of ours.
    let annotations = json!({ "metadata": { "annotations": { "filler": null } } });
    scene.objects.patch(Pool, "10.10.3.0-24", annotations).await;
    until("the pool shows the hold", async || {
        scene.objects.entries("10.10.3.0-24").await.len() == 1
    })
    .await;
    assert_eq!(scene.objects.all(Reservation).await.len(), 1);
    world.stop().await;
}
