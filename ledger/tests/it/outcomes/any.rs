use std::sync::Arc;
use std::time::Duration;

use ledger::{Command, Ledger, StoreConfig, SystemClock};
use sqlx::Connection as _;

use super::kind;
use crate::support::{Bench, WAIT, add, allocate, del, ips, provenance, release, token};

/// Nothing can be appended while this is open.
async fn blocked(bench: &Bench) -> sqlx::PgConnection {
    let mut connection = sqlx::PgConnection::connect(&bench.database.url())
        .await
        .expect("a connection");
    sqlx::raw_sql("begin; lock table ipledger.spaces in access exclusive mode")
        .execute(&mut connection)
        .await
        .expect("the lock");
    connection
}

#[tokio::test]
async fn any_overloaded() {
    let bench = Bench::new().await;
    add(&bench.ledger, allocate("c0", "10.0.0.0/24"))
        .await
        .unwrap();
    let url = bench
        .database
        .url_as(&format!("{}_app", bench.database.name()));
    let config = StoreConfig {
        max_waiting: 1,
        ..StoreConfig::new(&url)
    };
    let small = Ledger::open(&config, Arc::new(SystemClock)).await.unwrap();
    let lock = blocked(&bench).await;
    let mut calls = tokio::task::JoinSet::new();
    for number in 0..8 {
        let (small, name) = (small.clone(), format!("c{number}"));
        calls.spawn(async move { add(&small, allocate(&name, "10.0.0.0/24")).await });
        // Each has its place, or none, before the next one asks.
        tokio::task::yield_now().await;
    }
    let first = calls.join_next().await.expect("a call").expect("no panic");
    assert_eq!(kind(first), "overloaded");
    drop(lock);
    let mut served = 0;
    while let Some(answer) = calls.join_next().await {
        served += u32::from(answer.expect("no panic").is_ok());
    }
    assert!(served >= 1, "who had a place was served");
}

#[tokio::test]
async fn any_deadline_passed() {
    let bench = Bench::new().await;
    let request = Command::Allocate(Box::new(allocate("c1", "10.0.0.0/24")));
    assert_eq!(
        kind(bench.ledger.execute(request, Duration::ZERO).await),
        "deadline_passed"
    );
    assert!(
        bench
            .ledger
            .lookup(&allocate("c1", "10.0.0.0/24").attachment)
            .await
            .unwrap()
            .is_empty()
    );
}

#[tokio::test]
async fn any_shutting_down() {
    let bench = Bench::new().await;
    let other = bench.ledger.clone();
    bench.ledger.close().await;
    assert_eq!(
        kind(add(&other, allocate("c1", "10.0.0.0/24")).await),
        "shutting_down"
    );
}

#[tokio::test]
async fn any_database_unavailable() {
    let bench = Bench::new().await;
    let name = bench.database.name();
    let server = bench.database.url().replace(name, "postgres");
    let mut admin = sqlx::PgConnection::connect(&server)
        .await
        .expect("a connection");
    let statements = format!(
        "alter database {name} allow_connections false; \
         select pg_terminate_backend(pid) from pg_stat_activity where datname = '{name}'"
    );
    sqlx::raw_sql(sqlx::AssertSqlSafe(statements))
        .execute(&mut admin)
        .await
        .expect("closed");
    // The first call may find the connection before its end is known.
    let mut last = "";
    for number in 0..20 {
        let request = allocate(&format!("c{number}"), "10.0.0.0/24");
        let request = Command::Allocate(Box::new(request));
        last = kind(bench.ledger.execute(request, Duration::from_secs(2)).await);
        if last == "database_unavailable" {
            break;
        }
    }
    assert_eq!(last, "database_unavailable");
    let open = format!("alter database {name} allow_connections true");
    sqlx::raw_sql(sqlx::AssertSqlSafe(open))
        .execute(&mut admin)
        .await
        .expect("opened");
    add(&bench.ledger, allocate("after", "10.0.0.0/24"))
        .await
        .unwrap();
}

