//! whereabouts v0.9.4 itself, on our objects and beside us during the swap.

use std::collections::{BTreeMap, BTreeSet};

use ipledger_sync::cut_over::{CutOver, close, hand_back, open};
use ipledger_sync::project::ObjectKind::Pool;

use crate::support::{Incumbent, Scene, container_id, until};

const RANGE: &str = "10.10.3.0/24";
const POOL: &str = "10.10.3.0-24";

#[tokio::test(flavor = "multi_thread")]
async fn it_goes_on_from_our_objects() {
    let scene = Scene::start("back").await;
    let mut ours = BTreeMap::new();
    for pod in ["a", "b", "c", "d"] {
        ours.insert(pod, scene.allocate(RANGE, pod).await);
    }
    scene.ledger.release(scene.name, "b").await;
    let freed = ours.remove("b").unwrap();
    let cut_over = scene.cut_over();
    close(&cut_over, "back to whereabouts").await.unwrap();
    let handed = hand_back(&cut_over).await.unwrap();
    assert_eq!(handed.objects, 4);

    let incumbent = Incumbent::start(&scene);
    // A pod that has an address keeps it.
    let again = incumbent.add("default", "a", &container_id("a"), RANGE);
    assert_eq!(again.unwrap(), ours["a"]);
    // New pods get free ones, the lowest first, and none that is held.
    let held: BTreeSet<String> = ours.values().cloned().collect();
    let mut given = BTreeSet::new();
    for pod in ["w1", "w2", "w3"] {
        let address = incumbent
            .add("default", pod, &format!("container-{pod}"), RANGE)
            .unwrap();
        assert!(!held.contains(&address), "{address} is held");
        assert!(given.insert(address.clone()), "{address} was given twice");
    }
    assert!(given.contains(&freed), "{given:?}");
    // A range that overlaps asks the reservations, and those are ours too.
    let address = incumbent
        .add("default", "w4", "container-w4", "10.10.3.0/28")
        .unwrap();
    assert!(
        !held.contains(&address) && given.insert(address),
        "{given:?}"
    );
    // The end of a pod of our time frees its entry.
    incumbent.del("default", "c", &container_id("c"), RANGE);
    let entries = scene.objects.entries(POOL).await;
    assert!(
        !entries.values().any(|podref| podref == "default/c"),
        "{entries:?}"
    );
    assert!(!scene.objects.reservations().await.contains_key(&ours["c"]));
}

/// The final import without the nodes' reports: in this cluster are none.
async fn open_now(cut_over: &CutOver) {
    let opened = open(cut_over, "swap is done", false, |_, _| {})
        .await
        .unwrap();
    assert!(opened.opened, "{:?}", opened.status);
}

#[tokio::test(flavor = "multi_thread")]
async fn it_allocates_on_one_side_during_the_swap_without_a_duplicate() {
    let scene = Scene::start("swap").await;
    let incumbent = Incumbent::start(&scene);
    let mut given: BTreeMap<String, String> = BTreeMap::new();
    let mut note = |address: String, who: &str| {
        let before = given.insert(address.clone(), who.to_owned());
        assert_eq!(before, None, "{address} was given to {who} too");
    };
    let first = incumbent
        .add("default", "before", "container-before", RANGE)
        .unwrap();
    note(first, "before");
    let cut_over = CutOver {
        // These pods are not in the cluster.
        keep_gone: true,
        ..scene.cut_over()
    };
    close(&cut_over, "swap to ipledger").await.unwrap();
    let world = scene.project();
    // An early import, as an operator makes to look at the report; it is repeated at the end.
    ipledger_sync::cut_over::import_now(&cut_over, |_, _| {})
        .await
        .unwrap();
    // Both sides are asked at the same time.
    let theirs = async {
        let mut addresses = Vec::new();
        for number in 0..12 {
            let (pod, container) = (format!("old-{number}"), format!("container-{number}"));
            let incumbent = incumbent.clone();
            let add = move || incumbent.add("default", &pod, &container, RANGE).unwrap();
            addresses.push(tokio::task::spawn_blocking(add).await.unwrap());
        }
        addresses
    };
    let ours = async {
        for number in 0.. {
            let pod = format!("new-{number}");
            let refused = scene
                .ledger
                .try_allocate(scene.name, RANGE, &pod)
                .await
                .unwrap_err();
            assert_eq!(refused.kind(), "gated");
        }
    };
    let addresses = tokio::select! {
        addresses = theirs => addresses,
        () = ours => unreachable!("it asks for ever"),
    };
    for (number, address) in addresses.into_iter().enumerate() {
        note(address, &format!("old-{number}"));
    }
    open_now(&cut_over).await;
    for number in 0..12 {
        let pod = format!("new-{number}");
        note(scene.allocate(RANGE, &pod).await, &pod);
    }
    assert_eq!(given.len(), 25);
    // Everything is in the objects as well, under whereabouts' keys.
    until("the objects show both", async || {
        scene.objects.entries(POOL).await.len() == 25
            && scene.objects.reservations().await.len() == 25
    })
    .await;
    assert!(
        scene.objects.notes(Pool, POOL).await.is_empty(),
        "nothing was foreign"
    );
    // The pods of before end as all others, through the ledger.
    scene
        .ledger
        .release_container(scene.name, "container-before")
        .await;
    until("the release is shown", async || {
        scene.objects.entries(POOL).await.len() == 24
    })
    .await;
    assert_eq!(scene.objects.specs(Pool).await.len(), 1);
    world.stop().await;
}
