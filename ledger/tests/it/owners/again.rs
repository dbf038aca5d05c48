//! A repeated ADD appends nothing, but it is a call: an earlier DEL that arrives later frees nothing.

use ledger::Ledger;

use super::exhausted::end;
use super::imported::{entry, import};
use super::{Shape as _, del_for, held_by, history, refusal, sandbox};
use crate::support::{Bench, add, del, ip, ips, open};

const BOOT_A: u128 = 0xa;
const BOOT_B: u128 = 0xb;

/// The DEL of 200 waited in a release queue while the ADDs of 100 and 300 came through.
async fn assert_late_del_frees_nothing(ledger: &Ledger) {
    let late = del_for(&sandbox("c1", "uid-1")).at(BOOT_A, 200);
    let late = del(ledger, late).await.expect("an answer");
    assert!(late.stale && late.released.is_empty(), "{late:?}");
    assert_eq!(held_by(ledger, "c1").await, ["10.0.0.1"]);
}

#[tokio::test]
async fn repeat_is_later_than_a_del_that_arrives_after_it() {
    let bench = Bench::new().await;
    let replica = open(&bench.database).await;
    let request = sandbox("c1", "uid-1");
    add(&bench.ledger, request.clone().at(BOOT_A, 100))
        .await
        .unwrap();
    // It follows, so that its memory has the first token and nothing tells it of the second.
    assert!(
        add(&replica, request.clone().at(BOOT_A, 100))
            .await
            .unwrap()
            .repeated
    );
    let before = history(&bench.ledger, "prod").await;
    let again = add(&bench.ledger, request.clone().at(BOOT_A, 300)).await;
    assert!(again.unwrap().repeated);
    assert_late_del_frees_nothing(&replica).await;
    assert_late_del_frees_nothing(&bench.ledger).await;
    let reopened = open(&bench.database).await;
    assert_late_del_frees_nothing(&reopened).await;
    assert_eq!(history(&bench.ledger, "prod").await, before);
    // And the DEL that belongs to the repeat frees it.
    let due = del(&reopened, del_for(&request).at(BOOT_A, 400)).await;
    assert_eq!(due.unwrap().released.len(), 1);
    reopened.close().await;
    replica.close().await;
    bench.ledger.close().await;
}

#[tokio::test]
async fn repeat_with_an_earlier_token_moves_nothing_back() {
    let bench = Bench::new().await;
    let replica = open(&bench.database).await;
    let request = sandbox("c1", "uid-1");
    for (ledger, boottime_ns) in [(&bench.ledger, 100), (&replica, 300), (&bench.ledger, 250)] {
        add(ledger, request.clone().at(BOOT_A, boottime_ns))
            .await
            .unwrap();
    }
    let late = del(&bench.ledger, del_for(&request).at(BOOT_A, 290)).await;
    assert!(late.unwrap().stale);
    replica.close().await;
    bench.ledger.close().await;
}

#[tokio::test]
async fn repeat_on_a_later_boot_is_later_on_every_replica() {
    let bench = Bench::new().await;
    let replica = open(&bench.database).await;
    let request = sandbox("c1", "uid-1");
    add(&bench.ledger, request.clone().at(BOOT_A, 9_000))
        .await
        .unwrap();
    add(&replica, request.clone().at(BOOT_A, 9_000))
        .await
        .unwrap();
    let again = add(&bench.ledger, request.clone().at(BOOT_B, 5)).await;
    assert!(again.unwrap().repeated);
    let reopened = open(&bench.database).await;
    for ledger in [&replica, &reopened, &bench.ledger] {
        let late = del(ledger, del_for(&request).at(BOOT_A, 9_500)).await;
        assert!(late.unwrap().stale);
    }
    let due = del(&replica, del_for(&request).at(BOOT_B, 6)).await;
    assert_eq!(due.unwrap().released.len(), 1);
    reopened.close().await;
    replica.close().await;
    bench.ledger.close().await;
}

#[tokio::test]
async fn newer_sandbox_that_began_before_the_repeat_takes_nothing_over() {
    let bench = Bench::new().await;
    let replica = open(&bench.database).await;
    let (old, new) = (sandbox("c1", "uid-1"), sandbox("c2", "uid-1"));
    for ledger in [&bench.ledger, &replica] {
        add(ledger, old.clone().at(BOOT_A, 100)).await.unwrap();
    }
    add(&bench.ledger, old.at(BOOT_A, 300)).await.unwrap();
    let late = add(&replica, new.at(BOOT_A, 200)).await;
    assert_eq!(refusal(late).kind(), "stale");
    assert_eq!(held_by(&replica, "c1").await, ["10.0.0.1"]);
    replica.close().await;
    bench.ledger.close().await;
}

/// Whatever ended the hold, the repeat was the last call of the pod's interface.
#[tokio::test]
async fn repeat_counts_after_its_hold_ended_without_a_call() {
    let bench = Bench::new().await;
    let replica = open(&bench.database).await;
    let (old, new) = (sandbox("c1", "uid-1"), sandbox("c2", "uid-1"));
    for ledger in [&bench.ledger, &replica] {
        add(ledger, old.clone().at(BOOT_A, 100)).await.unwrap();
    }
    add(&bench.ledger, old.at(BOOT_A, 300)).await.unwrap();
    end(&bench.ledger, "prod", ip("10.0.0.1"), 0).await;
    let reopened = open(&bench.database).await;
    for ledger in [&bench.ledger, &reopened] {
        let late = add(ledger, new.clone().at(BOOT_A, 200)).await;
        assert_eq!(refusal(late).kind(), "stale");
    }
    // The next holder begins anew.
    let next = sandbox("c3", "uid-3");
    let given = add(&replica, next.clone().at(BOOT_A, 50)).await.unwrap();
    assert_eq!(ips(&given), ["10.0.0.1"]);
    let due = del(&replica, del_for(&next).at(BOOT_A, 60)).await;
    assert_eq!(due.unwrap().released.len(), 1);
    reopened.close().await;
    replica.close().await;
    bench.ledger.close().await;
}

#[tokio::test]
async fn repeat_of_an_imported_hold_gives_it_an_order() {
    let bench = Bench::new().await;
    import(&bench.ledger, entry("10.0.0.50", Some("net1"))).await;
    let replica = open(&bench.database).await;
    let own = sandbox("c1", "uid-1");
    assert!(
        add(&bench.ledger, own.clone().at(BOOT_A, 300))
            .await
            .unwrap()
            .repeated
    );
    for ledger in [&replica, &bench.ledger] {
        let late = del(ledger, del_for(&own).at(BOOT_A, 200)).await;
        assert!(late.unwrap().stale);
    }
    replica.close().await;
    bench.ledger.close().await;
}

#[tokio::test]
async fn dry_run_of_a_repeat_is_no_call() {
    let bench = Bench::new().await;
    let request = sandbox("c1", "uid-1");
    add(&bench.ledger, request.clone().at(BOOT_A, 100))
        .await
        .unwrap();
    let mut look = request.clone().at(BOOT_A, 300);
    look.dry_run = true;
    add(&bench.ledger, look).await.unwrap();
    let due = del(&bench.ledger, del_for(&request).at(BOOT_A, 200)).await;
    assert_eq!(due.unwrap().released.len(), 1);
    bench.ledger.close().await;
}
