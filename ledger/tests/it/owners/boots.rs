//! Boots that nobody, or only another replica, has heard of, and calls that do not know their node.

use std::time::Instant;

use ledger::Command;
use ledger::command::Count;

use super::exhausted::end;
use super::{Shape as _, ShapeAllocate as _, del_for, held_by, refusal, sandbox};
use crate::support::{Bench, WAIT, add, del, ip, ips, open};

const BOOT_A: u128 = 0xa;
const BOOT_B: u128 = 0xb;
const BOOT_C: u128 = 0xc;

#[tokio::test]
async fn first_call_of_a_boot_is_a_del_that_finds_nothing() {
    let bench = Bench::new().await;
    let request = sandbox("c1", "uid-1");
    del(&bench.ledger, del_for(&request).at(BOOT_A, 200))
        .await
        .unwrap();
    // Another boot is seen before the ADD arrives, and takes no place that was boot A's.
    let other = sandbox("c9", "uid-9").at(BOOT_B, 1);
    add(&bench.ledger, other).await.unwrap();
    let late = add(&bench.ledger, request.clone().at(BOOT_A, 100)).await;
    assert_eq!(refusal(late).kind(), "deleted");
    add(&bench.ledger, request.at(BOOT_A, 300)).await.unwrap();
    bench.ledger.close().await;
}

#[tokio::test]
async fn del_that_does_not_know_its_node_is_of_the_same_boot() {
    let bench = Bench::new().await;
    let ledger = &bench.ledger;
    let request = sandbox("c1", "uid-1");
    add(ledger, request.clone().at(BOOT_A, 100)).await.unwrap();
    let mut bare = del_for(&request).at(BOOT_A, 50);
    bare.owner = None;
    assert!(del(ledger, bare.clone()).await.unwrap().stale);
    let freed = del(ledger, bare.at(BOOT_A, 200)).await.unwrap();
    assert_eq!(freed.released.len(), 1);
    // What the boot calls next is later, for the sandbox and for the pod.
    add(ledger, request.at(BOOT_A, 300)).await.unwrap();
    let newer = sandbox("c2", "uid-1").at(BOOT_A, 400);
    assert_eq!(ips(&add(ledger, newer).await.unwrap()), ["10.0.0.1"]);
    bench.ledger.close().await;
}

#[tokio::test]
async fn boots_have_one_order_on_all_replicas() {
    let bench = Bench::new().await;
    let replica = open(&bench.database).await;
    // The node's first boot is seen by one replica, in a space of which the other one knows
    // nothing; its second boot by that other one, for another pod.
    let old = sandbox("c1", "uid-1").network_name("blue");
    add(&bench.ledger, old.clone().at(BOOT_A, 9_000))
        .await
        .unwrap();
    let other = sandbox("c9", "uid-9").at(BOOT_B, 1);
    add(&replica, other).await.unwrap();
    let new = sandbox("c2", "uid-1").network_name("blue").at(BOOT_B, 5);
    assert_eq!(ips(&add(&replica, new).await.unwrap()), ["10.0.0.1"]);
    for ledger in [&bench.ledger, &replica] {
        let late = sandbox("c0", "uid-1").network_name("blue");
        let late = add(ledger, late.at(BOOT_A, 9_999)).await;
        assert_eq!(refusal(late).kind(), "stale");
    }
    replica.close().await;
    bench.ledger.close().await;
}

#[tokio::test]
async fn delayed_add_is_stale_whoever_ended_the_successor() {
    let bench = Bench::new().await;
    let new = sandbox("c2", "uid-1").at(BOOT_A, 200);
    add(&bench.ledger, new).await.unwrap();
    // By evidence, which has no order token; and then the address goes to another pod.
    end(&bench.ledger, "prod", ip("10.0.0.1"), 0).await;
    let other = sandbox("c9", "uid-9").at(BOOT_C, 1);
    assert_eq!(ips(&add(&bench.ledger, other).await.unwrap()), ["10.0.0.1"]);
    let reopened = open(&bench.database).await;
    for ledger in [&bench.ledger, &reopened] {
        let late = add(ledger, sandbox("c1", "uid-1").at(BOOT_A, 100)).await;
        assert_eq!(refusal(late).kind(), "stale");
        // Its own ADD, delivered again, gets nothing either.
        let copy = add(ledger, sandbox("c2", "uid-1").at(BOOT_A, 199)).await;
        assert_eq!(refusal(copy).kind(), "stale");
    }
    reopened.close().await;
    bench.ledger.close().await;
}

#[tokio::test]
async fn busy_replica_looks_at_spaces_that_it_has_no_request_for() {
    let bench = Bench::new().await;
    let replica = open(&bench.database).await;
    let elsewhere = sandbox("c1", "uid-1").network_name("blue");
    add(&bench.ledger, elsewhere).await.unwrap();
    assert_eq!(held_by(&replica, "c1").await, ["10.0.0.1"]);
    // Asked without a pause, and by name: it answers as soon as it knows the space.
    let deadline = Instant::now() + WAIT;
    loop {
        let count = Count::Recorded(Some("prod/blue".to_owned()));
        match replica.execute(Command::Count(Box::new(count)), WAIT).await {
            Ok(_) => break,
            Err(error) => assert_eq!(error.kind(), "not_found"),
        }
        assert!(Instant::now() < deadline, "it never looks around");
    }
    replica.close().await;
    bench.ledger.close().await;
}
