//! Raw rows: whoever inserts, an address gets no second holder and a stream no gap.

use embedded_postgres::testing::TestDatabase;
use tokio_postgres::Client;

use super::sql::{
    BYTES32, fingerprint, insert, make_writer, migrated, refusal, role, run, superuser,
};

/// Space 1 with 10.0.0.1 held, 10.0.0.2 free again, and 2001:db8::1 held: positions 1 to 4.
async fn with_history() -> TestDatabase {
    let database = migrated().await;
    make_writer(&database).await;
    let client = superuser(&database).await;
    run(
        &client,
        "insert into ipledger.spaces (name, seq) values ('prod', 4)",
    )
    .await;
    for (seq, ip, step) in [
        (1, "10.0.0.1", 0),
        (2, "10.0.0.2", 0),
        (3, "10.0.0.2", 1),
        (4, "2001:db8::1", 0),
    ] {
        let row = insert(1, seq, &format!("'{ip}'"), &step.to_string());
        run(&client, &row).await;
    }
    database
}

/// Those who may insert at all. The superuser and the owner are bound like everybody else.
const INSERTERS: [&str; 4] = ["writer", "owner", "migrator", "superuser"];

async fn inserter(database: &TestDatabase, name: &str) -> Client {
    match name {
        "superuser" => superuser(database).await,
        other => role(database, other).await,
    }
}

/// What must be refused: (what it is, statement, SQLSTATE, constraint).
fn forged_rows() -> Vec<(&'static str, String, &'static str, &'static str)> {
    let row = |ip: &str, step: &str| insert(1, 5, ip, step);
    let with = |columns: &str, values: &str| {
        format!(
            "insert into ipledger.events (space_id, seq, epoch, recorded_at, ip, {columns}) \
             values (1, 5, 1, clock_timestamp(), '10.0.0.9', {values})"
        )
    };
    let full = format!("0, {BYTES32}, {BYTES32}");
    let step = "events_step";
    let parent = "events_predecessor";
    let canonical = "events_address_canonical";
    let both = "events_address_and_step";
    vec![
        ("second holder", row("'10.0.0.1'", "0"), "23505", step),
        (
            "second holder, later step",
            row("'10.0.0.1'", "2"),
            "23503",
            parent,
        ),
        (
            "held again at the old step",
            row("'10.0.0.2'", "0"),
            "23505",
            step,
        ),
        ("second release", row("'10.0.0.2'", "1"), "23505", step),
        ("skipped step", row("'10.0.0.2'", "3"), "23503", parent),
        (
            "release of what was never held",
            row("'10.0.0.3'", "1"),
            "23503",
            parent,
        ),
        (
            "other text of one IPv6 address",
            row("'2001:DB8:0:0::1'", "0"),
            "23505",
            step,
        ),
        (
            "prefix length",
            row("'10.0.0.1/24'", "0"),
            "23514",
            canonical,
        ),
        ("network", row("'10.0.0.0/24'", "0"), "23514", canonical),
        (
            "IPv6 prefix length",
            row("'2001:db8::1/64'", "0"),
            "23514",
            canonical,
        ),
        (
            "IPv4-mapped",
            row("'::ffff:10.0.0.1'", "0"),
            "23514",
            canonical,
        ),
        (
            "IPv4-mapped with prefix",
            row("'::ffff:10.0.0.1/96'", "0"),
            "23514",
            canonical,
        ),
        (
            "skipped position",
            insert(1, 6, "'10.0.0.9'", "0"),
            "23000",
            "events_gapless",
        ),
        (
            "first position of a stream",
            insert(2, 2, "'10.0.0.9'", "0"),
            "23000",
            "events_gapless",
        ),
        (
            "taken position",
            insert(1, 4, "'10.0.0.9'", "0"),
            "23505",
            "events_position",
        ),
        (
            "position 0",
            insert(2, 0, "'10.0.0.9'", "0"),
            "23514",
            "events_position_natural",
        ),
        (
            "negative step",
            row("'10.0.0.9'", "-1"),
            "23514",
            "events_step_natural",
        ),
        (
            "address without step",
            row("'10.0.0.9'", "null"),
            "23514",
            both,
        ),
        ("step without address", row("null", "0"), "23514", both),
        (
            "short digest",
            with("step, digest, hash", &format!("0, 'x', {BYTES32}")),
            "23514",
            "events_digest_length",
        ),
        (
            "short hash",
            with("step, digest, hash", &format!("0, {BYTES32}, 'x'")),
            "23514",
            "events_hash_length",
        ),
        (
            "generated column",
            with(
                "step, digest, hash, previous_step",
                &format!("{full}, null"),
            ),
            "428C9",
            "",
        ),
        (
            "generated column, overriding",
            with(
                "step, digest, hash, previous_step",
                &format!("{full}, null"),
            )
            .replace(" values", " overriding system value values"),
            "428C9",
            "",
        ),
        (
            "two rows, one hole",
            format!(
                "{}; {}",
                row("'10.0.0.8'", "0"),
                insert(1, 7, "'10.0.0.9'", "0")
            ),
            "23000",
            "events_gapless",
        ),
        (
            "deferred by the session",
            format!(
                "begin; set constraints all deferred; {}",
                row("'10.0.0.1'", "2")
            ),
            "23503",
            parent,
        ),
        (
            "deferred by name",
            "begin; set constraints ipledger.events_predecessor deferred".to_owned(),
            "42809",
            "",
        ),
        (
            "turned into an update",
            format!(
                "{} on conflict (space_id, seq) do update set step = 7",
                insert(1, 4, "'10.0.0.9'", "0")
            ),
            "23001",
            "",
        ),
    ]
}

