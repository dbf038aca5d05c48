use std::time::{Duration, Instant};

use ledger::command::Allocate;
use ledger::{Ledger, Wakeup};
use prometheus_client::registry::Registry;

use super::{a_while, close, patience, shortest, waiting};
use crate::guard::sql::{run, superuser, text};
use crate::support::{Bench, add, allocate, attachment, del, ip, open, release};

/// Two addresses: `.1` and `.2`.
const SMALL: &str = "10.0.0.0/30";

fn of_cluster(cluster: &str, mut request: Allocate) -> Allocate {
    cluster.clone_into(&mut request.attachment.cluster);
    cluster.clone_into(&mut request.space.cluster);
    request
}

async fn fill(ledger: &Ledger) {
    for container in ["c1", "c2"] {
        add(ledger, allocate(container, SMALL))
            .await
            .expect("an address");
    }
}

async fn refused(ledger: &Ledger, request: Allocate, kind: &str) {
    let error = add(ledger, request).await.expect_err("a refusal");
    assert_eq!(error.kind(), kind);
}

async fn wait(ledger: &Ledger, after: u64) -> Vec<Wakeup> {
    let found = ledger
        .wakeups("prod", after, patience())
        .await
        .expect("wake-ups");
    assert!(!found.wakeups.is_empty(), "one in time");
    found.wakeups
}

async fn head(ledger: &Ledger) -> u64 {
    ledger
        .wakeups("nobody", 0, async {})
        .await
        .expect("an answer")
        .next
}

/// How long it takes until whoever waits at a replica knows of a refusal by `refusing`.
async fn latency(bench: &Bench, refusing: &Ledger, waiting_at: &Ledger) -> Duration {
    let observer = superuser(&bench.database).await;
    let mut after = 0;
    shortest(5, async |number| {
        // A window of its own: refusals of one are written once a second.
        let range = format!("10.0.{number}.0/32");
        let holder = format!("holder-{number}");
        add(refusing, allocate(&holder, &range))
            .await
            .expect("an address");
        let ledger = waiting_at.clone();
        let waiter = waiting(&observer, async move { wait(&ledger, after).await }).await;
        let began = Instant::now();
        refused(refusing, allocate("late", &range), "exhausted").await;
        let found = waiter.await.expect("no panic");
        after = found[0].id;
        let one = (
            found.len(),
            found[0].cidr.to_string(),
            found[0].first,
            found[0].last,
        );
        let address = ip(&format!("10.0.{number}.0"));
        assert_eq!(one, (1, range, address, address));
        assert_eq!(
            (found[0].space.as_str(), found[0].reason.as_str()),
            ("prod", "exhausted")
        );
        began
    })
    .await
}

#[tokio::test]
async fn a_full_window_wakes_whoever_waits_at_this_replica_without_a_pause() {
    let bench = Bench::new().await;
    let latency = latency(&bench, &bench.ledger, &bench.ledger).await;
    assert!(latency < Duration::from_millis(100), "{latency:?}");
    close([bench.ledger]).await;
}

#[tokio::test]
async fn a_full_window_wakes_whoever_waits_at_another_replica() {
    let bench = Bench::new().await;
    let other = open(&bench.database).await;
    let latency = latency(&bench, &bench.ledger, &other).await;
    assert!(latency < Duration::from_millis(350), "{latency:?}");
    close([bench.ledger, other]).await;
}

#[tokio::test]
async fn what_was_refused_before_is_told_at_once_and_once() {
    let bench = Bench::new().await;
    fill(&bench.ledger).await;
    refused(&bench.ledger, allocate("c3", SMALL), "exhausted").await;
    let found = bench
        .ledger
        .wakeups("prod", 0, patience())
        .await
        .expect("wake-ups");
    assert_eq!(found.wakeups.len(), 1);
    assert_eq!(found.next, found.wakeups[0].id);
    let again = bench
        .ledger
        .wakeups("prod", 0, async {})
        .await
        .expect("wake-ups");
    assert_eq!(again, found, "they are there until they are taken over");
    let later = bench
        .ledger
        .wakeups("prod", found.next, a_while())
        .await
        .expect("none");
    assert_eq!((later.wakeups.len(), later.next), (0, found.next));
    // As after a restore, which gave ids back.
    let restored = bench
        .ledger
        .wakeups("prod", 4711, async {})
        .await
        .expect("wake-ups");
    assert_eq!(restored, found);
    close([bench.ledger]).await;
}