#[tokio::test]
async fn any_outcome_unknown() {
    let bench = Bench::new().await;
    add(&bench.ledger, allocate("c0", "10.0.0.0/24"))
        .await
        .unwrap();
    let lock = blocked(&bench).await;
    let request = Command::Allocate(Box::new(allocate("c1", "10.0.0.0/24")));
    let answer = bench
        .ledger
        .execute(request, Duration::from_millis(500))
        .await;
    assert_eq!(kind(answer), "outcome_unknown");
    drop(lock);
    let request = Command::Allocate(Box::new(allocate("c1", "10.0.0.0/24")));
    let ledger::Answer::Allocated(found) = bench.ledger.execute(request, WAIT).await.unwrap()
    else {
        panic!("not an allocate");
    };
    assert_eq!(ips(&found), ["10.0.0.2"]);
}

#[tokio::test]
async fn any_internal() {
    let bench = Bench::new().await;
    sqlx::raw_sql(
        "create function refuse() returns trigger language plpgsql as \
         'begin raise exception ''refused by the test''; end'; \
         create trigger refused before insert on ipledger.events for each row \
         when (new.ip = '10.0.1.1') execute function refuse()",
    )
    .execute(&super::superuser(&bench).await)
    .await
    .expect("a trigger");
    let refused = add(&bench.ledger, allocate("c1", "10.0.1.0/24")).await;
    assert_eq!(kind(refused), "internal");
    let neighbour = add(&bench.ledger, allocate("c2", "10.0.0.0/24")).await;
    assert_eq!(ips(&neighbour.unwrap()), ["10.0.0.1"]);
    assert_eq!(super::events(&bench).await, 1);
}

#[tokio::test]
async fn any_call_makes_its_boot_known() {
    let bench = Bench::new().await;
    super::cluster::bind(&bench, "uid-a").await;
    let of = |boot: u128| {
        let mut request = allocate("c1", "10.0.0.0/24");
        request.token = Some(token(boot, 20));
        request
    };
    // Neither these ...
    let mut foreign = of(0xf1);
    foreign.cluster_uid = Some("uid-b".to_owned());
    assert_eq!(kind(add(&bench.ledger, foreign).await), "cluster_mismatch");
    let mut preview = of(0xf2);
    preview.dry_run = true;
    add(&bench.ledger, preview).await.unwrap();
    // ... but whatever is judged: applied, refused, stale, nothing found, a list.
    add(&bench.ledger, of(0xa1)).await.unwrap();
    let mut refused = of(0xa2);
    refused.attachment.container_id = "c2".to_owned();
    refused.ips = vec!["10.0.0.1".parse().unwrap()];
    assert_eq!(kind(add(&bench.ledger, refused).await), "address_taken");
    add(&bench.ledger, of(0xa3)).await.unwrap();
    let mut late = release("c1");
    late.token = Some(token(0xa2, 99));
    assert!(del(&bench.ledger, late).await.unwrap().stale);
    let mut empty = release("c9");
    empty.token = Some(token(0xa4, 1));
    del(&bench.ledger, empty).await.unwrap();
    let list = ledger::GarbageList {
        cluster: "prod".to_owned(),
        cluster_uid: None,
        node: "node-1".to_owned(),
        network: "super-net".to_owned(),
        token: token(0xa5, 1),
        valid: Vec::new(),
        grace: Duration::from_secs(60),
        provenance: provenance(),
    };
    bench.ledger.collect_garbage(list, WAIT).await.unwrap();
    let known: Vec<uuid::Uuid> =
        sqlx::query_scalar("select boot_id from ipledger.boots order by id")
            .fetch_all(&super::superuser(&bench).await)
            .await
            .expect("boots");
    let expected = [0xa1, 0xa2, 0xa3, 0xa4, 0xa5].map(uuid::Uuid::from_u128);
    assert_eq!(known, expected);
    bench.ledger.close().await;
}
