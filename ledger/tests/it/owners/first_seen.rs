//! A boot is known from its first call on, whatever became of that: what it sent and what was held
//! up never counts as newer than the boot after it.

use std::time::Instant;

use ledger::Ledger;

use super::{SMALL, Shape as _, ShapeAllocate as _, del_for, held_by, refusal, sandbox};
use crate::guard::sql::{run, superuser, text};
use crate::support::{Bench, WAIT, add, allocate, del, ips, open};

const BOOT_A: u128 = 0xa;
const BOOT_B: u128 = 0xb;

/// The pod's living sandbox is of boot B; a call of boot A that was held up changes nothing.
async fn stays_with_boot_b(ledger: &Ledger) {
    let late = add(ledger, sandbox("c0", "uid-1").at(BOOT_A, 9_000)).await;
    assert_eq!(refusal(late).kind(), "stale");
    let successor = del_for(&sandbox("c2", "uid-1"));
    let late = del(ledger, successor.at(BOOT_A, 9_000)).await;
    assert!(late.expect("an answer").stale);
    assert_eq!(held_by(ledger, "c2").await, ["10.0.0.1"]);
}

#[tokio::test]
async fn boot_that_was_only_refused() {
    let bench = Bench::new().await;
    let replica = open(&bench.database).await;
    let taken = allocate("holder", SMALL).ips(&["10.0.0.2"]);
    add(&bench.ledger, taken).await.unwrap();
    let refused = sandbox("c1", "uid-1").ips(&["10.0.0.2"]).at(BOOT_A, 8_000);
    let refused = add(&bench.ledger, refused).await;
    assert_eq!(refusal(refused).kind(), "address_taken");
    // The node starts anew, and another replica serves it.
    let living = add(&replica, sandbox("c2", "uid-1").at(BOOT_B, 5)).await;
    assert_eq!(ips(&living.unwrap()), ["10.0.0.1"]);
    let reopened = open(&bench.database).await;
    for ledger in [&bench.ledger, &replica, &reopened] {
        stays_with_boot_b(ledger).await;
    }
    reopened.close().await;
    replica.close().await;
    bench.ledger.close().await;
}

#[tokio::test]
async fn boot_that_only_found_nothing_to_delete() {
    let bench = Bench::new().await;
    let replica = open(&bench.database).await;
    let deleted = sandbox("c1", "uid-1");
    del(&bench.ledger, del_for(&deleted).at(BOOT_A, 8_000))
        .await
        .unwrap();
    add(&replica, sandbox("c2", "uid-1").at(BOOT_B, 5))
        .await
        .unwrap();
    let reopened = open(&bench.database).await;
    for ledger in [&bench.ledger, &replica, &reopened] {
        stays_with_boot_b(ledger).await;
        // Its own ADD is late by the pod's order and by its tombstone.
        let late = add(ledger, deleted.clone().at(BOOT_A, 7_000)).await;
        assert_eq!(refusal(late).kind(), "stale");
    }
    reopened.close().await;
    replica.close().await;
    bench.ledger.close().await;
}

#[tokio::test]
async fn dry_run_on_a_boot_that_nobody_heard_of_proves_nothing_against_a_tombstone() {
    let bench = Bench::new().await;
    let request = sandbox("c1", "uid-1");
    del(&bench.ledger, del_for(&request).at(BOOT_A, 1))
        .await
        .unwrap();
    let mut preview = request.clone().at(BOOT_B, 1);
    preview.dry_run = true;
    let refused = add(&bench.ledger, preview).await;
    assert_eq!(refusal(refused).kind(), "deleted");
    // In earnest it is heard of, after the DEL.
    add(&bench.ledger, request.at(BOOT_B, 1)).await.unwrap();
    bench.ledger.close().await;
}