#[tokio::test]
async fn a_storm_of_refusals_is_a_write_a_second_and_one_row() {
    let bench = Bench::new().await;
    fill(&bench.ledger).await;
    let began = Instant::now();
    let mut refusals = 0;
    while began.elapsed() < Duration::from_millis(2500) {
        refused(&bench.ledger, allocate("c3", SMALL), "exhausted").await;
        refusals += 1;
    }
    // The last refusals are told as well, when their second is over.
    let first = wait(&bench.ledger, 0).await;
    let found = bench
        .ledger
        .wakeups("prod", first[0].id + 1, patience())
        .await
        .expect("one");
    let writes = found.next;
    let seconds = began.elapsed().as_secs() + 2;
    assert!(refusals > 50, "{refusals} refusals");
    assert!(
        writes >= 3 && writes <= seconds,
        "{writes} writes in {seconds} s"
    );
    let observer = superuser(&bench.database).await;
    assert_eq!(
        text(&observer, "select count(*) from ipledger.wakeups").await,
        "1"
    );
    close([bench.ledger]).await;
}

#[tokio::test]
async fn a_held_fixed_address_wakes_its_holder_s_cluster_and_no_other() {
    let bench = Bench::new().await;
    let members = [("prod", ""), ("test", "")].map(|(a, b)| (a.to_owned(), b.to_owned()));
    let declare = ledger::command::DeclareSpace {
        name: "shared:vlan7".to_owned(),
        members: members.to_vec(),
        provenance: crate::support::provenance(),
    };
    let declare = ledger::Command::DeclareSpace(Box::new(declare));
    bench
        .ledger
        .execute(declare, crate::support::WAIT)
        .await
        .expect("a space");
    add(&bench.ledger, allocate("c1", SMALL))
        .await
        .expect("an address");
    let other = of_cluster("test", allocate("c2", SMALL));
    add(&bench.ledger, other).await.expect("an address");

    let mut fixed = of_cluster("test", allocate("c3", SMALL));
    fixed.ips = vec![ip("10.0.0.1")];
    refused(&bench.ledger, fixed, "address_taken").await;
    let found = wait(&bench.ledger, 0).await;
    assert_eq!(found.len(), 1);
    let one = &found[0];
    assert_eq!(
        (one.reason.as_str(), one.first, one.last),
        ("address_taken", ip("10.0.0.1"), ip("10.0.0.1"))
    );
    assert_eq!(
        (one.space.as_str(), one.cidr.to_string()),
        ("shared:vlan7", SMALL.to_owned())
    );
    let test = bench
        .ledger
        .wakeups("test", 0, a_while())
        .await
        .expect("an answer");
    assert_eq!(
        (test.wakeups.len(), test.next),
        (0, one.id),
        "it is passed by"
    );

    // The window that is full has holds of both.
    let full = of_cluster("test", allocate("c4", SMALL));
    refused(&bench.ledger, full, "exhausted").await;
    wait(&bench.ledger, one.id).await;
    let test = bench
        .ledger
        .wakeups("test", test.next, patience())
        .await
        .expect("wake-ups");
    assert_eq!(test.wakeups.len(), 1);
    assert_eq!(test.wakeups[0].reason, "exhausted");
    close([bench.ledger]).await;
}

#[tokio::test]
async fn a_dry_run_and_a_window_that_only_rests_wake_nobody() {
    let bench = Bench::new().await;
    fill(&bench.ledger).await;
    let mut dry = allocate("c3", SMALL);
    dry.dry_run = true;
    refused(&bench.ledger, dry, "exhausted").await;
    let mut resting = allocate("r1", "10.0.1.0/32");
    resting.cooldown_seconds = 3600;
    add(&bench.ledger, resting).await.expect("an address");
    del(&bench.ledger, release("r1")).await.expect("a release");
    refused(&bench.ledger, allocate("r2", "10.0.1.0/32"), "cooling").await;
    let mut fixed = allocate("r3", "10.0.1.0/32");
    fixed.ips = vec![ip("10.0.1.0")];
    refused(&bench.ledger, fixed, "address_cooling").await;
    // The one that counts comes last, so what was written before it would be seen.
    refused(&bench.ledger, allocate("c4", SMALL), "exhausted").await;
    assert_eq!(wait(&bench.ledger, 0).await[0].id, 1);
    assert_eq!(head(&bench.ledger).await, 1);
    close([bench.ledger]).await;
}

