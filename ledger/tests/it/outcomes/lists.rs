use ledger::{EventQuery, GarbageList, HoldQuery};

use super::{events, kind, superuser};
use crate::support::{Bench, WAIT, add, allocate, del, provenance, release, token};

const RANGE: &str = "10.0.0.0/24";
const SECOND: u64 = 1_000_000_000;

fn holds_of(space: &str, as_of: Option<u64>) -> HoldQuery {
    HoldQuery {
        space: Some(space.to_owned()),
        as_of,
        limit: 1,
        ..HoldQuery::default()
    }
}

fn events_of(space: &str, after_seq: u64) -> EventQuery {
    EventQuery {
        space: space.to_owned(),
        address: None,
        after_seq,
        limit: 10,
    }
}

#[tokio::test]
async fn holds_no_such_space() {
    let bench = Bench::new().await;
    let query = holds_of("nowhere", Some(1));
    assert_eq!(kind(bench.ledger.holds(&query).await), "not_found");
}

#[tokio::test]
async fn holds_of_a_time_whose_payloads_are_gone() {
    let bench = Bench::new().await;
    add(&bench.ledger, allocate("c1", RANGE)).await.unwrap();
    del(&bench.ledger, release("c1")).await.unwrap();
    sqlx::query("delete from ipledger.payloads where seq = 1")
        .execute(&superuser(&bench).await)
        .await
        .unwrap();
    let then = bench.ledger.holds(&holds_of("prod", Some(1))).await;
    assert_eq!(kind(then), "invalid_request");
    let now = bench.ledger.holds(&holds_of("prod", None)).await;
    assert!(now.unwrap().holds.is_empty());
}

#[tokio::test]
async fn holds_listed() {
    let bench = Bench::new().await;
    for container in ["c1", "c2"] {
        add(&bench.ledger, allocate(container, RANGE))
            .await
            .unwrap();
    }
    let first = bench.ledger.holds(&holds_of("prod", None)).await.unwrap();
    assert!(first.more && first.holds.len() == 1);
    // What comes in between is of another reading.
    del(&bench.ledger, release("c2")).await.unwrap();
    let hold = &first.holds[0];
    let next = HoldQuery {
        after: Some((hold.space.clone(), hold.ip)),
        positions: Some(first.as_of.clone()),
        ..holds_of("prod", None)
    };
    let second = bench.ledger.holds(&next).await.unwrap();
    assert_eq!(second.holds[0].attachment.container_id, "c2");
    assert!(!second.more);
}

#[tokio::test]
async fn events_no_such_space() {
    let bench = Bench::new().await;
    let query = events_of("nowhere", 0);
    assert_eq!(kind(bench.ledger.events(&query).await), "not_found");
}

#[tokio::test]
async fn events_listed() {
    let bench = Bench::new().await;
    add(&bench.ledger, allocate("c1", RANGE)).await.unwrap();
    del(&bench.ledger, release("c1")).await.unwrap();
    sqlx::query("delete from ipledger.payloads where seq = 1")
        .execute(&superuser(&bench).await)
        .await
        .unwrap();
    let listed = bench.ledger.events(&events_of("prod", 0)).await.unwrap();
    assert!(listed[0].payload.is_null());
    assert_eq!(listed[1].payload["reason"], "del");
    let rest = bench.ledger.events(&events_of("prod", 1)).await.unwrap();
    assert_eq!(rest, listed[1..]);
}

fn list(seconds: u64) -> GarbageList {
    GarbageList {
        cluster: "prod".to_owned(),
        cluster_uid: None,
        node: "node-1".to_owned(),
        network: "super-net".to_owned(),
        token: token(1, seconds * SECOND),
        valid: Vec::new(),
        grace: std::time::Duration::from_secs(60),
        provenance: provenance(),
    }
}

/// The database refuses to write into this table.
async fn refuse(bench: &Bench, table: &str) {
    let statements = format!(
        "create or replace function refuse() returns trigger language plpgsql as \
         'begin raise exception ''refused by the test''; end'; \
         create trigger refused before insert on ipledger.{table} for each row \
         execute function refuse()"
    );
    sqlx::raw_sql(sqlx::AssertSqlSafe(statements))
        .execute(&superuser(bench).await)
        .await
        .expect("a trigger");
}

#[tokio::test]
async fn garbage_nothing_done() {
    let bench = Bench::new().await;
    add(&bench.ledger, allocate("c1", RANGE)).await.unwrap();
    refuse(&bench, "suspects").await;
    let pass = bench.ledger.collect_garbage(list(200), WAIT).await;
    assert_eq!(kind(pass), "internal");
}

#[tokio::test]
async fn garbage_failed_in_part() {
    let bench = Bench::new().await;
    add(&bench.ledger, allocate("c1", RANGE)).await.unwrap();
    bench.ledger.collect_garbage(list(200), WAIT).await.unwrap();
    add(&bench.ledger, allocate("c2", RANGE)).await.unwrap();
    refuse(&bench, "suspects").await;
    let pass = bench.ledger.collect_garbage(list(260), WAIT).await.unwrap();
    assert_eq!((pass.released, pass.failed.len()), (1, 1));
    assert_eq!(pass.failed[0].about, "suspects");
}

#[tokio::test]
async fn garbage_collected() {
    let bench = Bench::new().await;
    add(&bench.ledger, allocate("c1", RANGE)).await.unwrap();
    let first = bench.ledger.collect_garbage(list(200), WAIT).await.unwrap();
    assert_eq!((first.released, first.suspect), (0, 1));
    let second = bench.ledger.collect_garbage(list(260), WAIT).await.unwrap();
    assert_eq!((second.released, second.suspect), (1, 0));
    assert_eq!(events(&bench).await, 2);
}
