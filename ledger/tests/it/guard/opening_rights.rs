//! What the service says at its start about rights and roles that are more than they should be.

use std::sync::Arc;

use ledger::{Error, Ledger, StoreConfig, SystemClock};

use super::opening::assert_all_refused;
use super::opening::assert_refused;
use super::sql::{connect, run};
use crate::faults::servers::{self, DATABASE, prepare, server, temporary};

#[tokio::test]
async fn a_right_too_many() {
    assert_all_refused(
        "right to write that nobody should have",
        &[
            (
                "grant insert on events to {db}_app",
                "events: INSERT for {db}_app",
            ),
            (
                "grant update on spaces to {db}_auditor",
                "spaces: UPDATE for {db}_auditor",
            ),
            (
                "grant truncate on payloads to public",
                "payloads: TRUNCATE for public",
            ),
            (
                "grant update (body) on payloads to {db}_app",
                "payloads.body: UPDATE for {db}_app",
            ),
            (
                "grant create on schema ipledger to {db}_app",
                "schema ipledger: CREATE for {db}_app",
            ),
            (
                "grant update on sequence spaces_id_seq to {db}_app",
                "spaces_id_seq: UPDATE for {db}_app",
            ),
        ],
    )
    .await;
    assert_all_refused(
        "right to execute that nobody should have",
        &[
            (
                "grant execute on function note(jsonb) to {db}_app",
                "note for {db}_app",
            ),
            (
                "grant execute on function bury(jsonb) to public",
                "bury for public",
            ),
            (
                "grant execute on function wake(jsonb) to {db}_auditor",
                "wake for {db}_auditor",
            ),
            (
                "grant execute on all procedures in schema ipledger to public",
                "append_and_commit for public, note_boots_and_commit for public, \
                 note_calls_and_commit for public",
            ),
            (
                "grant execute on all procedures in schema ipledger to {db}_auditor",
                "append_and_commit for {db}_auditor, note_boots_and_commit for {db}_auditor, \
                 note_calls_and_commit for {db}_auditor",
            ),
        ],
    )
    .await;
    let others = "right to write that a role has by other ways";
    assert_all_refused(
        others,
        &[(
            "grant insert on public._sqlx_migrations to {db}_app",
            "{db}_app: _sqlx_migrations",
        )],
    )
    .await;
    // It reaches every table.
    assert_refused("alter role {db}_app superuser", ": windows").await;
}

/// On a server of its own: what these roles may, they may in every database of the server.
#[tokio::test]
async fn a_right_too_many_of_somebody_else() {
    let dir = temporary();
    let cluster = server(dir.path(), &[]).await;
    prepare(&cluster).await;
    let client = connect(&cluster.url(DATABASE)).await;
    let member = "the guard is not whole: role that may act as the owner: ";
    let writes = "the guard is not whole: right to write that a role has by other ways: ";
    let cases = [
        (
            "create role eve login; grant ipledger_owner to eve",
            "drop role eve",
            format!("{member}eve"),
        ),
        (
            "create role team; create role eve login noinherit; grant ipledger_migrator to team; \
             grant team to eve",
            "drop role eve, team",
            format!("{member}eve"),
        ),
        (
            "create role eve login; grant pg_write_all_data to eve",
            "drop role eve",
            format!("{writes}eve: _sqlx_migrations, eve: addresses, eve: boots, eve: clusters,"),
        ),
        (
            "create role eve login; grant pg_write_all_data to ipledger_auditor; \
             grant ipledger_auditor to eve",
            "revoke pg_write_all_data from ipledger_auditor; drop role eve",
            format!("{writes}eve: _sqlx_migrations,"),
        ),
    ];
    for (give, take, expected) in cases {
        run(&client, give).await;
        let url = cluster.url_as("ipledger_app", DATABASE);
        let opened = Ledger::open(&StoreConfig::new(&url), Arc::new(SystemClock)).await;
        let Err(Error::Guard(text)) = opened else {
            panic!("{give}: {opened:?}");
        };
        assert!(text.starts_with(&expected), "{give}: {text}");
        run(&client, take).await;
        servers::open(&cluster).await.close().await;
    }
    // Who cannot log in, and who may do everything anyway, is nobody's news.
    run(
        &client,
        "create role nobody; grant ipledger_owner to nobody; create role root superuser login; \
         grant ipledger_owner to root",
    )
    .await;
    servers::open(&cluster).await.close().await;
    cluster.stop().await.expect("a clean stop");
}

/// Whoever made the schema may go on with it.
#[tokio::test]
async fn the_deployer_is_not_one_too_many() {
    let dir = temporary();
    let cluster = server(dir.path(), &[]).await;
    let client = connect(&cluster.url("postgres")).await;
    run(&client, "create role deployer login createrole").await;
    run(&client, "create database ipledger owner deployer").await;
    let url = cluster.url_as("deployer", DATABASE);
    ledger::migrate(&url).await.expect("migrations");
    servers::open(&cluster).await.close().await;
    cluster.stop().await.expect("a clean stop");
}

#[tokio::test]
async fn a_role_that_is_more_than_it_should_be() {
    assert_all_refused(
        "owner that can log in, or object of another owner",
        &[
            ("alter role {db}_owner login", "{db}_owner"),
            (
                "alter table suspects owner to {db}_migrator",
                "{db}_migrator",
            ),
        ],
    )
    .await;
    assert_refused(
        "grant {db}_owner to {db}_app",
        "the guard is not whole: role that may act as the owner: {db}_app",
    )
    .await;
    assert_refused(
        "alter role {db}_app noinherit; grant {db}_migrator to {db}_app",
        "the guard is not whole: role that may act as the owner: {db}_app",
    )
    .await;
    assert_all_refused(
        "session_replication_role, under which foreign keys sleep",
        &[(
            "alter database {db} set session_replication_role = replica",
            "replica",
        )],
    )
    .await;
}
