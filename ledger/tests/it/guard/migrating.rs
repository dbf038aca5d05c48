//! Bringing a database to this version: again, at once, and by the role that is made for it.

use embedded_postgres::testing::TestDatabase;
use ledger::{Error, migrate};

use super::sql::{connect, fingerprint, migrated, run, superuser, text};

#[tokio::test]
async fn a_second_run_finds_it_done() {
    let database = TestDatabase::create().await;
    let first = migrate(&database.url()).await.expect("a first run");
    assert!(first.applied >= 6 && first.version >= 6, "{first:?}");
    let before = fingerprint(&superuser(&database).await).await;
    let second = migrate(&database.url()).await.expect("a second run");
    assert_eq!((second.applied, second.version), (0, first.version));
    assert_eq!(fingerprint(&superuser(&database).await).await, before);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn six_at_once_do_it_once() {
    let database = TestDatabase::create().await;
    let runs = (0..6).map(|_| {
        let url = database.url();
        tokio::spawn(async move { migrate(&url).await })
    });
    let mut applied = 0;
    for run in runs.collect::<Vec<_>>() {
        applied += run
            .await
            .unwrap()
            .expect("a run beside five others")
            .applied;
    }
    let observer = superuser(&database).await;
    let count = text(
        &observer,
        "select count(*) from _sqlx_migrations where success",
    )
    .await;
    assert_eq!(
        applied.to_string(),
        count,
        "each migration was applied by one of them"
    );
    ledger::check(&database.url()).await.expect("a whole guard");
}

#[tokio::test]
async fn the_migrator_runs_the_next_migrations() {
    let database = migrated().await;
    let url = database.url_as(&format!("{}_migrator", database.name()));
    assert_eq!(migrate(&url).await.expect("nothing to do").applied, 0);
    // This migration only sets rights, so it can be applied once more.
    let observer = superuser(&database).await;
    run(&observer, "delete from _sqlx_migrations where version = 6").await;
    assert_eq!(migrate(&url).await.expect("one to do").applied, 1);
    ledger::check(&database.url()).await.expect("a whole guard");
}

/// As on a managed service, where nobody is superuser.
#[tokio::test]
async fn whoever_owns_the_database_and_may_make_roles_can_migrate() {
    let database = TestDatabase::create().await;
    let name = database.name();
    let observer = superuser(&database).await;
    run(
        &observer,
        &format!(
            "create role {name}_deployer login createrole; \
             alter database {name} owner to {name}_deployer"
        ),
    )
    .await;
    let url = database.url_as(&format!("{name}_deployer"));
    migrate(&url).await.expect("a first run");
    assert_eq!(migrate(&url).await.expect("a second run").applied, 0);
    ledger::check(&url).await.expect("a whole guard");
}

#[tokio::test]
async fn who_may_not_is_told_in_one_line_and_changes_nothing() {
    let database = TestDatabase::create().await;
    let name = database.name();
    let observer = superuser(&database).await;
    run(&observer, &format!("create role {name}_stranger login")).await;
    let refused = migrate(&database.url_as(&format!("{name}_stranger"))).await;
    let Err(Error::Guard(text_of)) = refused else {
        panic!("{refused:?}");
    };
    assert!(
        text_of.contains("permission denied") && !text_of.contains('\n'),
        "{text_of}"
    );
    let made = "select count(*) from pg_namespace where nspname = 'ipledger'";
    assert_eq!(text(&observer, made).await, "0");
}

#[tokio::test]
async fn a_newer_schema_is_refused_and_left_alone() {
    let database = migrated().await;
    let observer = superuser(&database).await;
    let number = "select count(*) from _sqlx_migrations";
    let before: u32 = text(&observer, number).await.parse().expect("a number");
    run(
        &observer,
        "insert into _sqlx_migrations select 9999, 'of the future', now(), true, checksum, 1 \
         from _sqlx_migrations limit 1",
    )
    .await;
    let refused = migrate(&database.url()).await;
    let Err(Error::Guard(text_of)) = refused else {
        panic!("{refused:?}");
    };
    assert!(
        text_of.contains("version 9999") && text_of.contains("newer"),
        "{text_of}"
    );
    let after = text(&observer, number).await;
    assert_eq!(after, (before + 1).to_string());
}

/// Applied migrations do not change: what runs elsewhere must be what runs here.
#[tokio::test]
async fn a_migration_that_was_edited_is_refused() {
    let database = migrated().await;
    let observer = superuser(&database).await;
    run(
        &observer,
        "update _sqlx_migrations set checksum = '' where version = 3",
    )
    .await;
    let refused = migrate(&database.url()).await;
    let Err(Error::Guard(text_of)) = refused else {
        panic!("{refused:?}");
    };
    assert!(text_of.contains("migration 3"), "{text_of}");
}

/// A migration whose connection breaks leaves nothing half made: the next run does it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_interrupted_run_is_finished_by_the_next() {
    let database = TestDatabase::create().await;
    let observer = superuser(&database).await;
    // Holds the run up inside its first migration.
    let blocker = connect(&database.url()).await;
    run(
        &blocker,
        "begin; create table public.roles_wait (x int); create schema ipledger",
    )
    .await;
    let running = tokio::spawn({
        let url = database.url();
        async move { migrate(&url).await }
    });
    let kill = "select count(pg_terminate_backend(pid)) from pg_stat_activity \
        where datname = current_database() and wait_event_type = 'Lock'";
    crate::faults::servers::until("the run waits, and is killed", async || {
        text(&observer, kill).await != "0"
    })
    .await;
    assert!(running.await.unwrap().is_err());
    run(&blocker, "rollback").await;
    migrate(&database.url()).await.expect("the next run");
    ledger::check(&database.url()).await.expect("a whole guard");
}
