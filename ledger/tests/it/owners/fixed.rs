//! A fixed address: held by the owner's own older sandbox, by another, by nobody yet.

use ledger::Refusal;

use super::{RANGE, ShapeAllocate as _, del_for, held_by, history, refusal, sandbox};
use crate::support::{Bench, WAIT, add, del, ips};

#[tokio::test]
async fn fixed_address_of_the_owners_older_sandbox_is_taken_over() {
    let bench = Bench::new().await;
    let fixed = |container| sandbox(container, "uid-1").ips(&["10.0.0.77"]);
    add(&bench.ledger, fixed("c1")).await.unwrap();
    let taken = add(&bench.ledger, fixed("c2")).await.unwrap();
    assert_eq!(ips(&taken), ["10.0.0.77"]);
    assert_eq!(
        history(&bench.ledger, "prod").await,
        [
            "1 allocated 10.0.0.77 step 0 add",
            "2 released 10.0.0.77 step 1 takeover ends 1",
            "3 allocated 10.0.0.77 step 2 takeover",
        ]
    );
    bench.ledger.close().await;
}

#[tokio::test]
async fn fixed_address_replaces_the_one_that_the_older_sandbox_holds() {
    let bench = Bench::new().await;
    add(&bench.ledger, sandbox("c1", "uid-1")).await.unwrap();
    let fixed = sandbox("c2", "uid-1").ips(&["10.0.0.77"]);
    let moved = add(&bench.ledger, fixed).await.unwrap();
    assert_eq!(ips(&moved), ["10.0.0.77"]);
    assert!(held_by(&bench.ledger, "c1").await.is_empty());
    bench.ledger.close().await;
}

#[tokio::test]
async fn fixed_address_of_another_is_refused_with_its_holder_and_since_when() {
    let bench = Bench::new().await;
    let holder = sandbox("c1", "uid-1").ips(&["10.0.0.77"]);
    let since = add(&bench.ledger, holder.clone()).await.unwrap();
    let since = since.addresses[0].receipt.expect("a receipt");
    let before = history(&bench.ledger, "prod").await;

    let asked = || sandbox("c2", "uid-2").ips(&["10.0.0.77"]);
    let taken = refusal(add(&bench.ledger, asked()).await);
    assert_eq!(taken.kind(), "address_taken");
    let hold = taken.hold().expect("the hold in the way");
    let hold = bench.ledger.describe(hold, WAIT).await.unwrap();
    let hold = hold.expect("a holder");
    assert_eq!(hold.attachment, holder.attachment);
    assert_eq!(hold.owner, holder.owner);
    assert_eq!((hold.step, hold.recorded_at), (0, since.recorded_at));
    assert_eq!(history(&bench.ledger, "prod").await, before);

    // The same request succeeds when the holder is gone.
    del(&bench.ledger, del_for(&holder)).await.unwrap();
    let retried = add(&bench.ledger, asked()).await.unwrap();
    assert_eq!(ips(&retried), ["10.0.0.77"]);
    bench.ledger.close().await;
}

#[tokio::test]
async fn fixed_address_of_another_leaves_everything_the_owner_has() {
    let bench = Bench::new().await;
    add(&bench.ledger, sandbox("c1", "uid-1")).await.unwrap();
    let other = sandbox("x", "uid-x").ips(&["10.0.0.77"]);
    add(&bench.ledger, other).await.unwrap();
    let wants = sandbox("c2", "uid-1").ips(&["10.0.0.77"]);
    let wants = wants.ranges(&[RANGE, "2001:db8::/64"]);
    assert_eq!(
        refusal(add(&bench.ledger, wants).await).kind(),
        "address_taken"
    );
    assert_eq!(held_by(&bench.ledger, "c1").await, ["10.0.0.1"]);
    bench.ledger.close().await;
}

#[tokio::test]
async fn fixed_address_that_rests_is_refused_with_its_end_and_waived_for_its_owner() {
    let bench = Bench::new().await;
    let of = |container, uid| sandbox(container, uid).ips(&["10.0.0.77"]).cooldown(3_600);
    let first = of("c1", "uid-1");
    add(&bench.ledger, first.clone()).await.unwrap();
    let freed = del(&bench.ledger, del_for(&first)).await.unwrap();
    let freed_at = freed.released[0].receipt.recorded_at;
    let resting = refusal(add(&bench.ledger, of("c2", "uid-2")).await);
    assert_eq!(resting.kind(), "address_cooling");
    let Refusal::AddressCooling { ip, until } = resting else {
        panic!("{resting:?}");
    };
    assert_eq!(ip.to_string(), "10.0.0.77");
    assert_eq!(until.duration_since(freed_at).as_secs(), 3_600);
    let own = add(&bench.ledger, of("c3", "uid-1")).await.unwrap();
    assert_eq!(ips(&own), ["10.0.0.77"]);
    bench.ledger.close().await;
}

#[tokio::test]
async fn fixed_address_outside_the_window_or_twice_is_refused_by_name() {
    let bench = Bench::new().await;
    let outside = sandbox("c1", "uid-1").ips(&["10.0.9.9"]);
    let outside = refusal(add(&bench.ledger, outside).await);
    assert_eq!(outside.kind(), "address_outside_window");
    assert!(outside.to_string().contains("10.0.9.9"), "{outside}");
    let twice = sandbox("c1", "uid-1").ranges(&[RANGE, RANGE]);
    let twice = twice.ips(&["10.0.0.7", "10.0.0.7"]);
    let twice = refusal(add(&bench.ledger, twice).await);
    assert_eq!(twice.kind(), "invalid_request");
    assert!(history(&bench.ledger, "prod").await.is_empty());
    bench.ledger.close().await;
}
