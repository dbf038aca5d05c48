//! Pods of one name: reborn with another UID, or without a UID at all.

use super::{SMALL, ShapeAllocate as _, del_for, held_by, refusal, sandbox};
use crate::support::{Bench, add, del, ips};

#[tokio::test]
async fn stateful_set_reborn_neither_frees_nor_inherits() {
    let bench = Bench::new().await;
    let old = sandbox("c1", "uid-1").ranges(&[SMALL]);
    let new = sandbox("c2", "uid-2").ranges(&[SMALL]);
    add(&bench.ledger, old.clone()).await.unwrap();
    let reborn = add(&bench.ledger, new.clone()).await.unwrap();
    assert_eq!(ips(&reborn), ["10.0.0.2"]);
    del(&bench.ledger, del_for(&new)).await.unwrap();
    assert_eq!(held_by(&bench.ledger, "c1").await, ["10.0.0.1"]);

    // Nor when it asks for that very address, or when no other is left.
    let asks = sandbox("c3", "uid-2").ranges(&[SMALL]).ips(&["10.0.0.1"]);
    assert_eq!(
        refusal(add(&bench.ledger, asks).await).kind(),
        "address_taken"
    );
    let other = sandbox("x", "uid-x").ranges(&[SMALL]);
    add(&bench.ledger, other).await.unwrap();
    let full = sandbox("c4", "uid-2").ranges(&[SMALL]);
    assert_eq!(refusal(add(&bench.ledger, full).await).kind(), "exhausted");
    assert_eq!(held_by(&bench.ledger, "c1").await, ["10.0.0.1"]);
    bench.ledger.close().await;
}

#[tokio::test]
async fn stateful_set_reborn_waits_for_the_cool_down_of_its_predecessor() {
    let bench = Bench::new().await;
    let of = |container, uid| sandbox(container, uid).between("10.0.0.9", "10.0.0.9");
    let old = of("c1", "uid-1").cooldown(3_600);
    add(&bench.ledger, old.clone()).await.unwrap();
    del(&bench.ledger, del_for(&old)).await.unwrap();
    let reborn = add(&bench.ledger, of("c2", "uid-2")).await;
    assert_eq!(refusal(reborn).kind(), "cooling");
    bench.ledger.close().await;
}

#[tokio::test]
async fn uid_missing_takes_over_on_the_same_node() {
    let bench = Bench::new().await;
    let of = |container| sandbox(container, "").without_uid(Some("node-1"));
    add(&bench.ledger, of("c1")).await.unwrap();
    let taken = add(&bench.ledger, of("c2")).await.unwrap();
    assert_eq!(ips(&taken), ["10.0.0.1"]);
    assert!(held_by(&bench.ledger, "c1").await.is_empty());
    bench.ledger.close().await;
}

#[tokio::test]
async fn uid_missing_does_not_take_over_on_another_node() {
    let bench = Bench::new().await;
    let on = |container, node| sandbox(container, "").without_uid(Some(node));
    add(&bench.ledger, on("c1", "node-1")).await.unwrap();
    let there = add(&bench.ledger, on("c2", "node-2")).await.unwrap();
    assert_eq!(ips(&there), ["10.0.0.2"]);
    assert_eq!(held_by(&bench.ledger, "c1").await, ["10.0.0.1"]);
    bench.ledger.close().await;
}

#[tokio::test]
async fn uid_missing_does_not_take_over_without_a_node() {
    let bench = Bench::new().await;
    let of = |container| sandbox(container, "").without_uid(None);
    add(&bench.ledger, of("c1")).await.unwrap();
    let other = add(&bench.ledger, of("c2")).await.unwrap();
    assert_eq!(ips(&other), ["10.0.0.2"]);
    assert_eq!(held_by(&bench.ledger, "c1").await, ["10.0.0.1"]);
    bench.ledger.close().await;
}

#[tokio::test]
async fn uid_missing_stands_for_one_namespace_and_one_interface() {
    let bench = Bench::new().await;
    let of = |container| sandbox(container, "").without_uid(Some("node-1"));
    add(&bench.ledger, of("c1")).await.unwrap();
    let other = add(&bench.ledger, of("c2").ifname("net2")).await.unwrap();
    assert_eq!(ips(&other), ["10.0.0.2"]);
    let mut elsewhere = of("c3");
    "team-b".clone_into(&mut elsewhere.owner.as_mut().unwrap().namespace);
    let elsewhere = add(&bench.ledger, elsewhere).await.unwrap();
    assert_eq!(ips(&elsewhere), ["10.0.0.3"]);
    assert_eq!(held_by(&bench.ledger, "c1").await, ["10.0.0.1"]);
    bench.ledger.close().await;
}