#[tokio::test]
async fn two_boots_first_seen_at_once_by_two_replicas_have_one_order() {
    let bench = Bench::new().await;
    let replica = open(&bench.database).await;
    let observer = superuser(&bench.database).await;
    for round in 0..12_u128 {
        let boots = [0x100 + 2 * round, 0x101 + 2 * round];
        let uid = format!("uid-{round}");
        let of = |container: usize| sandbox(&format!("r{round}-{container}"), &uid);
        let (one, two) = tokio::join!(
            add(&bench.ledger, of(0).at(boots[0], 100)),
            add(&replica, of(1).at(boots[1], 100)),
        );
        for answer in [one, two] {
            // Whoever came late is told so; nothing else goes wrong.
            assert!(answer.is_ok() || refusal(answer).kind() == "stale");
        }
        let first = format!(
            "select boot_id = '{}' from ipledger.boots order by id desc offset 1 limit 1",
            uuid::Uuid::from_u128(boots[0])
        );
        let earlier = usize::from(text(&observer, &first).await != "true");
        let later = 1 - earlier;
        let settled = add(&bench.ledger, of(later).at(boots[later], 200)).await;
        assert!(settled.is_ok(), "round {round}: {settled:?}");
        for ledger in [&bench.ledger, &replica] {
            let late = add(ledger, of(2).at(boots[earlier], 9_000)).await;
            assert_eq!(refusal(late).kind(), "stale", "round {round}");
        }
    }
    // One row each, whoever asked.
    assert_eq!(
        text(&observer, "select count(*) from ipledger.boots").await,
        "24"
    );
    replica.close().await;
    bench.ledger.close().await;
}

#[tokio::test]
async fn boot_that_another_replica_is_noting_comes_first_on_both() {
    let bench = Bench::new().await;
    let other = superuser(&bench.database).await;
    let observer = superuser(&bench.database).await;
    let noted = format!(
        "begin; insert into ipledger.boots (cluster, node, boot_id) values ('prod', 'n', '{}')",
        uuid::Uuid::from_u128(BOOT_A)
    );
    run(&other, &noted).await;
    let ledger = bench.ledger.clone();
    let living = sandbox("c2", "uid-1").at(BOOT_B, 5);
    let waiting = tokio::spawn(async move { add(&ledger, living).await });
    let waits = "select count(*) from pg_locks where locktype = 'advisory' and not granted \
        and database = (select oid from pg_database where datname = current_database())";
    let deadline = Instant::now() + WAIT;
    while text(&observer, waits).await != "1" {
        assert!(Instant::now() < deadline, "it does not wait for the other");
    }
    assert!(!waiting.is_finished(), "its order is not known yet");
    run(&other, "commit").await;
    assert_eq!(ips(&waiting.await.unwrap().unwrap()), ["10.0.0.1"]);
    stays_with_boot_b(&bench.ledger).await;
    bench.ledger.close().await;
}

#[tokio::test]
async fn boots_of_a_shortened_history_are_not_read_on_from() {
    let bench = Bench::new().await;
    let observer = superuser(&bench.database).await;
    let empty = del_for(&sandbox("c1", "uid-1")).at(BOOT_A, 1);
    del(&bench.ledger, empty).await.unwrap();
    // Another server took over, without the note; the numbers begin where it left off.
    run(
        &observer,
        "delete from ipledger.boots; alter table ipledger.boots alter id restart with 1; \
         select pg_terminate_backend(pid) from pg_stat_activity \
         where application_name = 'ipledger lane' and datname = current_database()",
    )
    .await;
    let deadline = Instant::now() + WAIT;
    let added = loop {
        let added = add(&bench.ledger, sandbox("c2", "uid-1").at(BOOT_B, 5)).await;
        if added.is_ok() || Instant::now() > deadline {
            break added;
        }
    };
    assert_eq!(ips(&added.unwrap()), ["10.0.0.1"]);
    assert_eq!(
        text(&observer, "select count(*) from ipledger.boots").await,
        "1"
    );
    bench.ledger.close().await;
}