#[tokio::test]
async fn forged_rows_are_refused_whoever_inserts() {
    let database = with_history().await;
    let observer = superuser(&database).await;
    let before = fingerprint(&observer).await;
    for who in INSERTERS {
        let client = inserter(&database, who).await;
        for (what, statement, sqlstate, constraint) in forged_rows() {
            // The writer may not even try to update.
            let sqlstate = if who == "writer" && sqlstate == "23001" {
                "42501"
            } else {
                sqlstate
            };
            let found = refusal(&client, &statement).await;
            // An explicit transaction of a case stays open, aborted.
            run(&client, "rollback").await;
            assert_eq!(
                found,
                (sqlstate.to_owned(), constraint.to_owned()),
                "{who}: {what}"
            );
        }
    }
    assert_eq!(fingerprint(&observer).await, before);
}

#[tokio::test]
async fn rightful_rows_are_accepted_from_whoever_may_insert() {
    let database = with_history().await;
    let writer = role(&database, "writer").await;
    run(&writer, &insert(1, 5, "'10.0.0.1'", "1")).await;
    run(&writer, &insert(1, 6, "'10.0.0.1'", "2")).await;
    run(&writer, &insert(1, 7, "null", "null")).await;
    run(&writer, &insert(2, 1, "'10.0.0.1'", "0")).await;
    // The foreign key is looked at when the statement ends: both rows of one life at once.
    let pair = format!(
        "insert into ipledger.events (space_id, seq, epoch, recorded_at, ip, step, digest, hash) \
         select 1, n, 1, clock_timestamp(), '10.0.0.77', 9 - n, {BYTES32}, {BYTES32} \
         from generate_series(8, 9) n"
    );
    run(&writer, &pair).await;
    let found = refusal(&writer, &insert(1, 10, "'10.0.0.77'", "1")).await;
    assert_eq!(found, ("23505".to_owned(), "events_step".to_owned()));
}

