//! A synchronous standby that stops answering: committed here, perhaps nowhere else.

use std::time::{Duration, Instant};

use embedded_postgres::Cluster;
use ledger::answer::Allocated;
use ledger::{Error, Ledger};
use tempfile::TempDir;
use tokio::task::JoinHandle;
use tokio_postgres::Client;

use super::load::{Load, compare};
use super::servers::{
    DATABASE, Stopped, kill_all_processes, open, prepare, server, standby_of, temporary, until,
};
use crate::guard::sql::{connect, run, text};
use crate::support::{WAIT, add, allocate, del, ips, release};

/// A primary that waits for its standby. In the order in which they must go.
struct Pair {
    standby: Cluster,
    primary: Cluster,
    _dirs: (TempDir, TempDir),
}

impl Pair {
    async fn start() -> Pair {
        let dirs = (temporary(), temporary());
        let primary = server(dirs.0.path(), &[]).await;
        let standby = standby_of(&primary, dirs.1.path()).await;
        let pair = Pair {
            standby,
            primary,
            _dirs: dirs,
        };
        let admin = pair.admin().await;
        until("the standby follows", async || {
            text(
                &admin,
                "select count(*) from pg_stat_replication where state = 'streaming'",
            )
            .await
                == "1"
        })
        .await;
        run(&admin, "alter system set synchronous_standby_names = '*'").await;
        run(&admin, "select pg_reload_conf()").await;
        until("the standby is synchronous", async || {
            text(&admin, "select max(sync_state) from pg_stat_replication").await == "sync"
        })
        .await;
        prepare(&pair.primary).await;
        pair
    }

    async fn admin(&self) -> Client {
        connect(&self.primary.url("postgres")).await
    }

    /// Stop the standby's process that receives and acknowledges.
    async fn stop_standby(&self) -> Stopped {
        let client = connect(&self.standby.url("postgres")).await;
        let pid = text(&client, "select pid from pg_stat_wal_receiver").await;
        Stopped::process(pid.parse().expect("a process id"))
    }

    async fn stop(self) {
        self.primary.stop().await.expect("a clean stop");
        self.standby.stop().await.expect("a clean stop");
    }
}

fn ask(ledger: &Ledger, container: &'static str) -> JoinHandle<Result<Allocated, Error>> {
    let ledger = ledger.clone();
    tokio::spawn(async move { add(&ledger, allocate(container, "10.0.0.0/24")).await })
}

/// The lanes that wait for the standby.
const WAITING: &str = "from pg_stat_activity where application_name = 'ipledger lane' \
    and wait_event = 'SyncRep'";

/// Cancel the wait of whichever lane waits for the standby.
async fn cancel_wait(admin: &Client) {
    until(
        "a lane waits for the standby, and is cancelled",
        async || {
            text(
                admin,
                &format!("select count(pg_cancel_backend(pid)) {WAITING}"),
            )
            .await
                != "0"
        },
    )
    .await;
}

