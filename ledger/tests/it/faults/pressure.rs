//! More than the lane can take, callers that give up, and a service that stops.

use std::sync::Arc;
use std::time::Duration;

use ledger::{Command, Error, Ledger, StoreConfig, SystemClock};
use tokio::task::JoinHandle;
use tokio_postgres::Client;

use super::servers::until;
use crate::guard::sql::{run, superuser, text};
use crate::support::{Bench, WAIT, add, allocate};

const RANGE: &str = "10.0.0.0/16";

/// Holds every stream, so that an `append` waits, until it is dropped or let go.
struct Blocker(Client);

impl Blocker {
    async fn new(bench: &Bench) -> Blocker {
        let client = superuser(&bench.database).await;
        run(&client, "begin; select from ipledger.spaces for update").await;
        Blocker(client)
    }

    /// Wait until so many calls wait for it.
    async fn holds(&self, observer: &Client, calls: usize) {
        let waiting = "select count(*) from pg_stat_activity where datname = current_database() \
            and application_name = 'ipledger lane' and wait_event_type = 'Lock'";
        until("the lane waits", async || {
            text(observer, waiting).await == calls.to_string()
        })
        .await;
    }

    async fn let_go(self) {
        run(&self.0, "rollback").await;
    }
}

/// A call that is on its way when this returns; the runtime of the test has one thread.
async fn started(
    ledger: &Ledger,
    container: &str,
    wait: Duration,
) -> JoinHandle<Result<ledger::Answer, Error>> {
    let (ledger, request) = (ledger.clone(), allocate(container, RANGE));
    let call = tokio::spawn(async move {
        ledger
            .execute(Command::Allocate(Box::new(request)), wait)
            .await
    });
    tokio::task::yield_now().await;
    call
}

async fn small(bench: &Bench, max_waiting: usize) -> Ledger {
    let url = bench
        .database
        .url_as(&format!("{}_app", bench.database.name()));
    let config = StoreConfig {
        max_waiting,
        batch_max: 1,
        ..StoreConfig::new(&url)
    };
    Ledger::open(&config, Arc::new(SystemClock))
        .await
        .expect("a ledger")
}

async fn events(observer: &Client) -> String {
    text(observer, "select count(*) from ipledger.events").await
}

#[tokio::test]
async fn too_many_waiting_requests_are_told_to_come_back() {
    let bench = Bench::new().await;
    let observer = superuser(&bench.database).await;
    add(&bench.ledger, allocate("first", RANGE)).await.unwrap();
    let ledger = small(&bench, 4).await;
    let blocker = Blocker::new(&bench).await;
    // Two are on their way, four wait.
    let mut accepted = Vec::new();
    for number in 0..2 {
        accepted.push(started(&ledger, &format!("sent-{number}"), WAIT).await);
        blocker.holds(&observer, 1).await;
    }
    for number in 0..4 {
        accepted.push(started(&ledger, &format!("waits-{number}"), WAIT).await);
    }
    for number in 0..20 {
        let told = add(&ledger, allocate(&format!("late-{number}"), RANGE)).await;
        assert!(
            matches!(told, Err(Error::Overloaded { waiting: 4 })),
            "{told:?}"
        );
        assert_eq!(told.unwrap_err().kind(), "overloaded");
    }
    blocker.let_go().await;
    for call in accepted {
        call.await.unwrap().expect("an accepted request is served");
    }
    assert_eq!(
        events(&observer).await,
        "7",
        "nothing of those that were turned away"
    );
    add(&ledger, allocate("late-1", RANGE))
        .await
        .expect("room again");
    ledger.close().await;
    bench.ledger.close().await;
}

