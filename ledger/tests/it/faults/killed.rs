//! Connections and servers that are killed under load.

use std::sync::Arc;
use std::time::Duration;

use ledger::{Error, StoreConfig, SystemClock};

use super::load::{Load, compare};
use super::proxy::{Mode, Proxy};
use super::servers::{DATABASE, kill_all_processes, open, prepare, server, temporary, until};
use crate::guard::sql::{connect, run, superuser, text};
use crate::support::{Bench, add, allocate, ips};

/// As long as a runtime may wait, shortened.
const WAIT: Duration = Duration::from_secs(5);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_connections_under_load_lose_and_invent_nothing() {
    let bench = Bench::new().await;
    let admin = superuser(&bench.database).await;
    let load = Load::start(std::slice::from_ref(&bench.ledger), 3, WAIT);
    let kill = "select count(pg_terminate_backend(pid)) from pg_stat_activity \
        where application_name = 'ipledger lane' and datname = current_database() \
        and state = 'active'";
    for _ in 0..25 {
        load.serve_more(20).await;
        until("the lane is killed at work", async || {
            text(&admin, kill).await != "0"
        })
        .await;
    }
    load.serve_more(100).await;
    let compared = compare(&admin, &load.stop().await).await;
    println!("{compared:?}");
    assert!(compared.confirmed > 600, "{compared:?}");
    bench.ledger.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_killed_server_keeps_what_was_acknowledged() {
    let dir = temporary();
    let mut cluster = server(dir.path(), &[]).await;
    prepare(&cluster).await;
    let ledger = open(&cluster).await;
    // Short, so that the server need not stay down for long.
    let load = Load::start(std::slice::from_ref(&ledger), 3, Duration::from_millis(200));
    for _ in 0..3 {
        load.serve_more(150).await;
        kill_all_processes(&cluster, dir.path());
        // Down for as long as it takes that some get no answer in time, however fast the restart.
        load.end_more_than_began().await;
        drop(cluster);
        cluster = server(dir.path(), &[]).await;
    }
    // The same ledger goes on by itself.
    load.serve_more(150).await;
    let told = load.stop().await;
    let observer = connect(&cluster.url(DATABASE)).await;
    let compared = compare(&observer, &told).await;
    println!("{compared:?}");
    assert!(compared.confirmed > 600, "{compared:?}");
    assert!(
        compared.unknown + compared.told_unchanged > 0,
        "{compared:?}"
    );
    ledger.close().await;
    drop(observer);
    cluster.stop().await.expect("a clean stop");
}

/// The first attempt was applied and its answer lost; the next ones are refused by the database.
/// "Refused" would be a lie.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refusal_after_a_lost_answer_is_an_unknown_outcome() {
    let bench = Bench::new().await;
    let admin = superuser(&bench.database).await;
    let app = format!("{}_app", bench.database.name());
    let proxy = Proxy::start(&bench.database.url()).await;
    let config = StoreConfig::new(&proxy.url(&bench.database.url_as(&app)));
    let ledger = ledger::Ledger::open(&config, Arc::new(SystemClock))
        .await
        .unwrap();
    add(&ledger, allocate("first", "10.0.0.0/24"))
        .await
        .unwrap();
    // "BES" have passed: the answer is withheld.
    proxy.set(Mode::HoldAfter(3));
    let waiting = tokio::spawn({
        let ledger = ledger.clone();
        async move { add(&ledger, allocate("lost", "10.0.0.0/24")).await }
    });
    assert_eq!(proxy.triggered().await, "BES");
    until("it is applied", async || {
        text(&admin, "select count(*) from ipledger.events").await == "2"
    })
    .await;
    let rights = |verb: &str, to: &str| {
        format!("{verb} execute on all routines in schema ipledger {to} {app}")
    };
    run(&admin, &rights("revoke", "from")).await;
    proxy.cut_all();
    let told = waiting.await.unwrap();
    assert!(
        matches!(told, Err(Error::OutcomeUnknown { .. })),
        "{told:?}"
    );
    // A request that was never sent before is refused as such.
    let refused = add(&ledger, allocate("third", "10.0.0.0/24")).await;
    assert!(matches!(refused, Err(Error::Database(_))), "{refused:?}");
    run(&admin, &rights("grant", "to")).await;
    let again = add(&ledger, allocate("lost", "10.0.0.0/24")).await.unwrap();
    assert_eq!(
        (ips(&again), again.repeated),
        (vec!["10.0.0.2".to_owned()], true)
    );
    ledger.close().await;
    bench.ledger.close().await;
}

/// Cut at every message boundary of an `append`: what is told is true, and asking again is.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_connection_cut_between_any_two_messages_is_survived() {
    let bench = Bench::new().await;
    let proxy = Proxy::start(&bench.database.url()).await;
    let url = bench
        .database
        .url_as(&format!("{}_app", bench.database.name()));
    let config = StoreConfig::new(&proxy.url(&url));
    let ledger = ledger::Ledger::open(&config, Arc::new(SystemClock))
        .await
        .unwrap();
    add(&ledger, allocate("first", "10.0.0.0/24"))
        .await
        .unwrap();
    for count in 0..=3 {
        proxy.set(Mode::CutAfter(count));
        let container = format!("cut-{count}");
        let told = add(&ledger, allocate(&container, "10.0.0.0/24"))
            .await
            .unwrap();
        assert_eq!(proxy.triggered().await.len(), count);
        assert_eq!(ips(&told), [format!("10.0.0.{}", count + 2)]);
        let again = add(&ledger, allocate(&container, "10.0.0.0/24"))
            .await
            .unwrap();
        assert_eq!(again.addresses, told.addresses);
    }
    let observer = superuser(&bench.database).await;
    assert_eq!(crate::guard::chain::verify(&observer).await, 5);
    ledger.close().await;
    bench.ledger.close().await;
}