#[tokio::test]
async fn a_copied_row_is_judged_like_an_inserted_one() {
    use futures_util::SinkExt as _;
    let database = with_history().await;
    let writer = role(&database, "writer").await;
    let bytes = "5a".repeat(32);
    for (row, constraint) in [
        (
            format!("1\t5\t1\t2026-01-01\t10.0.0.1\t2\t\\\\x{bytes}\t\\\\x{bytes}\n"),
            "events_predecessor",
        ),
        (
            format!("1\t9\t1\t2026-01-01\t10.0.0.9\t0\t\\\\x{bytes}\t\\\\x{bytes}\n"),
            "events_gapless",
        ),
    ] {
        let sink = writer
            .copy_in(
                "copy ipledger.events (space_id, seq, epoch, recorded_at, ip, step, digest, hash) \
                 from stdin",
            )
            .await
            .expect("copy");
        let mut sink = std::pin::pin!(sink);
        sink.send(std::io::Cursor::new(row.into_bytes()))
            .await
            .expect("a row");
        let error = sink.finish().await.expect_err("a forged row");
        let refused = error.as_db_error().expect("an answer of the server");
        assert_eq!(refused.constraint(), Some(constraint));
    }
}

#[tokio::test]
async fn history_cannot_be_changed_even_by_the_owner() {
    let database = with_history().await;
    let observer = superuser(&database).await;
    run(
        &observer,
        "insert into ipledger.payloads (space_id, seq, encoding, kind, body) \
         values (1, 1, 1, 'allocated', '{}')",
    )
    .await;
    let before = fingerprint(&observer).await;
    let changes = [
        "update ipledger.events set step = step",
        "update ipledger.events set hash = digest where seq = 4",
        "delete from ipledger.events",
        "delete from ipledger.events where seq = 4",
        "truncate ipledger.events",
        "truncate ipledger.events cascade",
        "update ipledger.payloads set body = 'x'",
        "truncate ipledger.payloads",
    ];
    for who in ["owner", "migrator", "superuser"] {
        let client = inserter(&database, who).await;
        for change in changes {
            let found = refusal(&client, change).await;
            assert_eq!(
                found,
                ("23001".to_owned(), String::new()),
                "{who}: {change}"
            );
        }
    }
    // The setting under which ordinary triggers sleep.
    run(&observer, "set session_replication_role = replica").await;
    for change in changes {
        let found = refusal(&observer, change).await;
        assert_eq!(
            found,
            ("23001".to_owned(), String::new()),
            "replica: {change}"
        );
    }
    for (row, constraint) in [
        (insert(1, 5, "'10.0.0.1'", "0"), "events_step"),
        (insert(1, 6, "'10.0.0.9'", "0"), "events_gapless"),
    ] {
        let (_, found) = refusal(&observer, &row).await;
        assert_eq!(found, constraint, "replica: {row}");
    }
    run(&observer, "reset session_replication_role").await;
    assert_eq!(fingerprint(&observer).await, before);
}

#[tokio::test]
async fn the_guard_cannot_be_switched_off_without_being_superuser() {
    let database = with_history().await;
    let denied = "42501".to_owned();
    for who in ["writer", "app", "auditor", "migrator", "owner"] {
        let client = role(&database, who).await;
        let found = refusal(&client, "set session_replication_role = replica")
            .await
            .0;
        assert_eq!(found, denied, "{who}");
        // Also the foreign key's own triggers, which not even the owner may touch.
        let found = refusal(&client, "alter table ipledger.events disable trigger all")
            .await
            .0;
        assert_eq!(found, denied, "{who}");
    }
    for who in ["writer", "app", "auditor"] {
        let client = role(&database, who).await;
        for change in [
            "alter table ipledger.events disable trigger events_append_only",
            "alter table ipledger.events drop constraint events_predecessor",
            "drop trigger events_gapless on ipledger.events",
            "drop table ipledger.events",
            "create or replace function ipledger.refuse_change() returns trigger \
             language plpgsql as 'begin return null; end'",
        ] {
            assert_eq!(refusal(&client, change).await.0, denied, "{who}: {change}");
        }
    }
}
