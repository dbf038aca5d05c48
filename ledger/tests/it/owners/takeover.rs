//! A new sandbox of the same pod; a renamed definition.

use super::{RANGE, SMALL, ShapeAllocate as _, held, held_by, history, refusal, sandbox, spaces};
use crate::support::{Bench, add, ips};

#[tokio::test]
async fn new_sandbox_of_the_same_pod_takes_the_same_address_over() {
    let bench = Bench::new().await;
    add(&bench.ledger, sandbox("c1", "uid-1")).await.unwrap();
    add(&bench.ledger, sandbox("other", "uid-2")).await.unwrap();
    let taken = add(&bench.ledger, sandbox("c2", "uid-1")).await.unwrap();
    assert_eq!(ips(&taken), ["10.0.0.1"]);
    assert!(!taken.repeated);
    let receipt = taken.addresses[0].receipt.expect("a receipt");
    assert_eq!((receipt.step, receipt.seq), (2, 4));
    assert_eq!(
        history(&bench.ledger, "prod").await,
        [
            "1 allocated 10.0.0.1 step 0 add",
            "2 allocated 10.0.0.2 step 0 add",
            "3 released 10.0.0.1 step 1 takeover ends 1",
            "4 allocated 10.0.0.1 step 2 takeover",
        ]
    );
    assert!(held_by(&bench.ledger, "c1").await.is_empty());
    assert_eq!(held_by(&bench.ledger, "c2").await, ["10.0.0.1"]);
    bench.ledger.close().await;
}

#[tokio::test]
async fn takeover_keeps_every_address_of_several_ranges_in_its_range() {
    let bench = Bench::new().await;
    let dual = |container| sandbox(container, "uid-1").ranges(&[RANGE, "2001:db8::/64"]);
    add(&bench.ledger, sandbox("x", "uid-x")).await.unwrap();
    let first = add(&bench.ledger, dual("c1")).await.unwrap();
    let taken = add(&bench.ledger, dual("c2")).await.unwrap();
    assert_eq!(ips(&taken), ips(&first));
    // The ranges change places: the addresses go with them.
    let turned = sandbox("c3", "uid-1").ranges(&["2001:db8::/64", RANGE]);
    let turned = add(&bench.ledger, turned).await.unwrap();
    assert_eq!(ips(&turned), ["2001:db8::1", "10.0.0.2"]);
    bench.ledger.close().await;
}

#[tokio::test]
async fn takeover_of_a_full_pool_with_a_cool_down_keeps_the_address() {
    let bench = Bench::new().await;
    let of = |container, uid| sandbox(container, uid).ranges(&[SMALL]).cooldown(3_600);
    add(&bench.ledger, of("c1", "uid-1")).await.unwrap();
    add(&bench.ledger, of("x", "uid-x")).await.unwrap();
    let taken = add(&bench.ledger, of("c2", "uid-1")).await.unwrap();
    assert_eq!(ips(&taken), ["10.0.0.1"]);
    bench.ledger.close().await;
}

#[tokio::test]
async fn takeover_when_the_window_no_longer_holds_the_old_address() {
    let bench = Bench::new().await;
    add(&bench.ledger, sandbox("c1", "uid-1")).await.unwrap();
    let moved = sandbox("c2", "uid-1").between("10.0.0.100", "10.0.0.110");
    let moved = add(&bench.ledger, moved).await.unwrap();
    assert_eq!(ips(&moved), ["10.0.0.100"]);
    assert_eq!(
        history(&bench.ledger, "prod").await,
        [
            "1 allocated 10.0.0.1 step 0 add",
            "2 released 10.0.0.1 step 1 takeover ends 1",
            "3 allocated 10.0.0.100 step 0 add",
        ]
    );
    bench.ledger.close().await;
}

#[tokio::test]
async fn takeover_that_finds_its_new_window_full_leaves_the_old_hold_alone() {
    let bench = Bench::new().await;
    let narrow = |container, uid| sandbox(container, uid).between("10.0.0.100", "10.0.0.100");
    add(&bench.ledger, sandbox("c1", "uid-1")).await.unwrap();
    add(&bench.ledger, narrow("x", "uid-x")).await.unwrap();
    let before = history(&bench.ledger, "prod").await;
    let refusal = refusal(add(&bench.ledger, narrow("c2", "uid-1")).await);
    assert_eq!(refusal.kind(), "exhausted");
    assert_eq!(history(&bench.ledger, "prod").await, before);
    assert_eq!(held_by(&bench.ledger, "c1").await, ["10.0.0.1"]);
    bench.ledger.close().await;
}

#[tokio::test]
async fn renamed_definition_in_the_same_space_keeps_the_address() {
    let bench = Bench::new().await;
    let old = sandbox("c1", "uid-1").network("old-net");
    let new = sandbox("c2", "uid-1").network("new-net");
    add(&bench.ledger, old.clone()).await.unwrap();
    let taken = add(&bench.ledger, new.clone()).await.unwrap();
    assert_eq!(ips(&taken), ["10.0.0.1"]);
    assert!(held(&bench.ledger, &old.attachment).await.is_empty());
    assert_eq!(held(&bench.ledger, &new.attachment).await, ["10.0.0.1"]);
    bench.ledger.close().await;
}

#[tokio::test]
async fn renamed_network_name_ends_the_old_holds_in_their_space() {
    let bench = Bench::new().await;
    let old = sandbox("c1", "uid-1").network_name("old");
    let old = old.ranges(&[RANGE, "2001:db8::/64"]);
    add(&bench.ledger, old.clone()).await.unwrap();
    let new = sandbox("c2", "uid-1").network_name("new");
    let moved = add(&bench.ledger, new).await.unwrap();
    assert_eq!(spaces(&moved), ["prod/new"]);
    assert!(held(&bench.ledger, &old.attachment).await.is_empty());
    assert_eq!(
        history(&bench.ledger, "prod/old").await[2..],
        [
            "3 released 10.0.0.1 step 1 takeover ends 1",
            "4 released 2001:db8::1 step 1 takeover ends 2",
        ]
    );
    assert_eq!(
        history(&bench.ledger, "prod/new").await,
        ["1 allocated 10.0.0.1 step 0 add"]
    );
    bench.ledger.close().await;
}

#[tokio::test]
async fn renamed_definition_does_not_touch_the_pods_other_interface() {
    let bench = Bench::new().await;
    let other = sandbox("c1", "uid-1").ifname("net2").network("kept");
    add(&bench.ledger, other.clone()).await.unwrap();
    add(&bench.ledger, sandbox("c1", "uid-1").network("old-net"))
        .await
        .unwrap();
    add(&bench.ledger, sandbox("c2", "uid-1").network("new-net"))
        .await
        .unwrap();
    assert_eq!(held(&bench.ledger, &other.attachment).await, ["10.0.0.1"]);
    bench.ledger.close().await;
}

#[tokio::test]
async fn the_same_uid_in_another_cluster_is_another_owner() {
    let bench = Bench::new().await;
    let here = sandbox("c1", "uid-1");
    let there = sandbox("c2", "uid-1").cluster("stage");
    add(&bench.ledger, here.clone()).await.unwrap();
    add(&bench.ledger, there).await.unwrap();
    assert_eq!(held(&bench.ledger, &here.attachment).await, ["10.0.0.1"]);
    bench.ledger.close().await;
}
