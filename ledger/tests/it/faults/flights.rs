//! Two batches on their way at once: what is decided on the first is told only if that comes to be.

use std::time::{Duration, Instant};

use ledger::command::BindCluster;
use ledger::{Answer, Command, Ledger};
use prometheus_client::encoding::text::encode;
use prometheus_client::registry::Registry;
use tokio_postgres::Client;

use crate::guard::sql::{run, superuser, text};
use crate::support::{Bench, WAIT, add, allocate, ips, open, owner, provenance, token, window};

/// Longer than a lane is careful after another writer was first.
const COMPANY: Duration = Duration::from_millis(100);

/// How many batches a ledger decided.
struct Batches(Registry);

impl Batches {
    fn of(ledger: &Ledger) -> Batches {
        let mut registry = Registry::default();
        ledger.register_metrics(&mut registry);
        Batches(registry)
    }

    fn count(&self) -> u64 {
        let mut shown = String::new();
        encode(&mut shown, &self.0).expect("metrics");
        let line = shown
            .lines()
            .find_map(|line| line.strip_prefix("ipledger_lane_batch_requests_count "))
            .expect("the counter");
        line.parse().expect("a number")
    }
}

/// Wait until something holds, or so long.
async fn holds_within(limit: Duration, mut condition: impl AsyncFnMut() -> bool) -> bool {
    let end = Instant::now() + limit;
    while !condition().await {
        if Instant::now() > end {
            return false;
        }
        tokio::task::yield_now().await;
    }
    true
}

async fn waiting_lanes(observer: &Client) -> String {
    let waiting = "select count(*) from pg_stat_activity where application_name = 'ipledger lane' \
         and datname = current_database() and wait_event_type = 'Lock'";
    text(observer, waiting).await
}

/// One round; tells whether both batches were on their way at once, which the clock may prevent.
async fn round(bench: &Bench, replica: &Ledger, observer: &Client, nth: u32) -> bool {
    let small = format!("10.{nth}.0.0/31");
    let cluster = format!("cluster-{nth}");
    let uid = format!("uid-{nth}");
    let of = |container: &str, range: &str, boottime_ns| {
        let mut request = allocate(&format!("{container}-{nth}"), range);
        request.owner = Some(owner("pod", &format!("pod-{nth}")));
        request.attachment.cluster.clone_from(&cluster);
        request.space.cluster.clone_from(&cluster);
        request.token = Some(token(1, boottime_ns));
        request
    };
    let other = |container: &str| {
        let mut request = of(container, &small, 1);
        request.owner = Some(owner(container, container));
        request
    };
    add(replica, other("first")).await.expect("an address");
    // It follows, and is in company for a while, in which it sends one batch at a time.
    let began = Instant::now();
    while began.elapsed() < COMPANY {
        add(&bench.ledger, other("first")).await.expect("a repeat");
    }

    let locker = superuser(&bench.database).await;
    run(
        &locker,
        "begin; select from ipledger.spaces order by id for no key update",
    )
    .await;
    let batches = Batches::of(&bench.ledger);
    let before = batches.count();
    let last = add(replica, other("last"));
    let mut new = of("new", &small, 200);
    new.cluster_uid = Some(uid.clone());
    let here = bench.ledger.clone();
    let new = async move { add(&here, new).await };
    let mut old = of("old", "10.200.0.0/24", 100);
    old.ranges = vec![window("10.200.0.0/24", None, None)];
    let here = bench.ledger.clone();
    let old = async move { add(&here, old).await };
    let bind = Command::BindCluster(Box::new(BindCluster {
        cluster: cluster.clone(),
        uid: uid.clone(),
        provenance: provenance(),
    }));
    let here = bench.ledger.clone();
    let bind = async move { here.execute(bind, WAIT).await };
    let script = async {
        let patience = Duration::from_secs(5);
        let lanes = async |count: &str| {
            let waits = async || waiting_lanes(observer).await == count;
            assert!(holds_within(patience, waits).await, "{count} lanes wait");
        };
        lanes("1").await;
        let new = tokio::spawn(new);
        lanes("2").await;
        let old = tokio::spawn(old);
        let bind = tokio::spawn(bind);
        let both = holds_within(patience, async || batches.count() >= before + 2).await;
        run(&locker, "rollback").await;
        (both, new.await, old.await, bind.await)
    };
    let (last, (both, new, old, bind)) = tokio::join!(last, script);
    assert_eq!(
        ips(&last.expect("the last address")),
        [format!("10.{nth}.0.1")]
    );
    let new = new.expect("no panic").expect_err("no address is left");
    assert_eq!(new.kind(), "exhausted");
    let old = old.expect("no panic");
    assert!(old.is_ok(), "nothing came after it: {old:?}");
    let bound = bind.expect("no panic").expect("bound");
    assert_eq!(bound, Answer::ClusterBound(uid.clone()));
    let stored = format!("select uid from ipledger.clusters where name = '{cluster}'");
    assert_eq!(text(observer, &stored).await, uid);
    both
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_decided_on_a_batch_that_fails_is_decided_again() {
    let bench = Bench::new().await;
    let replica = open(&bench.database).await;
    let observer = superuser(&bench.database).await;
    let mut overlapped = 0;
    for nth in 1..=8 {
        overlapped += u32::from(round(&bench, &replica, &observer, nth).await);
    }
    assert!(
        overlapped > 0,
        "two batches were never on their way at once"
    );
    replica.close().await;
    bench.ledger.close().await;
}
