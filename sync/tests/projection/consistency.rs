//! A storm of changes: every object always shows one position, and few writes are made.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;
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
    let positions = AtomicUsize::new(0);
    let change = async |numbers: Range<usize>| {
        let pods = stream::iter(numbers);
        pods.for_each_concurrent(16, async |number| {
            let pod = format!("pod-{number}");
            ledger.allocate(scene.name, RANGE, &pod).await;
            if number % 3 == 0 {
                ledger.release(scene.name, &pod).await;
            }
        })
        .await;
    };
    let changing = async {
        // However fast the ledger is, the last holds change when something was seen on the way.
        change(0..HOLDS / 2).await;
        until("a position on the way", async || {
            positions.load(Relaxed) >= 1
        })
        .await;
        change(HOLDS / 2..HOLDS).await;
        until("a later position", async || positions.load(Relaxed) >= 2).await;
    };
    // Meanwhile every version of the pool that can be seen is kept.
    let mut seen: BTreeMap<u64, BTreeMap<String, String>> = BTreeMap::new();
    let watching = async {
        loop {
            let pool = scene.objects.api(Pool).get_opt(POOL).await.unwrap();
            if let Some(pool) = pool {
                let shown = entries_of(&pool.data["spec"]);
                seen.insert(position(&pool, scene.name), shown);
                positions.store(seen.len(), Relaxed);
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
async fn a_thousand_events_in_a_second_become_few_writes() {
    let scene = Scene::start("burst").await;
    let world = scene.project_with(ProjectionSettings {
        namespace: scene.name.to_owned(),
        ..ProjectionSettings::new(scene.name)
    });
    scene.allocate("10.10.3.0/24", "first").await;
    scene.shows(1).await;
    world.settles(1).await;
    let before = world.metric("writes_total");
    // Ten pools of a hundred holds each, without reservations: each of those is an object of its
    // own and costs a write whoever makes it.
    let range = |number: usize| format!("10.30.{}.0/24", number % 10);
    let started = Instant::now();
    let ledger = &scene.ledger;
    stream::iter(0..HOLDS)
        .for_each_concurrent(64, async |number| {
            let pod = format!("pod-{number}");
            ledger
                .allocate_private(scene.name, &range(number), &pod)
                .await;
        })
        .await;
    let burst = started.elapsed();
    until("every hold is shown", async || {
        let pools = scene.objects.specs(Pool).await;
        let shown: usize = pools.values().map(|spec| entries_of(spec).len()).sum();
        shown == HOLDS + 1
    })
    .await;
    let behind = started.elapsed() - burst;
    let writes = world.metric("writes_total") - before;
    println!("{HOLDS} events in {burst:?}: {writes} writes, shown {behind:?} later");
    assert!(
        behind < Duration::from_secs(5),
        "shown {behind:?} after the last event"
    );
    // A pass per second, each of which writes each pool at most once.
    let passes = (burst + behind).as_secs_f64().ceil() + 1.0;
    assert!(writes <= 10.0 * passes, "{writes} writes in {passes} s");
    world.stop().await;
}
