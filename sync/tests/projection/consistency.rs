//! A storm of changes: every object always shows one position, and few writes are made.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use futures_util::{StreamExt as _, stream};
use ipledger_client::types::Hold;
use ipledger_sync::project::ObjectKind::{Pool, Reservation};
use ipledger_sync::project::ProjectionSettings;
use kube::api::DynamicObject;
use serde_json::Value;

use crate::support::{Scene, entries_of, until};

const RANGE: &str = "10.20.0.0/16";
const POOL: &str = "10.20.0.0-16";
/// Holds that change.
const HOLDS: usize = 1000;

/// The position that an object says it shows.
fn position(object: &DynamicObject, space: &str) -> u64 {
    let annotations = object.metadata.annotations.as_ref().unwrap();
    let position: Value = serde_json::from_str(&annotations["ipledger/position"]).unwrap();
    position["as_of"][space].as_u64().unwrap()
}

fn keys_of(holds: &[Hold]) -> BTreeMap<String, String> {
    let base = u32::from(std::net::Ipv4Addr::new(10, 20, 0, 0));
    let entry = |hold: &Hold| {
        let address: std::net::Ipv4Addr = hold.address.parse().unwrap();
        let owner = hold.owner.as_ref().unwrap();
        let key = (u32::from(address) - base).to_string();
        (key, format!("{}/{}", owner.namespace, owner.name))
    };
    holds.iter().map(entry).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_projection_while_a_thousand_holds_change_shows_one_position() {
    let scene = Scene::start("storm").await;
    let world = scene.project_with(ProjectionSettings {
        interval: Duration::from_millis(100),
        ..scene.settings()
    });
    let ledger = &scene.ledger;
    let changing = async {
        let pods = stream::iter(0..HOLDS);
        pods.for_each_concurrent(16, async |number| {
            let pod = format!("pod-{number}");
            ledger.allocate(scene.name, RANGE, &pod).await;
            if number % 3 == 0 {
                ledger.release(scene.name, &pod).await;
            }
        })
        .await;
    };
    // Meanwhile every version of the pool that can be seen is kept.
    let mut seen: BTreeMap<u64, BTreeMap<String, String>> = BTreeMap::new();
    let watching = async {
        loop {
            let pool = scene.objects.api(Pool).get_opt(POOL).await.unwrap();
            if let Some(pool) = pool {
                let shown = entries_of(&pool.data["spec"]);
                seen.insert(position(&pool, scene.name), shown);
            }
            tokio::time::sleep(Duration::from_millis(25)).await;
        }
    };
    tokio::select! {
        () = changing => {}
        () = watching => {}
    }
    let left = HOLDS - HOLDS.div_ceil(3);
    scene.shows(left).await;
    until("the pool shows the last holds", async || {
        scene.objects.entries(POOL).await.len() == left
    })
    .await;
    assert!(seen.len() >= 3, "only {} positions were seen", seen.len());
    for (seq, shown) in &seen {
        let holds = ledger.holds(scene.name, Some(*seq)).await;
        assert_eq!(*shown, keys_of(&holds), "the pool as of {seq}");
    }
    for reservation in scene.objects.all(Reservation).await {
        let seq = position(&reservation, scene.name);
        let holds = ledger.holds(scene.name, Some(seq)).await;
        let held: BTreeSet<&str> = holds.iter().map(|hold| hold.address.as_str()).collect();
        let name = reservation.metadata.name.as_deref().unwrap();
        assert!(held.contains(name), "{name} was not held as of {seq}");
    }
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_thousand_events_in_a_second_become_few_writes_of_pools() {
    let scene = Scene::start("burst").await;
    let world = scene.project_with(ProjectionSettings {
        namespace: scene.name.to_owned(),
        ..ProjectionSettings::new(scene.name)
    });
    // Ten pools, each of which was there before.
    let range = |number: usize| format!("10.30.{}.0/24", number % 10);
    for number in 0..10 {
        scene
            .allocate(&range(number), &format!("first-{number}"))
            .await;
    }
    scene.shows(10).await;
    world.settles(1).await;
    let before = world.metric("writes_total");
    let started = Instant::now();
    let ledger = &scene.ledger;
    stream::iter(0..500)
        .for_each_concurrent(64, async |number| {
            let pod = format!("pod-{number}");
            ledger.allocate(scene.name, &range(number), &pod).await;
            ledger.release(scene.name, &pod).await;
        })
        .await;
    let burst = started.elapsed();
    let events = ledger.events(scene.name).await.len();
    assert!(events > 1000, "{events} events");
    let head = events as u64;
    until("everything is shown", async || {
        let pools = scene.objects.all(Pool).await;
        let latest = pools.iter().map(|pool| position(pool, scene.name)).max();
        world.metric("lag_positions") == 0.0
            && world.metric("lag_seconds") == 0.0
            && latest.is_some_and(|latest| latest <= head)
            && scene.objects.reservations().await.len() == 10
    })
    .await;
    let behind = started.elapsed() - burst;
    assert!(
        behind < Duration::from_secs(5),
        "shown {behind:?} after the last event"
    );
    // Ten pools and the reservations that a pass caught alive.
    let writes = world.metric("writes_total") - before;
    println!("{events} events in {burst:?}: {writes} writes, shown {behind:?} later");
    let passes = burst.as_secs_f64() + 3.0;
    let most = passes * (2.0 * 10.0 + 2.0 * 64.0);
    assert!(writes <= most, "{writes} writes in {burst:?}");
    world.stop().await;
}
