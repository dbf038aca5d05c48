use std::sync::Arc;
use std::time::Duration;

use ledger::{Command, Ledger, StoreConfig, SystemClock};
use sqlx::Connection as _;

use super::kind;
use crate::support::{Bench, WAIT, add, allocate, ips};

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
