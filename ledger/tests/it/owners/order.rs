//! Calls that arrive late, boots of a node, and a DEL that finds nothing.

use super::{Shape as _, ShapeAllocate as _, del_for, held_by, history, refusal, sandbox};
use crate::support::{Bench, add, del, ips, open};

const BOOT_A: u128 = 0xa;
const BOOT_B: u128 = 0xb;

#[tokio::test]
async fn delayed_add_of_an_old_sandbox_after_its_successor_is_stale() {
    let bench = Bench::new().await;
    let replica = open(&bench.database).await;
    let (old, new) = (sandbox("c1", "uid-1"), sandbox("c2", "uid-1"));
    add(&bench.ledger, new.clone().at(BOOT_A, 200))
        .await
        .unwrap();
    let before = history(&bench.ledger, "prod").await;
    // The replica has not looked since it was opened: the guard tells it.
    for ledger in [&bench.ledger, &replica] {
        let late = add(ledger, old.clone().at(BOOT_A, 100)).await;
        assert_eq!(refusal(late).kind(), "stale");
    }
    assert_eq!(held_by(&bench.ledger, "c2").await, ["10.0.0.1"]);
    assert_eq!(history(&bench.ledger, "prod").await, before);

    // The successor is gone too: its predecessor stays dead.
    del(&bench.ledger, del_for(&new).at(BOOT_A, 300))
        .await
        .unwrap();
    let reopened = open(&bench.database).await;
    for ledger in [&bench.ledger, &replica, &reopened] {
        let late = add(ledger, old.clone().at(BOOT_A, 100)).await;
        assert_eq!(refusal(late).kind(), "stale");
    }
    reopened.close().await;
    replica.close().await;
    bench.ledger.close().await;
}

#[tokio::test]
async fn delayed_add_is_stale_on_a_renamed_network_too() {
    let bench = Bench::new().await;
    let new = sandbox("c2", "uid-1").network("new-net").at(BOOT_A, 200);
    add(&bench.ledger, new.clone()).await.unwrap();
    let late = sandbox("c1", "uid-1").network_name("old").at(BOOT_A, 100);
    assert_eq!(refusal(add(&bench.ledger, late).await).kind(), "stale");
    // Its other interface has an order of its own.
    let other = sandbox("c1", "uid-1").ifname("net2").at(BOOT_A, 100);
    add(&bench.ledger, other).await.unwrap();
    bench.ledger.close().await;
}

#[tokio::test]
async fn delayed_del_succeeds_without_effect() {
    let bench = Bench::new().await;
    let request = sandbox("c1", "uid-1");
    add(&bench.ledger, request.clone().at(BOOT_A, 200))
        .await
        .unwrap();
    let late = del(&bench.ledger, del_for(&request).at(BOOT_A, 100)).await;
    let late = late.unwrap();
    assert!(late.stale);
    assert!(late.released.is_empty());
    assert_eq!(held_by(&bench.ledger, "c1").await, ["10.0.0.1"]);
    let due = del(&bench.ledger, del_for(&request).at(BOOT_A, 300)).await;
    let due = due.unwrap();
    assert!(!due.stale);
    assert_eq!(due.released.len(), 1);
    bench.ledger.close().await;
}

/// The pod's first sandbox ran on the boot seen first, long after that boot began.
async fn the_boot_seen_later_is_the_later(first: u128, second: u128) {
    let bench = Bench::new().await;
    let (old, new) = (sandbox("c1", "uid-1"), sandbox("c2", "uid-1"));
    add(&bench.ledger, old.clone().at(first, 9_000))
        .await
        .expect("an answer");
    let taken = add(&bench.ledger, new.clone().at(second, 5))
        .await
        .expect("an answer");
    assert_eq!(ips(&taken), ["10.0.0.1"]);
    assert_eq!(held_by(&bench.ledger, "c2").await, ["10.0.0.1"]);
    let replica = open(&bench.database).await;
    for ledger in [&bench.ledger, &replica] {
        let late = add(ledger, old.clone().at(first, 10_000)).await;
        assert_eq!(refusal(late).kind(), "stale");
        let late = del(ledger, del_for(&new).at(first, 10_000))
            .await
            .expect("an answer");
        assert!(late.stale);
    }
    let due = del(&replica, del_for(&new).at(second, 6))
        .await
        .expect("an answer");
    assert_eq!(due.released.len(), 1);
    replica.close().await;
    bench.ledger.close().await;
}