#[tokio::test]
async fn a_request_whose_deadline_has_passed_is_not_applied() {
    let bench = Bench::new().await;
    let observer = superuser(&bench.database).await;
    add(&bench.ledger, allocate("first", RANGE)).await.unwrap();
    for wait in [Duration::ZERO, Duration::from_nanos(1)] {
        let told = started(&bench.ledger, "at-once", wait).await.await.unwrap();
        assert!(matches!(told, Err(Error::DeadlinePassed)), "{told:?}");
    }
    let ledger = small(&bench, 64).await;
    let blocker = Blocker::new(&bench).await;
    let mut sent = Vec::new();
    for number in 0..2 {
        sent.push(started(&ledger, &format!("sent-{number}"), WAIT).await);
        blocker.holds(&observer, 1).await;
    }
    let short = Duration::from_millis(100);
    let mut late = Vec::new();
    for number in 0..10 {
        late.push(started(&ledger, &format!("late-{number}"), short).await);
    }
    for call in late {
        let told = call.await.unwrap();
        assert!(matches!(told, Err(Error::DeadlinePassed)), "{told:?}");
    }
    blocker.let_go().await;
    for call in sent {
        call.await.unwrap().expect("an accepted request is served");
    }
    // Behind those that were late: when it is answered they were passed over.
    add(&ledger, allocate("last", RANGE)).await.unwrap();
    assert_eq!(events(&observer).await, "4");
    ledger.close().await;
    bench.ledger.close().await;
}

/// The lane has begun with it, so nobody may say that nothing changed.
#[tokio::test]
async fn a_deadline_that_passes_while_it_is_applied_is_an_unknown_outcome() {
    let bench = Bench::new().await;
    let observer = superuser(&bench.database).await;
    add(&bench.ledger, allocate("first", RANGE)).await.unwrap();
    let blocker = Blocker::new(&bench).await;
    let call = started(&bench.ledger, "slow", Duration::from_millis(300)).await;
    blocker.holds(&observer, 1).await;
    let told = call.await.unwrap();
    assert!(
        matches!(told, Err(Error::OutcomeUnknown { .. })),
        "{told:?}"
    );
    blocker.let_go().await;
    let again = add(&bench.ledger, allocate("slow", RANGE)).await.unwrap();
    assert!(again.repeated, "it was applied");
    bench.ledger.close().await;
}

/// Waiting for a lock until the statement's time is over: nothing changed, and trying again helps.
#[tokio::test]
async fn a_cancelled_statement_is_no_defect_of_the_request() {
    let bench = Bench::new().await;
    let observer = superuser(&bench.database).await;
    add(&bench.ledger, allocate("first", RANGE)).await.unwrap();
    let blocker = Blocker::new(&bench).await;
    let call = started(&bench.ledger, "cancelled", WAIT).await;
    let cancel = "select count(pg_cancel_backend(pid)) from pg_stat_activity \
        where datname = current_database() and application_name = 'ipledger lane' \
        and wait_event_type = 'Lock'";
    until("every attempt is cancelled", async || {
        text(&observer, cancel).await;
        call.is_finished()
    })
    .await;
    let error = call.await.unwrap().expect_err("cancelled");
    assert_eq!(error.kind(), "database_unavailable", "{error}");
    blocker.let_go().await;
    assert_eq!(events(&observer).await, "1");
    assert!(
        !add(&bench.ledger, allocate("cancelled", RANGE))
            .await
            .unwrap()
            .repeated
    );
    bench.ledger.close().await;
}

#[tokio::test]
async fn closing_answers_everything_that_was_accepted() {
    let bench = Bench::new().await;
    let observer = superuser(&bench.database).await;
    add(&bench.ledger, allocate("first", RANGE)).await.unwrap();
    let blocker = Blocker::new(&bench).await;
    let mut accepted = Vec::new();
    for number in 0..200 {
        accepted.push(started(&bench.ledger, &format!("c{number}"), WAIT).await);
    }
    blocker.holds(&observer, 1).await;
    let other = bench.ledger.clone();
    let closing = tokio::spawn(bench.ledger.close());
    // From here on nothing is accepted, also by other handles.
    until("the lane takes nothing more", async || {
        matches!(other.ready().await, Err(Error::ShuttingDown))
    })
    .await;
    let told = add(&other, allocate("late", RANGE)).await;
    assert!(matches!(told, Err(Error::ShuttingDown)), "{told:?}");
    assert!(!closing.is_finished(), "200 answers are owed");
    blocker.let_go().await;
    closing.await.expect("closed");
    for call in accepted {
        call.await.unwrap().expect("an accepted request is served");
    }
    assert_eq!(events(&observer).await, "201");
    other.close().await;
}
