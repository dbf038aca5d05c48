use ledger::refusal::Refusal;
use ledger::{Error, Ledger};

use super::{events, kind};
use crate::support::{Bench, WAIT, add, allocate, del, ip, ips, owner, release, token, window};

const RANGE: &str = "10.0.0.0/30";

fn refusal<T: std::fmt::Debug>(result: Result<T, Error>) -> Refusal {
    match result {
        Err(Error::Refused(refusal)) => refusal,
        other => panic!("not refused: {other:?}"),
    }
}

async fn bind(ledger: &Ledger, uid: &str) {
    let mut first = allocate("binder", "10.9.0.0/24");
    first.cluster_uid = Some(uid.to_owned());
    add(ledger, first).await.expect("an address");
}

#[tokio::test]
async fn allocate_fixed_address_twice() {
    let bench = Bench::new().await;
    let mut request = allocate("c1", RANGE);
    // The second one would be outside as well.
    request.ips = vec![ip("10.0.0.1"), ip("10.0.0.1")];
    let Refusal::Invalid { key, value, .. } = refusal(add(&bench.ledger, request).await) else {
        panic!("another refusal");
    };
    assert_eq!((key.as_str(), value.as_str()), ("ips[1]", "10.0.0.1"));
}

#[tokio::test]
async fn allocate_address_outside_window() {
    let bench = Bench::new().await;
    bind(&bench.ledger, "uid-a").await;
    let mut request = allocate("c1", RANGE);
    request.ips = vec![ip("10.0.0.3")];
    request.cluster_uid = Some("uid-b".to_owned());
    assert_eq!(
        kind(add(&bench.ledger, request).await),
        "address_outside_window"
    );
}

#[tokio::test]
async fn allocate_cluster_mismatch() {
    let bench = Bench::new().await;
    bind(&bench.ledger, "uid-a").await;
    add(&bench.ledger, allocate("c1", RANGE)).await.unwrap();
    let mut repeat = allocate("c1", RANGE);
    repeat.cluster_uid = Some("uid-b".to_owned());
    assert_eq!(kind(add(&bench.ledger, repeat).await), "cluster_mismatch");
}

#[tokio::test]
async fn allocate_repeated() {
    let bench = Bench::new().await;
    let mut request = allocate("c1", RANGE);
    request.token = Some(token(1, 20));
    let first = add(&bench.ledger, request.clone()).await.unwrap();
    let before = events(&bench).await;
    // An older token would be stale.
    request.token = Some(token(1, 10));
    let again = add(&bench.ledger, request).await.unwrap();
    assert!(again.repeated);
    assert_eq!(again.addresses, first.addresses);
    assert_eq!(events(&bench).await, before);
}

#[tokio::test]
async fn allocate_attachment_conflict() {
    let bench = Bench::new().await;
    let mut request = allocate("c1", RANGE);
    request.token = Some(token(1, 20));
    add(&bench.ledger, request.clone()).await.unwrap();
    request.token = Some(token(1, 10));
    request.ranges = vec![window("10.0.1.0/24", None, None)];
    let refused = refusal(add(&bench.ledger, request.clone()).await);
    let Refusal::AttachmentConflict { hold, .. } = refused else {
        panic!("{refused:?}")
    };
    assert_eq!(
        bench.ledger.differing_field(&request, &hold).await.unwrap(),
        "ranges[0]"
    );
}

#[tokio::test]
async fn allocate_stale() {
    let bench = Bench::new().await;
    let of = |container: &str, boottime_ns| {
        let mut request = allocate(container, RANGE);
        request.owner = Some(owner("pod", "uid-1"));
        request.token = Some(token(1, boottime_ns));
        request
    };
    add(&bench.ledger, of("new", 20)).await.unwrap();
    // The old sandbox's own DEL came first, so a tombstone stands as well.
    let mut gone = release("old");
    gone.token = Some(token(1, 15));
    del(&bench.ledger, gone).await.unwrap();
    assert_eq!(kind(add(&bench.ledger, of("old", 10)).await), "stale");
}

