//! The database comes back as another one: restored from before, or from before and then used.

use embedded_postgres::testing::TestDatabase;
use ledger::command::{Count, SpaceSelector};
use ledger::{Answer, Command, Ledger};
use tokio_postgres::Client;

use super::replicas::counter;
use super::servers::until;
use crate::guard::chain;
use crate::guard::sql::{connect, run, superuser, text};
use crate::support::{Bench, WAIT, add, allocate, ips, open, window};

const RANGE: &str = "10.0.0.0/24";

/// Beside the database of the test: its copy from before.
struct Backup {
    admin: Client,
    name: String,
}

impl Backup {
    /// A copy of the database as it is; nobody may be connected.
    async fn take(database: &TestDatabase) -> Backup {
        let (server, _) = database
            .url()
            .rsplit_once('/')
            .map(|(s, d)| (s.to_owned(), d.to_owned()))
            .expect("a database");
        let admin = connect(&format!("{server}/postgres")).await;
        let name = database.name().to_owned();
        run(
            &admin,
            &format!("create database {name}_backup template {name}"),
        )
        .await;
        Backup { admin, name }
    }

    /// Put the copy in the place of the database, under whoever is connected.
    async fn restore(self) {
        let name = &self.name;
        for statement in [
            format!("alter database {name} allow_connections false"),
            format!(
                "select pg_terminate_backend(pid) from pg_stat_activity where datname = '{name}'"
            ),
            format!("drop database {name} with (force)"),
            format!("alter database {name}_backup rename to {name}"),
        ] {
            run(&self.admin, &statement).await;
        }
    }
}

async fn hold(ledger: &Ledger, containers: &[&str]) -> Vec<String> {
    let mut held = Vec::new();
    for container in containers {
        let told = add(ledger, allocate(container, RANGE))
            .await
            .expect("an address");
        held.extend(ips(&told));
    }
    held
}

/// A ledger that knows c1 and c2, on a database of which a copy with both was kept.
async fn with_backup() -> (TestDatabase, Ledger, Backup) {
    let bench = Bench::new().await;
    assert_eq!(
        hold(&bench.ledger, &["c1", "c2"]).await,
        ["10.0.0.1", "10.0.0.2"]
    );
    let Bench { ledger, database } = bench;
    ledger.close().await;
    let backup = Backup::take(&database).await;
    let ledger = open(&database).await;
    (database, ledger, backup)
}

/// The same, and c3 to c5 that the copy does not have.
async fn ahead_of_backup() -> (TestDatabase, Ledger, Backup) {
    let (database, ledger, backup) = with_backup().await;
    let held = hold(&ledger, &["c3", "c4", "c5"]).await;
    assert_eq!(held, ["10.0.0.3", "10.0.0.4", "10.0.0.5"]);
    (database, ledger, backup)
}

async fn assert_reloaded(ledger: Ledger, database: &TestDatabase, events: usize) {
    assert_eq!(
        counter(&ledger, "loads"),
        2,
        "once at the start, once for the other history"
    );
    assert_eq!(chain::verify(&superuser(database).await).await, events);
    ledger.close().await;
}

#[tokio::test]
async fn a_shorter_history_is_loaded_anew() {
    let (database, ledger, backup) = ahead_of_backup().await;
    backup.restore().await;
    // The lowest free address of the restored history, not of the one in memory.
    assert_eq!(hold(&ledger, &["c9"]).await, ["10.0.0.3"]);
    // Lost with the history; asked for again it gets what is free now.
    assert_eq!(hold(&ledger, &["c3"]).await, ["10.0.0.4"]);
    assert_reloaded(ledger, &database, 4).await;
}

#[tokio::test]
async fn a_history_of_the_same_length_but_another_content_is_loaded_anew() {
    let (database, ledger, backup) = ahead_of_backup().await;
    backup.restore().await;
    let other = open(&database).await;
    hold(&other, &["x3", "x4", "x5"]).await;
    other.close().await;
    // Memory says that c3 holds 10.0.0.3; in the ledger x3 does.
    assert_eq!(hold(&ledger, &["c3", "x3"]).await, ["10.0.0.6", "10.0.0.3"]);
    assert_reloaded(ledger, &database, 6).await;
}

#[tokio::test]
async fn a_longer_history_that_parted_before_is_loaded_anew() {
    let (database, ledger, backup) = ahead_of_backup().await;
    backup.restore().await;
    let other = open(&database).await;
    hold(&other, &["x3", "x4", "x5", "x6", "x7"]).await;
    other.close().await;
    assert_eq!(hold(&ledger, &["c5", "x5"]).await, ["10.0.0.8", "10.0.0.5"]);
    assert_reloaded(ledger, &database, 8).await;
}

async fn knows_blue(ledger: &Ledger) -> bool {
    let blue = SpaceSelector {
        cluster: "prod".to_owned(),
        network_name: "blue".to_owned(),
        overlapping: true,
    };
    let count = Count::Ranges(blue, vec![window(RANGE, None, None)]);
    match ledger.execute(Command::Count(Box::new(count)), WAIT).await {
        Ok(Answer::Counted(counted)) => counted.as_of.contains_key("prod/blue"),
        other => panic!("{other:?}"),
    }
}

/// A space that was opened and lost again, and whose key another space got.
#[tokio::test]
async fn a_space_that_is_gone_is_not_written_to_under_its_key() {
    let (database, ledger, backup) = with_backup().await;
    let observer = superuser(&database).await;
    run(
        &observer,
        "with blue as (insert into ipledger.spaces (name) values ('prod/blue') returning id) \
         insert into ipledger.space_members select 'prod', 'blue', id from blue",
    )
    .await;
    until("the ledger learns of the space", async || {
        knows_blue(&ledger).await
    })
    .await;
    let spaces = "select string_agg(name || ' ' || seq, ', ' order by id) from ipledger.spaces";
    assert_eq!(text(&observer, spaces).await, "prod 2, prod/blue 0");
    drop(observer);
    backup.restore().await;
    // Every event is there, but the key of blue goes to green.
    let observer = superuser(&database).await;
    run(
        &observer,
        "insert into ipledger.spaces (name) values ('prod/green')",
    )
    .await;
    let mut request = allocate("c1-blue", RANGE);
    request.space.network_name = "blue".to_owned();
    let told = add(&ledger, request).await.expect("an address");
    assert_eq!(told.addresses[0].space, "prod/blue");
    let opened = text(&observer, spaces).await;
    assert_eq!(opened, "prod 2, prod/green 0, prod/blue 1");
    assert_reloaded(ledger, &database, 3).await;
}
