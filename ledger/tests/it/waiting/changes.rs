use std::time::{Duration, Instant};

use ledger::{Changes, Ledger};

use super::{a_while, close, patience, shortest, waiting};
use crate::guard::sql::{run, superuser};
use crate::support::{Bench, add, allocate, del, open, release};

const RANGE: &str = "10.0.0.0/24";

async fn now(ledger: &Ledger) -> Changes {
    let changes = ledger
        .changes("prod", None, patience())
        .await
        .expect("heads");
    assert!(changes.changed, "nothing was known");
    changes
}

fn heads(changes: &Changes) -> Vec<(&str, u64)> {
    changes
        .heads
        .iter()
        .map(|(name, seq)| (name.as_str(), *seq))
        .collect()
}

#[tokio::test]
async fn heads_are_those_of_the_spaces_that_the_cluster_is_a_member_of() {
    let bench = Bench::new().await;
    assert_eq!(heads(&now(&bench.ledger).await), []);
    let mut private = allocate("c1", "10.9.0.0/24");
    private.space.network_name = "blue".to_owned();
    private.space.overlapping = false;
    add(&bench.ledger, private).await.expect("an address");
    add(&bench.ledger, allocate("c2", RANGE))
        .await
        .expect("an address");
    let mut other = allocate("c3", RANGE);
    other.attachment.cluster = "test".to_owned();
    other.space.cluster = "test".to_owned();
    add(&bench.ledger, other).await.expect("an address");
    let changes = now(&bench.ledger).await;
    let expected = [("prod", 1), ("prod/blue", 0), ("prod/blue#10.9.0.0/24", 1)];
    assert_eq!(heads(&changes), expected);
    assert_eq!(changes.epoch, 1);
    close([bench.ledger]).await;
}

#[tokio::test]
async fn a_change_is_told_at_once_whichever_replica_made_it() {
    let bench = Bench::new().await;
    let other = open(&bench.database).await;
    let observer = superuser(&bench.database).await;
    add(&bench.ledger, allocate("c0", RANGE))
        .await
        .expect("an address");
    for (asked, bound) in [(&bench.ledger, 100), (&other, 350)] {
        let shortest = shortest(5, async |number| {
            let known = now(asked).await;
            let (ledger, fingerprint) = (asked.clone(), known.fingerprint);
            let waiter = waiting(&observer, async move {
                ledger.changes("prod", Some(fingerprint), patience()).await
            })
            .await;
            let began = Instant::now();
            let container = format!("{bound}-{number}");
            add(&bench.ledger, allocate(&container, RANGE))
                .await
                .expect("an address");
            let changes = waiter.await.expect("no panic").expect("heads");
            assert!(changes.changed);
            assert_eq!(changes.heads["prod"], known.heads["prod"] + 1);
            began
        })
        .await;
        assert!(shortest < Duration::from_millis(bound), "{shortest:?}");
    }
    close([bench.ledger, other]).await;
}

#[tokio::test]
async fn what_does_not_concern_the_cluster_ends_no_wait() {
    let bench = Bench::new().await;
    add(&bench.ledger, allocate("c1", RANGE))
        .await
        .expect("an address");
    let known = now(&bench.ledger).await;
    let observer = superuser(&bench.database).await;
    let (ledger, fingerprint) = (bench.ledger.clone(), known.fingerprint);
    let waiter = waiting(&observer, async move {
        ledger.changes("prod", Some(fingerprint), a_while()).await
    })
    .await;
    let mut other = allocate("c2", RANGE);
    other.attachment.cluster = "test".to_owned();
    other.space.cluster = "test".to_owned();
    add(&bench.ledger, other).await.expect("an address");
    // Nothing is appended by a repeat.
    add(&bench.ledger, allocate("c1", RANGE))
        .await
        .expect("an address");
    let changes = waiter.await.expect("no panic").expect("heads");
    assert!(!changes.changed);
    assert_eq!(changes.fingerprint, known.fingerprint);
    assert_eq!(changes.heads, known.heads);
    close([bench.ledger]).await;
}

#[tokio::test]
async fn a_new_epoch_and_a_new_space_are_changes() {
    let bench = Bench::new().await;
    add(&bench.ledger, allocate("c1", RANGE))
        .await
        .expect("an address");
    del(&bench.ledger, release("c1")).await.expect("a release");
    let known = now(&bench.ledger).await;
    let observer = superuser(&bench.database).await;
    run(
        &observer,
        "insert into ipledger.epochs (epoch, reason) values (2, 'restored')",
    )
    .await;
    let changed = bench
        .ledger
        .changes("prod", Some(known.fingerprint), patience())
        .await;
    let changed = changed.expect("heads");
    assert_eq!((changed.changed, changed.epoch), (true, 2));
    assert_eq!(changed.heads, known.heads);
    run(
        &observer,
        "with s as (insert into ipledger.spaces (name) values ('prod/red') returning id) \
         insert into ipledger.space_members select 'prod', 'red', id from s",
    )
    .await;
    let changed = bench
        .ledger
        .changes("prod", Some(changed.fingerprint), patience())
        .await;
    assert_eq!(changed.expect("heads").heads["prod/red"], 0);
    close([bench.ledger]).await;
}

#[tokio::test]
async fn nobody_waits_for_a_database_that_is_away() {
    let bench = Bench::new().await;
    let observer = superuser(&bench.database).await;
    let app = format!("{}_app", bench.database.name());
    run(
        &observer,
        &format!("revoke select on ipledger.wakeup_head from {app}"),
    )
    .await;
    let refused = bench.ledger.changes("prod", None, patience()).await;
    assert_eq!(
        refused.expect_err("a failure").kind(),
        "database_unavailable"
    );
    run(
        &observer,
        &format!("grant select on ipledger.wakeup_head to {app}"),
    )
    .await;
    now(&bench.ledger).await;
    close([bench.ledger]).await;
}