#[tokio::test]
async fn allocate_stale_by_an_earlier_boot() {
    let bench = Bench::new().await;
    let of = |container: &str, boot, boottime_ns| {
        let mut request = allocate(container, RANGE);
        request.owner = Some(owner("pod", "uid-1"));
        request.token = Some(token(boot, boottime_ns));
        request
    };
    private(&bench, "10.0.0.0/30").await;
    // All that the first boot was ever told: no.
    let refused = add(&bench.ledger, of("old", 1, 1_000)).await;
    assert_eq!(kind(refused), "space_conflict");
    let mut new = of("new", 2, 10);
    new.ranges = vec![window("10.0.1.0/24", None, None)];
    add(&bench.ledger, new).await.unwrap();
    // The old sandbox was deleted as well.
    let mut gone = release("old");
    gone.token = Some(token(1, 3_000));
    del(&bench.ledger, gone).await.unwrap();
    assert_eq!(kind(add(&bench.ledger, of("old", 1, 2_000)).await), "stale");
}

#[tokio::test]
async fn allocate_deleted() {
    let bench = Bench::new().await;
    private(&bench, "10.0.0.0/30").await;
    let mut gone = release("c1");
    gone.token = Some(token(1, 20));
    del(&bench.ledger, gone).await.unwrap();
    let mut late = allocate("c1", RANGE);
    late.token = Some(token(1, 10));
    // The range is another space's as well.
    assert_eq!(kind(add(&bench.ledger, late).await), "deleted");
}

#[tokio::test]
async fn allocate_gated() {
    let bench = Bench::new().await;
    private(&bench, RANGE).await;
    super::cluster::gate(&bench, true, None).await.unwrap();
    // The range is another space's as well.
    assert_eq!(
        kind(add(&bench.ledger, allocate("c1", RANGE)).await),
        "gated"
    );
    // What comes before is told all the same.
    let again = add(&bench.ledger, first_private(RANGE)).await.unwrap();
    assert!(again.repeated);
}

fn first_private(range: &str) -> ledger::command::Allocate {
    let mut first = allocate("first", range);
    first.space.overlapping = false;
    first
}

/// The range becomes private to a space of its own.
async fn private(bench: &Bench, range: &str) {
    add(&bench.ledger, first_private(range))
        .await
        .expect("an address");
}

#[tokio::test]
async fn allocate_space_conflict() {
    let bench = Bench::new().await;
    private(&bench, RANGE).await;
    add(&bench.ledger, allocate("c1", "10.0.1.0/32"))
        .await
        .unwrap();
    let mut request = allocate("c2", "10.0.1.0/32");
    // The first range is exhausted; the second one belongs to another space.
    request.ranges.push(window(RANGE, None, None));
    assert_eq!(kind(add(&bench.ledger, request).await), "space_conflict");
}

#[tokio::test]
async fn allocate_address_taken() {
    let bench = Bench::new().await;
    add(&bench.ledger, allocate("c1", RANGE)).await.unwrap();
    add(&bench.ledger, allocate("c2", RANGE)).await.unwrap();
    let mut request = allocate("c3", RANGE);
    request.ips = vec![ip("10.0.0.1")];
    let refused = refusal(add(&bench.ledger, request).await);
    let hold = refused.hold().expect("the hold in the way");
    let holder = bench
        .ledger
        .describe(hold, WAIT)
        .await
        .unwrap()
        .expect("a holder");
    assert_eq!(holder.owner.expect("an owner").name, "pod-c1");
    assert_eq!(refused.kind(), "address_taken");
}

#[tokio::test]
async fn allocate_address_cooling() {
    let bench = Bench::new().await;
    rest(&bench, "c1").await;
    let mut request = allocate("c2", RANGE);
    request.ips = vec![ip("10.0.0.1")];
    assert_eq!(kind(add(&bench.ledger, request).await), "address_cooling");
}

/// One address of the range rests.
async fn rest(bench: &Bench, container: &str) {
    let mut request = allocate(container, RANGE);
    request.cooldown_seconds = 3600;
    add(&bench.ledger, request).await.expect("an address");
    del(&bench.ledger, release(container))
        .await
        .expect("a release");
}

