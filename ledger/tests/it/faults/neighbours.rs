//! Requests that are decided together: equal ones are one, and a bad one is alone.

use std::collections::BTreeSet;

use ledger::answer::Allocated;
use ledger::{Error, Ledger};
use tokio::task::JoinSet;

use crate::guard::chain;
use crate::guard::sql::{run, superuser, text};
use crate::support::{Bench, add, allocate, del, release};

const RANGE: &str = "10.0.0.0/16";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn fifty_equal_requests_make_one_event_and_get_one_answer() {
    let bench = Bench::new().await;
    // The second round finds the space open and is decided in one batch or a few.
    for container in ["same-1", "same-2"] {
        let mut calls = JoinSet::new();
        for _ in 0..50 {
            let ledger = bench.ledger.clone();
            calls.spawn(async move { add(&ledger, allocate(container, RANGE)).await });
        }
        let answers: Vec<Allocated> = calls
            .join_all()
            .await
            .into_iter()
            .map(|told| told.expect("an address"))
            .collect();
        let first = &answers[0];
        for other in &answers {
            assert_eq!(
                other.addresses, first.addresses,
                "address, step, position and time"
            );
        }
        assert_eq!(answers.iter().filter(|told| !told.repeated).count(), 1);
    }
    let observer = superuser(&bench.database).await;
    assert_eq!(chain::verify(&observer).await, 2);
    let receipt = add(&bench.ledger, allocate("same-2", RANGE))
        .await
        .unwrap()
        .addresses[0]
        .receipt
        .unwrap();
    let stored = "select (extract(epoch from recorded_at) * 1000000)::bigint \
        from ipledger.events where seq = 2";
    assert_eq!(
        text(&observer, stored).await,
        receipt.recorded_at.as_microsecond().to_string()
    );
    bench.ledger.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn fifty_equal_releases_make_one_event() {
    let bench = Bench::new().await;
    add(&bench.ledger, allocate("c1", RANGE)).await.unwrap();
    let mut calls = JoinSet::new();
    for _ in 0..50 {
        let ledger = bench.ledger.clone();
        calls.spawn(async move { del(&ledger, release("c1")).await });
    }
    let mut freed = 0;
    for told in calls.join_all().await {
        freed += told.expect("success, whoever came first").released.len();
    }
    assert_eq!(freed, 1);
    assert_eq!(chain::verify(&superuser(&bench.database).await).await, 2);
    bench.ledger.close().await;
}

/// What PostgreSQL cannot store as text.
const POISON: &str = "poison\0";

/// Neighbours of a request that the database refuses; all wait for the lane at the same time.
async fn together(bench: &Bench, poisoned: impl AsyncFn(Ledger) -> Result<(), Error> + Send) {
    let blocker = superuser(&bench.database).await;
    run(&blocker, "begin; select from ipledger.spaces for update").await;
    let mut calls = JoinSet::new();
    for number in 0..20 {
        let ledger = bench.ledger.clone();
        calls.spawn(async move { add(&ledger, allocate(&format!("good-{number}"), RANGE)).await });
    }
    let bad = poisoned(bench.ledger.clone());
    let (told, ()) = tokio::join!(bad, async {
        tokio::task::yield_now().await;
        run(&blocker, "rollback").await;
    });
    let error = told.expect_err("a poisoned request");
    assert_eq!(error.kind(), "internal", "{error}");
    let mut ips = BTreeSet::new();
    for told in calls.join_all().await {
        ips.insert(told.expect("a neighbour is served").addresses[0].ip);
    }
    assert_eq!(ips.len(), 20);
}

#[tokio::test]
async fn a_request_that_the_database_refuses_fails_alone() {
    let bench = Bench::new().await;
    add(&bench.ledger, allocate("first", RANGE)).await.unwrap();
    together(&bench, async |ledger| {
        add(&ledger, allocate(POISON, RANGE)).await.map(|_| ())
    })
    .await;
    let observer = superuser(&bench.database).await;
    assert_eq!(chain::verify(&observer).await, 21);
    bench.ledger.close().await;
}

#[tokio::test]
async fn a_space_that_the_database_refuses_fails_alone() {
    let bench = Bench::new().await;
    add(&bench.ledger, allocate("first", RANGE)).await.unwrap();
    together(&bench, async |ledger| {
        let mut request = allocate("c", RANGE);
        request.space.network_name = POISON.to_owned();
        add(&ledger, request).await.map(|_| ())
    })
    .await;
    let observer = superuser(&bench.database).await;
    assert_eq!(chain::verify(&observer).await, 21);
    assert_eq!(
        text(&observer, "select count(*) from ipledger.spaces").await,
        "1"
    );
    bench.ledger.close().await;
}

#[tokio::test]
async fn a_tombstone_that_the_database_refuses_fails_alone() {
    let bench = Bench::new().await;
    add(&bench.ledger, allocate("first", RANGE)).await.unwrap();
    together(&bench, async |ledger| {
        let mut request = release("never-there");
        request.attachment.cluster = POISON.to_owned();
        del(&ledger, request).await.map(|_| ())
    })
    .await;
    assert_eq!(chain::verify(&superuser(&bench.database).await).await, 21);
    bench.ledger.close().await;
}
