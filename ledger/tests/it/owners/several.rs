//! Several ranges or families: all or none, and never one address twice.

use super::{RANGE, SMALL, ShapeAllocate as _, del_for, held_by, history, refusal, sandbox};
use crate::support::{Bench, add, del, ips, window};

#[tokio::test]
async fn several_ranges_and_families_are_allocated_together() {
    let bench = Bench::new().await;
    let ranges = [RANGE, "2001:db8::/64", "10.0.1.0/24"];
    let allocated = add(&bench.ledger, sandbox("c1", "uid-1").ranges(&ranges)).await;
    let allocated = allocated.unwrap();
    assert_eq!(ips(&allocated), ["10.0.0.1", "2001:db8::1", "10.0.1.1"]);
    let pools: Vec<String> = allocated
        .addresses
        .iter()
        .map(|address| address.pool.to_string())
        .collect();
    assert_eq!(pools, ranges);
    let seqs = allocated.addresses.iter();
    let seqs: Vec<u64> = seqs.map(|address| address.receipt.unwrap().seq).collect();
    assert_eq!(seqs, [1, 2, 3]);
    bench.ledger.close().await;
}

#[tokio::test]
async fn several_ranges_of_which_one_is_full_allocate_none() {
    let bench = Bench::new().await;
    let full = sandbox("x", "uid-x").between("10.0.0.1", "10.0.0.1");
    add(&bench.ledger, full.clone()).await.unwrap();
    let before = history(&bench.ledger, "prod").await;
    let mut both = sandbox("c1", "uid-1").ranges(&["2001:db8::/64", RANGE]);
    both.ranges[1] = full.ranges[0].clone();
    assert_eq!(
        refusal(add(&bench.ledger, both.clone()).await).kind(),
        "exhausted"
    );
    both.ranges.reverse();
    assert_eq!(refusal(add(&bench.ledger, both).await).kind(), "exhausted");
    assert_eq!(history(&bench.ledger, "prod").await, before);
    assert!(held_by(&bench.ledger, "c1").await.is_empty());
    bench.ledger.close().await;
}

#[tokio::test]
async fn overlapping_ranges_never_give_one_address_twice() {
    let bench = Bench::new().await;
    let twice = sandbox("c1", "uid-1").ranges(&[RANGE, RANGE]);
    let twice = add(&bench.ledger, twice).await.unwrap();
    assert_eq!(ips(&twice), ["10.0.0.1", "10.0.0.2"]);
    // Other CIDRs of one space overlap as well.
    let nested = sandbox("c2", "uid-2").ranges(&["10.0.0.0/16", RANGE, SMALL]);
    assert_eq!(
        refusal(add(&bench.ledger, nested).await).kind(),
        "exhausted"
    );
    let nested = sandbox("c2", "uid-2").ranges(&["10.0.0.0/16", RANGE, "10.0.0.0/28"]);
    let nested = add(&bench.ledger, nested).await.unwrap();
    assert_eq!(ips(&nested), ["10.0.0.3", "10.0.0.4", "10.0.0.5"]);
    bench.ledger.close().await;
}

#[tokio::test]
async fn overlapping_ranges_with_more_ranges_than_addresses_are_refused() {
    let bench = Bench::new().await;
    let three = sandbox("c1", "uid-1").ranges(&[SMALL, SMALL, SMALL]);
    assert_eq!(refusal(add(&bench.ledger, three).await).kind(), "exhausted");
    assert!(history(&bench.ledger, "prod").await.is_empty());
    let two = sandbox("c1", "uid-1").ranges(&[SMALL, SMALL]);
    let two = add(&bench.ledger, two).await.unwrap();
    assert_eq!(ips(&two), ["10.0.0.1", "10.0.0.2"]);
    bench.ledger.close().await;
}

#[tokio::test]
async fn overlapping_ranges_with_a_fixed_address_give_it_once() {
    let bench = Bench::new().await;
    let fixed = sandbox("c1", "uid-1").ranges(&[RANGE, RANGE]);
    let fixed = add(&bench.ledger, fixed.ips(&["10.0.0.1"])).await.unwrap();
    assert_eq!(ips(&fixed), ["10.0.0.1", "10.0.0.2"]);
    // The fixed one belongs to the second range only.
    let mut second = sandbox("c2", "uid-2").ips(&["10.0.0.9"]);
    second.ranges = vec![
        window(RANGE, None, Some("10.0.0.8")),
        window(RANGE, None, None),
    ];
    let second = add(&bench.ledger, second).await.unwrap();
    assert_eq!(ips(&second), ["10.0.0.3", "10.0.0.9"]);
    bench.ledger.close().await;
}

#[tokio::test]
async fn overlapping_ranges_taken_over_keep_both_addresses() {
    let bench = Bench::new().await;
    let of = |container| sandbox(container, "uid-1").ranges(&[RANGE, RANGE]);
    add(&bench.ledger, of("c1")).await.unwrap();
    let taken = add(&bench.ledger, of("c2")).await.unwrap();
    assert_eq!(ips(&taken), ["10.0.0.1", "10.0.0.2"]);
    // The first range now has only what the second held.
    let mut narrowed = of("c3");
    narrowed.ranges[0] = window(RANGE, Some("10.0.0.2"), None);
    let narrowed = add(&bench.ledger, narrowed).await.unwrap();
    assert_eq!(ips(&narrowed), ["10.0.0.2", "10.0.0.1"]);
    assert_eq!(held_by(&bench.ledger, "c3").await, ["10.0.0.2", "10.0.0.1"]);
    bench.ledger.close().await;
}

/// Each with a refusal of its own: the first kind in `docs/outcomes.md` is told, not that of the
/// first range.
#[tokio::test]
async fn several_ranges_are_refused_for_the_first_reason_of_any() {
    const TAKEN: &str = "10.1.0.0/30";
    const RESTING: &str = "10.2.0.0/30";
    const FULL: &str = "10.3.0.1/32";
    const ALL_REST: &str = "10.4.0.1/32";
    let bench = Bench::new().await;
    for range in [TAKEN, FULL] {
        let held = sandbox(range, range).ranges(&[range]);
        add(&bench.ledger, held).await.unwrap();
    }
    for range in [RESTING, ALL_REST] {
        let rested = sandbox(range, range).ranges(&[range]).cooldown(3_600);
        add(&bench.ledger, rested.clone()).await.unwrap();
        del(&bench.ledger, del_for(&rested)).await.unwrap();
    }
    let all = [ALL_REST, FULL, RESTING, TAKEN];
    let cases: [(&[&str], &[&str], &str); 4] = [
        (&all, &["10.2.0.1", "10.1.0.1"], "address_taken"),
        (&all, &["10.2.0.1"], "address_cooling"),
        (&all, &[], "exhausted"),
        (&[ALL_REST, RESTING, TAKEN], &[], "cooling"),
    ];
    for (ranges, ips, expected) in cases {
        let request = sandbox("c1", "uid-1").ranges(ranges).ips(ips);
        let refused = refusal(add(&bench.ledger, request).await);
        assert_eq!(refused.kind(), expected, "{ranges:?} {ips:?}");
    }
    bench.ledger.close().await;
}