#[tokio::test]
async fn allocate_exhausted() {
    let bench = Bench::new().await;
    add(&bench.ledger, allocate("c1", RANGE)).await.unwrap();
    add(&bench.ledger, allocate("c2", RANGE)).await.unwrap();
    let before = events(&bench).await;
    let mut request = allocate("c3", "10.0.1.0/24");
    request.ranges.push(window(RANGE, None, None));
    request.dry_run = true;
    assert_eq!(kind(add(&bench.ledger, request.clone()).await), "exhausted");
    request.dry_run = false;
    let refused = refusal(add(&bench.ledger, request).await);
    assert_eq!(
        refused.to_string(),
        "no address is free in 10.0.0.0/30 (10.0.0.1 - 10.0.0.2): capacity 2, held 2, cooling 0"
    );
    assert_eq!(
        events(&bench).await,
        before,
        "the free range was not touched"
    );
}

#[tokio::test]
async fn allocate_cooling() {
    let bench = Bench::new().await;
    rest(&bench, "c1").await;
    add(&bench.ledger, allocate("c2", RANGE)).await.unwrap();
    assert_eq!(
        kind(add(&bench.ledger, allocate("c3", RANGE)).await),
        "cooling"
    );
}

#[tokio::test]
async fn allocate_dry_run() {
    let bench = Bench::new().await;
    let mut request = allocate("c1", RANGE);
    request.dry_run = true;
    let preview = add(&bench.ledger, request).await.unwrap();
    assert!(preview.dry_run && !preview.repeated);
    assert_eq!(ips(&preview), ["10.0.0.1"]);
    assert_eq!(preview.addresses[0].receipt, None);
    assert_eq!(events(&bench).await, 0);
    assert!(
        bench.ledger.spaces().await.unwrap().is_empty(),
        "a look opens nothing"
    );
}

#[tokio::test]
async fn allocate_takeover() {
    let bench = Bench::new().await;
    let of = |container: &str| {
        let mut request = allocate(container, RANGE);
        request.owner = Some(owner("pod", "uid-1"));
        request
    };
    add(&bench.ledger, allocate("other", RANGE)).await.unwrap();
    let first = add(&bench.ledger, of("old")).await.unwrap();
    del(&bench.ledger, release("other")).await.unwrap();
    // A lower address is free, and is not taken.
    let second = add(&bench.ledger, of("new")).await.unwrap();
    assert_eq!(ips(&second), ips(&first));
    let receipt = second.addresses[0].receipt.expect("a receipt");
    assert_eq!(receipt.step, 2);
    assert_eq!(events(&bench).await, 5);
}

#[tokio::test]
async fn allocate_takeover_moved() {
    let bench = Bench::new().await;
    let of = |container: &str, range: &str| {
        let mut request = allocate(container, range);
        request.owner = Some(owner("pod", "uid-1"));
        request
    };
    add(&bench.ledger, of("old", RANGE)).await.unwrap();
    let moved = add(&bench.ledger, of("new", "10.0.1.0/24")).await.unwrap();
    assert_eq!(ips(&moved), ["10.0.1.1"]);
    let held = bench
        .ledger
        .holds(&ledger::HoldQuery {
            limit: 10,
            ..Default::default()
        })
        .await;
    assert_eq!(held.unwrap().holds.len(), 1, "the old one ended");
}

#[tokio::test]
async fn allocate_allocated() {
    let bench = Bench::new().await;
    let mut request = allocate("c1", RANGE);
    request.ranges.push(window("fd00::/64", None, None));
    let given = add(&bench.ledger, request).await.unwrap();
    assert_eq!(ips(&given), ["10.0.0.1", "fd00::1"]);
    assert!(!given.repeated);
    let steps: Vec<u32> = given
        .addresses
        .iter()
        .map(|a| a.receipt.expect("a receipt").step)
        .collect();
    assert_eq!(steps, [0, 0]);
    assert_eq!(events(&bench).await, 2);
}
