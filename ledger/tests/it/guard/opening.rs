//! A ledger is not opened on a database whose guard is not whole, and the refusal names the part.

use std::collections::BTreeSet;
use std::sync::Arc;

use embedded_postgres::testing::TestDatabase;
use ledger::{Error, Ledger, StoreConfig, SystemClock};

use super::sql::{migrated, run, superuser};

pub(super) async fn open(database: &TestDatabase) -> Result<Ledger, Error> {
    let url = database.url_as(&format!("{}_app", database.name()));
    Ledger::open(&StoreConfig::new(&url), Arc::new(SystemClock)).await
}

/// Break a database of its own; the ledger must be refused with this text. `{db}` is its name.
pub(super) async fn assert_refused(statement: &str, expected: &str) {
    let database = migrated().await;
    let statement = statement.replace("{db}", database.name());
    let expected = expected.replace("{db}", database.name());
    let client = superuser(&database).await;
    run(
        &client,
        &format!("set search_path = ipledger, public; {statement}"),
    )
    .await;
    match open(&database).await {
        Err(Error::Guard(text)) => {
            assert!(text.ends_with(&expected), "{statement}: {text}");
            assert!(!text.contains('\n'), "one line: {text}");
        }
        other => panic!("{statement}: {other:?}"),
    }
    let checked = ledger::check(&database.url()).await;
    assert!(
        matches!(checked, Err(Error::Guard(_))),
        "{statement}: {checked:?}"
    );
}

pub(super) async fn assert_all_refused(what: &str, cases: &[(&str, &str)]) {
    for (statement, expected) in cases {
        let expected = match what {
            "" => (*expected).to_owned(),
            what => format!("the guard is not whole: {what}: {expected}"),
        };
        assert_refused(statement, &expected).await;
    }
}

#[tokio::test]
async fn a_whole_guard_is_accepted() {
    let database = migrated().await;
    open(&database).await.expect("a ledger").close().await;
    let checked = ledger::check(&database.url()).await.expect("a whole guard");
    assert!(checked.version >= 6);
}

/// One after the other in one database: the refusal names all that are gone by then.
#[tokio::test]
async fn a_constraint_that_is_dropped() {
    let database = migrated().await;
    let client = superuser(&database).await;
    let mut gone: Vec<&str> = Vec::new();
    for (table, name) in [
        ("events", "events_position"),
        // Its index carries the foreign key, so it goes after it.
        ("events", "events_predecessor"),
        ("events", "events_step"),
        ("events", "events_position_natural"),
        ("events", "events_step_natural"),
        ("events", "events_address_and_step"),
        ("events", "events_address_canonical"),
        ("events", "events_digest_length"),
        ("events", "events_hash_length"),
        ("payloads", "payloads_position"),
        ("addresses", "addresses_one_row"),
        ("spaces", "spaces_name_key"),
        ("spaces", "spaces_private"),
        ("space_members", "space_members_pkey"),
        ("clusters", "clusters_pkey"),
    ] {
        run(
            &client,
            &format!("alter table ipledger.{table} drop constraint {name}"),
        )
        .await;
        gone.push(name);
        let Err(Error::Guard(text)) = open(&database).await else {
            panic!("{name} is gone");
        };
        let (_, named) = text.rsplit_once("deferrable: ").expect("constraints");
        let named: BTreeSet<&str> = named.split(", ").collect();
        assert_eq!(named, gone.iter().copied().collect());
    }
}

#[tokio::test]
async fn a_constraint_that_is_there_by_name_only() {
    let what = "constraint missing, altered, not validated or deferrable";
    assert_all_refused(
        what,
        &[
            (
                "alter table events drop constraint events_predecessor; \
                 alter table events add constraint events_predecessor foreign key \
                 (space_id, ip, previous_step) references events (space_id, ip, step) not valid",
                "events_predecessor",
            ),
            (
                "alter table events alter constraint events_predecessor deferrable",
                "events_predecessor",
            ),
            (
                "alter table events drop constraint events_predecessor; \
                 alter table events add constraint events_predecessor foreign key \
                 (space_id, ip, step) references events (space_id, ip, step)",
                "events_predecessor",
            ),
            (
                "alter table events drop constraint events_predecessor, \
                 drop constraint events_step; \
                 alter table events add constraint events_step unique (ip, step, space_id, seq)",
                "events_step, events_predecessor",
            ),
            (
                "alter table events drop constraint events_address_canonical; \
                 alter table events add constraint events_address_canonical \
                 check (masklen(ip) = case family(ip) when 4 then 32 else 128 end)",
                "events_address_canonical",
            ),
            (
                "alter table events drop constraint events_step_natural; \
                 alter table events add constraint events_step_natural check (step >= 0) not valid",
                "events_step_natural",
            ),
        ],
    )
    .await;
}

#[tokio::test]
async fn an_index_or_a_column_that_is_gone_or_another() {
    assert_all_refused(
        "unique index missing, altered or not valid",
        &[
            ("drop index addresses_attachment", "addresses_attachment"),
            ("drop index addresses_owner", "addresses_owner"),
            (
                "drop index addresses_owner; create unique index addresses_owner \
                 on addresses (owner, position, seq) where step % 2 = 0 and owner is not null",
                "addresses_owner",
            ),
            (
                "drop index addresses_attachment; create index addresses_attachment \
                 on addresses (attachment, position) where step % 2 = 0",
                "addresses_attachment",
            ),
        ],
    )
    .await;
    assert_all_refused(
        "column not generated always",
        &[(
            "alter table events alter column previous_step drop expression",
            "events.previous_step",
        )],
    )
    .await;
}