fn assert_unknown<T: std::fmt::Debug>(told: &Result<T, Error>) {
    assert!(
        matches!(told, Err(Error::OutcomeUnknown { .. })),
        "{told:?}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_unconfirmed_commit_is_never_a_success() {
    let pair = Pair::start().await;
    let admin = pair.admin().await;
    let ledger = open(&pair.primary).await;
    let replica = open(&pair.primary).await;
    let first = ask(&ledger, "c1").await.unwrap().unwrap();
    assert_eq!(ips(&first), ["10.0.0.1"]);

    let stopped = pair.stop_standby().await;
    let waiting = ask(&ledger, "c2");
    cancel_wait(&admin).await;
    assert_unknown(&waiting.await.unwrap());

    // It is in the ledger now, and everybody sees it; nobody may call it a success.
    let own = connect(&pair.primary.url(DATABASE)).await;
    let stored = text(
        &own,
        "select host(max(ip)) from ipledger.addresses where step = 0",
    )
    .await;
    assert_eq!(stored, "10.0.0.2");
    let late = open(&pair.primary).await;
    for asked in [&ledger, &ledger, &replica, &late] {
        let waiting = ask(asked, "c2");
        cancel_wait(&admin).await;
        assert_unknown(&waiting.await.unwrap());
    }
    // Nor is the end of it.
    let releasing = tokio::spawn({
        let ledger = ledger.clone();
        async move { del(&ledger, release("c1")).await }
    });
    cancel_wait(&admin).await;
    assert_unknown(&releasing.await.unwrap());

    let committed = text(&admin, "select pg_current_wal_lsn()").await;
    let waiting = ask(&ledger, "c2");
    until("the last try waits", async || {
        text(&admin, &format!("select count(*) {WAITING}")).await == "1"
    })
    .await;
    // A wait that is ended together with its connection: the lane comes again and waits.
    let killed = text(&admin, &format!("select max(pid) {WAITING}")).await;
    text(&admin, &format!("select pg_terminate_backend({killed})")).await;
    until("the lane waits on another connection", async || {
        text(
            &admin,
            &format!("select count(*) {WAITING} and pid <> {killed}"),
        )
        .await
            == "1"
    })
    .await;
    assert!(!waiting.is_finished(), "the standby has nothing yet");
    drop(stopped);
    let told = waiting.await.unwrap().expect("the standby has it");
    let on_standby = connect(&pair.standby.url("postgres")).await;
    let received = format!("select pg_last_wal_receive_lsn() >= '{committed}'");
    assert_eq!(text(&on_standby, &received).await, "true");
    assert_eq!(
        (ips(&told), told.repeated),
        (vec!["10.0.0.2".to_owned()], true)
    );
    assert_eq!(
        ask(&replica, "c2").await.unwrap().unwrap().addresses,
        told.addresses
    );
    let again = del(&ledger, release("c1")).await.expect("an answer");
    assert!(again.released.is_empty(), "the release was applied before");
    let events = text(&own, "select count(*) from ipledger.events").await;
    assert_eq!(
        events, "3",
        "two allocates and one release, whatever was asked again"
    );
    for ledger in [ledger, replica, late] {
        ledger.close().await;
    }
    pair.stop().await;
}

/// What was acknowledged is on the standby, whatever happens to the primary.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_promoted_standby_has_everything_that_was_acknowledged() {
    let Pair {
        standby,
        primary,
        _dirs: dirs,
    } = Pair::start().await;
    let ledger = open(&primary).await;
    let wait = Duration::from_millis(500);
    let load = Load::start(std::slice::from_ref(&ledger), 3, wait);
    load.serve_more(400).await;
    kill_all_processes(&primary, dirs.0.path());
    let told = load.stop().await;
    let promoted = connect(&standby.url(DATABASE)).await;
    assert_eq!(text(&promoted, "select pg_promote()").await, "true");
    let compared = compare(&promoted, &told).await;
    println!("{compared:?}");
    assert!(compared.confirmed >= 400, "{compared:?}");
    ledger.close().await;
    // The new primary goes on where the old one was, as soon as it need not wait for a standby.
    run(&promoted, "alter system reset synchronous_standby_names").await;
    run(&promoted, "select pg_reload_conf()").await;
    let ledger = open(&standby).await;
    let next = ask(&ledger, "after-failover")
        .await
        .unwrap()
        .expect("an address");
    assert_eq!(ips(&next).len(), 1);
    ledger.close().await;
    drop(primary);
    standby.stop().await.expect("a clean stop");
}

/// The wait ends by itself, so a lane does not hang for ever on a standby that is gone.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_wait_for_a_silent_standby_is_bounded() {
    let pair = Pair::start().await;
    let ledger = open(&pair.primary).await;
    ask(&ledger, "c1").await.unwrap().unwrap();
    let stopped = pair.stop_standby().await;
    let begun = Instant::now();
    let told = ask(&ledger, "c2").await.unwrap();
    let took = begun.elapsed();
    match told {
        Err(Error::OutcomeUnknown { reason }) => assert!(reason.contains("standby"), "{reason}"),
        other => panic!("{other:?}"),
    }
    let expected = Duration::from_secs(9)..WAIT - Duration::from_secs(4);
    assert!(expected.contains(&took), "{took:?}");
    drop(stopped);
    let told = ask(&ledger, "c2")
        .await
        .unwrap()
        .expect("the standby answers again");
    assert_eq!(
        (ips(&told), told.repeated),
        (vec!["10.0.0.2".to_owned()], true)
    );
    ledger.close().await;
    pair.stop().await;
}