/// A number of the ledger's metrics.
fn metric(ledger: &Ledger, name: &str) -> u64 {
    let mut registry = Registry::default();
    ledger.register_metrics(&mut registry);
    let mut text = String::new();
    prometheus_client::encoding::text::encode(&mut text, &registry).expect("metrics");
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix(&format!("{name} ")));
    line.expect("the metric").parse().expect("a number")
}

#[tokio::test]
async fn a_wake_up_that_cannot_be_written_fails_no_refusal_and_comes_later() {
    let bench = Bench::new().await;
    fill(&bench.ledger).await;
    let observer = superuser(&bench.database).await;
    let app = format!("{}_app", bench.database.name());
    run(
        &observer,
        &format!("revoke execute on function ipledger.wake(jsonb) from {app}"),
    )
    .await;
    refused(&bench.ledger, allocate("c3", SMALL), "exhausted").await;
    crate::faults::servers::until("the write fails", async || {
        metric(&bench.ledger, "ipledger_wakeups_failed_writes_total") > 0
    })
    .await;
    assert_eq!(metric(&bench.ledger, "ipledger_wakeups_written_total"), 0);
    refused(&bench.ledger, allocate("c4", SMALL), "exhausted").await;
    run(
        &observer,
        &format!("grant execute on function ipledger.wake(jsonb) to {app}"),
    )
    .await;
    assert_eq!(
        wait(&bench.ledger, 0).await.len(),
        1,
        "without another refusal"
    );
    assert_eq!(metric(&bench.ledger, "ipledger_wakeups_written_total"), 1);
    close([bench.ledger]).await;
}

/// Ids become visible in their order, or a reader would pass one by.
#[tokio::test]
async fn two_writers_of_wake_ups_wait_for_each_other() {
    let bench = Bench::new().await;
    fill(&bench.ledger).await;
    let observer = superuser(&bench.database).await;
    let first = superuser(&bench.database).await;
    let wake = "select ipledger.wake('[{\"space\": \"prod\", \"reason\": \"exhausted\", \
        \"cidr\": \"10.9.0.0/24\", \"first\": \"10.9.0.1\", \"last\": \"10.9.0.9\"}]')";
    run(&first, &format!("begin; {wake}")).await;
    refused(&bench.ledger, allocate("c3", SMALL), "exhausted").await;
    crate::faults::servers::until("the second waits", async || {
        let waiting = "select count(*) from pg_stat_activity \
            where datname = current_database() and wait_event_type = 'Lock'";
        text(&observer, waiting).await != "0"
    })
    .await;
    assert_eq!(head(&bench.ledger).await, 0);
    run(&first, "commit").await;
    let found = wait(&bench.ledger, 0).await;
    assert_eq!(found[0].id, 2, "the first one holds nothing of the cluster");
    close([bench.ledger]).await;
}

/// What names a space or a hold that is gone is left out, whoever writes it.
#[tokio::test]
async fn a_wake_up_for_nothing_is_left_out() {
    let bench = Bench::new().await;
    fill(&bench.ledger).await;
    let app = crate::guard::sql::role(&bench.database, "app").await;
    let wake = "select ipledger.wake('[\
        {\"space\": \"nowhere\", \"reason\": \"exhausted\", \"cidr\": \"10.9.0.0/24\", \
         \"first\": \"10.9.0.1\", \"last\": \"10.9.0.9\"}, \
        {\"space\": \"prod\", \"reason\": \"address_taken\", \
         \"first\": \"10.0.0.3\", \"last\": \"10.0.0.3\"}, \
        {\"space\": \"prod\", \"reason\": \"address_taken\", \
         \"first\": \"10.0.0.2\", \"last\": \"10.0.0.2\"}]')";
    run(&app, wake).await;
    let found = wait(&bench.ledger, 0).await;
    assert_eq!((found.len(), found[0].first), (1, ip("10.0.0.2")));
    assert_eq!(found[0].cidr.to_string(), SMALL);
    let held = bench
        .ledger
        .lookup(&attachment("c2"))
        .await
        .expect("a hold");
    assert_eq!(held[0].ip, found[0].first);
    close([bench.ledger]).await;
}
