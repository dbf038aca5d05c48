//! Making sure, before anything is served, that the database still guards what it must.

use sqlx::Row as _;
use sqlx::postgres::{PgConnection, PgPool, PgPoolOptions};

use super::migrate::{applied, assert_server, newest_known};
use crate::error::Error;

/// What `check` found in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checked {
    /// Version of the schema.
    pub version: i64,
    /// Version of the server.
    pub server: String,
}

/// Connect and make sure of schema and guard.
///
/// # Errors
/// One line that names what is missing.
pub async fn check(database_url: &str) -> Result<Checked, Error> {
    let pool = PgPoolOptions::new()
        .max_connections(1)
        .acquire_timeout(std::time::Duration::from_secs(5))
        .connect(database_url)
        .await?;
    assert(&pool).await?;
    let server = sqlx::query_scalar("select current_setting('server_version')")
        .fetch_one(&pool)
        .await?;
    pool.close().await;
    Ok(Checked {
        version: newest_known(),
        server,
    })
}

/// The server, the schema, and every part of the guard.
pub(super) async fn assert(pool: &PgPool) -> Result<(), Error> {
    let mut connection = pool.acquire().await?;
    assert_server(&mut connection).await?;
    assert_schema(&mut connection).await?;
    for (what, sql) in MISSING {
        assert_none(&mut connection, what, sql).await?;
    }
    Ok(())
}

async fn assert_schema(connection: &mut PgConnection) -> Result<(), Error> {
    let known = newest_known();
    let version = applied(connection).await?.last().copied().unwrap_or(0);
    if version != known {
        let remedy = if version < known {
            "run `ipledger-api migrate`"
        } else {
            "use the program that belongs to it"
        };
        return Err(Error::Guard(format!(
            "the schema is at version {version}, and this program needs {known}: {remedy}"
        )));
    }
    Ok(())
}

async fn assert_none(
    connection: &mut PgConnection,
    what: &str,
    sql: &'static str,
) -> Result<(), Error> {
    let found = sqlx::query(sql).fetch_all(connection).await?;
    let names: Vec<String> = found.iter().map(|row| row.get(0)).collect();
    if names.is_empty() {
        return Ok(());
    }
    Err(Error::Guard(format!(
        "the guard is not whole: {what}: {}",
        names.join(", ")
    )))
}

/// What must not be found, and how it is called. Each query names the offenders.
const MISSING: &[(&str, &str)] = &[
    (
        "constraint missing, not validated or deferrable",
        "select w.name from (values \
           ('events', 'events_position', 'p'), ('events', 'events_step', 'u'), \
           ('events', 'events_predecessor', 'f'), ('events', 'events_position_natural', 'c'), \
           ('events', 'events_step_natural', 'c'), ('events', 'events_address_and_step', 'c'), \
           ('events', 'events_address_canonical', 'c'), ('events', 'events_digest_length', 'c'), \
           ('events', 'events_hash_length', 'c'), ('payloads', 'payloads_position', 'p'), \
           ('addresses', 'addresses_one_row', 'p')) w (relation, name, kind) \
         where not exists (select from pg_constraint c \
           where c.conrelid = to_regclass('ipledger.' || w.relation) and c.conname = w.name \
             and c.contype::text = w.kind and c.convalidated and not c.condeferrable \
             and coalesce((to_jsonb(c) ->> 'conenforced')::boolean, true))",
    ),
    (
        "unique index missing or not valid",
        "select w.name from (values ('addresses_attachment'), ('addresses_owner'), \
           ('events_position'), ('events_step')) w (name) \
         where not exists (select from pg_index i \
           where i.indexrelid = to_regclass('ipledger.' || w.name) \
             and i.indisunique and i.indisvalid and i.indisready)",
    ),
    (
        "column not generated always",
        "select 'events.previous_step' where not exists (select from pg_attribute a \
           where a.attrelid = 'ipledger.events'::regclass and a.attname = 'previous_step' \
             and a.attgenerated = 's')",
    ),
    (
        "trigger missing or not always enabled",
        "select w.name from (values ('events', 'events_append_only'), ('events', 'events_gapless'), \
           ('payloads', 'payloads_unchanged')) w (relation, name) \
         where not exists (select from pg_trigger t \
           where t.tgrelid = to_regclass('ipledger.' || w.relation) and t.tgname = w.name \
             and t.tgenabled = 'A')",
    ),
    (
        "table partitioned or not logged",
        "select c.relname::text from pg_class c \
         where c.oid in ('ipledger.events'::regclass, 'ipledger.payloads'::regclass) \
           and (c.relkind <> 'r' or c.relpersistence <> 'p')",
    ),
    (
        "owner that can log in, or object of another owner",
        "select distinct r.rolname::text from pg_class c join pg_roles r on r.oid = c.relowner \
         where c.relnamespace = 'ipledger'::regnamespace \
           and (r.rolcanlogin or r.rolsuper or r.rolname <> current_database() || '_owner')",
    ),
    (
        "function append not as it was made",
        "select 'append' where not exists (select from pg_proc p join pg_roles r on r.oid = p.proowner \
           where p.pronamespace = 'ipledger'::regnamespace and p.proname = 'append' \
             and p.prosecdef and r.rolname = current_database() || '_owner' \
             and 'search_path=pg_catalog' = any (p.proconfig))",
    ),
    (
        "right to write that nobody should have",
        "select distinct c.relname || ': ' || a.privilege_type || ' for ' \
             || coalesce(r.rolname, 'public') \
         from pg_class c cross join lateral aclexplode(c.relacl) a \
         left join pg_roles r on r.oid = a.grantee \
         where c.relnamespace = 'ipledger'::regnamespace and c.relkind in ('r', 'v', 'm', 'S') \
           and a.grantee <> c.relowner and a.privilege_type <> 'SELECT'",
    ),
    (
        "right to execute that nobody should have",
        "select distinct p.proname || ' for ' || coalesce(r.rolname, 'public') \
         from pg_proc p \
         cross join lateral aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) a \
         left join pg_roles r on r.oid = a.grantee \
         where p.pronamespace = 'ipledger'::regnamespace and a.grantee <> p.proowner \
           and not (p.proname in ('append', 'append_and_commit') \
             and r.rolname = current_database() || '_app')",
    ),
    (
        "role that may act as the owner",
        "select r.rolname::text from pg_roles r, pg_roles o \
         where o.rolname = current_database() || '_owner' and r.oid <> o.oid and not r.rolsuper \
           and r.rolname in (current_database() || '_app', current_database() || '_auditor') \
           and pg_has_role(r.oid, o.oid, 'member')",
    ),
];