#[tokio::test]
async fn a_trigger_that_is_off_or_another() {
    assert_all_refused(
        "trigger missing, altered or not always enabled",
        &[
            (
                "alter table events disable trigger events_append_only",
                "events_append_only",
            ),
            (
                "alter table events disable trigger events_gapless",
                "events_gapless",
            ),
            (
                "alter table payloads disable trigger payloads_unchanged",
                "payloads_unchanged",
            ),
            (
                "alter table events enable trigger events_append_only",
                "events_append_only",
            ),
            (
                "alter table events enable replica trigger events_gapless",
                "events_gapless",
            ),
            (
                "drop trigger events_append_only on events",
                "events_append_only",
            ),
            ("drop trigger events_gapless on events", "events_gapless"),
            ("drop trigger boots_ordered on boots", "boots_ordered"),
            (
                "alter table payloads disable trigger payloads_needed",
                "payloads_needed",
            ),
            (
                "alter table addresses disable trigger addresses_overtaken",
                "addresses_overtaken",
            ),
            (
                "drop trigger addresses_overtaken on addresses; create trigger \
                 addresses_overtaken before update on addresses for each row when (false) \
                 execute function refuse_overtaken(); \
                 alter table addresses enable always trigger addresses_overtaken",
                "addresses_overtaken",
            ),
            (
                "drop trigger events_append_only on events; create trigger events_append_only \
                 before update or truncate on events \
                 for each statement execute function refuse_change(); \
                 alter table events enable always trigger events_append_only",
                "events_append_only",
            ),
        ],
    )
    .await;
    assert_all_refused(
        "foreign key whose triggers are disabled",
        &[(
            "alter table events disable trigger all; \
             alter table events enable always trigger events_append_only; \
             alter table events enable always trigger events_gapless",
            "events_predecessor",
        )],
    )
    .await;
}

#[tokio::test]
async fn a_function_that_is_gone_or_another() {
    let what = "function missing or not as it was made";
    assert_all_refused(
        what,
        &[
            (
                "create or replace function refuse_change() returns trigger language plpgsql as \
                 'begin return null; end'",
                "refuse_change",
            ),
            ("drop function note(jsonb)", "note"),
            ("drop function wake(jsonb)", "wake"),
            ("alter function wake(jsonb) reset search_path", "wake"),
            (
                "alter function refuse_gap() rename to refuse_gaps",
                "refuse_gap",
            ),
            (
                "create function helpful() returns int language sql as 'select 1 + 1 + 1'",
                "helpful",
            ),
            (
                "do $$ begin execute (select format('alter function %s security invoker', \
                 oid::regprocedure) from pg_proc where proname = 'append'); end $$",
                "append",
            ),
            (
                "do $$ begin execute (select format('alter function %s reset search_path', \
                 oid::regprocedure) from pg_proc where proname = 'append'); end $$",
                "append",
            ),
        ],
    )
    .await;
}

#[tokio::test]
async fn a_table_that_is_another() {
    let what = "table missing, partitioned, inherited, not logged, or with rules or row security";
    assert_all_refused(
        what,
        &[
            ("alter table payloads set unlogged", "payloads"),
            ("alter table events enable row level security", "events"),
            (
                "create rule silence as on insert to events do instead nothing",
                "events",
            ),
            (
                "create table more () inherits (addresses); alter table more owner to {db}_owner",
                "addresses",
            ),
        ],
    )
    .await;
}

#[tokio::test]
async fn a_schema_of_another_version() {
    assert_all_refused(
        "",
        &[
            (
                "delete from public._sqlx_migrations where version = \
                 (select max(version) from public._sqlx_migrations)",
                "run `ipledger-api migrate`",
            ),
            (
                "insert into public._sqlx_migrations select 9999, 'of the future', now(), true, \
                 checksum, 1 from public._sqlx_migrations limit 1",
                "use the program that belongs to it",
            ),
        ],
    )
    .await;
    let empty = TestDatabase::create().await;
    let refused = Ledger::open(&StoreConfig::new(&empty.url()), Arc::new(SystemClock)).await;
    match refused {
        Err(Error::Guard(text)) => assert!(text.contains("version 0") && text.contains("migrate")),
        other => panic!("{other:?}"),
    }
}

/// In an upgrade the schema comes first, and running services go on until they are replaced.
#[tokio::test]
async fn a_running_ledger_stays_ready_on_a_newer_schema_but_not_without_its_guard() {
    let database = migrated().await;
    let ledger = open(&database).await.expect("a ledger");
    ledger.ready().await.expect("ready");
    let client = superuser(&database).await;
    run(
        &client,
        "insert into _sqlx_migrations select 9999, 'of the future', now(), true, checksum, 1 \
         from _sqlx_migrations limit 1; \
         create function ipledger.of_the_future() returns int language sql as 'select 42 * 42'",
    )
    .await;
    ledger.ready().await.expect("ready");
    run(
        &client,
        "delete from _sqlx_migrations where version = 9999; drop function ipledger.of_the_future; \
         alter table ipledger.events disable trigger events_gapless",
    )
    .await;
    let refused = ledger.ready().await.expect_err("a trigger is off");
    assert!(refused.to_string().contains("events_gapless"), "{refused}");
    ledger.close().await;
}

#[tokio::test]
async fn a_database_that_does_not_answer_or_a_url_that_is_none() {
    for (url, expected) in [
        (
            "postgres://nobody@127.0.0.1:1/ipledger",
            "database_unavailable",
        ),
        ("mysql://x", "internal"),
        ("", "internal"),
    ] {
        let refused = Ledger::open(&StoreConfig::new(url), Arc::new(SystemClock)).await;
        assert_eq!(
            refused.err().map(|error| error.kind()),
            Some(expected),
            "{url}"
        );
    }
}