#[tokio::test]
async fn of_two_boots_the_one_first_seen_later_is_the_later() {
    the_boot_seen_later_is_the_later(BOOT_A, BOOT_B).await;
}

#[tokio::test]
async fn of_two_boots_the_one_first_seen_later_is_the_later_the_other_way_round() {
    the_boot_seen_later_is_the_later(BOOT_B, BOOT_A).await;
}

#[tokio::test]
async fn del_that_finds_nothing_succeeds_and_refuses_its_own_late_add() {
    let bench = Bench::new().await;
    let replica = open(&bench.database).await;
    let request = sandbox("c1", "uid-1");
    let nothing = del(&bench.ledger, del_for(&request)).await.unwrap();
    assert!(nothing.released.is_empty());
    assert!(!nothing.stale);
    let reopened = open(&bench.database).await;
    for ledger in [&bench.ledger, &replica, &reopened] {
        // Nothing tells whether the ADD is the later one, so it is taken for the late one.
        let late = add(ledger, request.clone()).await;
        assert_eq!(refusal(late).kind(), "deleted");
        let late = add(ledger, request.clone().at(BOOT_A, 100)).await;
        assert_eq!(refusal(late).kind(), "deleted");
    }
    // A tombstone is no event, and stands for this attachment alone.
    assert!(history(&bench.ledger, "prod").await.is_empty());
    let other = request.clone().ifname("net2");
    assert_eq!(ips(&add(&bench.ledger, other).await.unwrap()), ["10.0.0.1"]);
    let next = sandbox("c2", "uid-1");
    assert_eq!(ips(&add(&replica, next).await.unwrap()), ["10.0.0.2"]);
    reopened.close().await;
    replica.close().await;
    bench.ledger.close().await;
}

#[tokio::test]
async fn tombstone_lets_a_later_add_through() {
    let bench = Bench::new().await;
    let replica = open(&bench.database).await;
    let request = sandbox("c1", "uid-1");
    let buried = del_for(&request).at(BOOT_A, 200);
    del(&bench.ledger, buried.clone()).await.unwrap();
    for ledger in [&bench.ledger, &replica] {
        let late = add(ledger, request.clone().at(BOOT_A, 100)).await;
        assert_eq!(refusal(late).kind(), "deleted");
    }
    let later = request.clone().at(BOOT_A, 300);
    let later = add(&replica, later).await.unwrap();
    assert_eq!(ips(&later), ["10.0.0.1"]);
    // The DEL was delivered twice, and the copy comes after all.
    let copy = del(&bench.ledger, buried).await.unwrap();
    assert!(copy.stale);
    assert_eq!(held_by(&bench.ledger, "c1").await, ["10.0.0.1"]);
    let again = add(&bench.ledger, request.at(BOOT_A, 300)).await.unwrap();
    assert!(again.repeated);
    replica.close().await;
    bench.ledger.close().await;
}

#[tokio::test]
async fn tombstone_stands_against_an_earlier_boot_and_not_against_a_later_one() {
    let bench = Bench::new().await;
    // Both boots are known, A first.
    for (container, boot) in [("a", BOOT_A), ("b", BOOT_B)] {
        let other = sandbox(container, container).at(boot, 1);
        add(&bench.ledger, other).await.unwrap();
    }
    let (one, two) = (sandbox("c1", "uid-1"), sandbox("c2", "uid-2"));
    let dels = [del_for(&one).at(BOOT_A, 9_000), del_for(&two).at(BOOT_B, 5)];
    for buried in dels {
        let nothing = del(&bench.ledger, buried).await.unwrap();
        assert!(nothing.released.is_empty());
    }
    let replica = open(&bench.database).await;
    for ledger in [&bench.ledger, &replica] {
        let late = add(ledger, two.clone().at(BOOT_A, 9_000)).await;
        assert_eq!(refusal(late).kind(), "deleted");
    }
    let later = add(&replica, one.at(BOOT_B, 5)).await.unwrap();
    assert_eq!(ips(&later), ["10.0.0.3"]);
    replica.close().await;
    bench.ledger.close().await;
}
