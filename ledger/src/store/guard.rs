//! Making sure, before anything is served, that the database still guards what it must.

mod catalogue;

use sqlx::postgres::{PgArguments, PgConnection, PgPool};
use sqlx::query::Query;
use sqlx::{Postgres, Row as _};

use self::catalogue::{
    ALTERED_ROUTINE, CONSTRAINTS, FINDINGS, Finding, INDEXES, MISSING_CONSTRAINT, MISSING_INDEX,
};
use super::migrate::{applied, assert_server, migrations_text, newest_known, one_connection};
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
    let pool = one_connection(database_url).await?;
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
    assert_parts(&mut connection).await?;
    for finding in FINDINGS {
        assert_none(finding, sqlx::query(finding.sql), &mut connection).await?;
    }
    Ok(())
}

/// What a service that already runs needs. A newer schema is the beginning of an upgrade: the next
/// version's migrations have been here and left what this program uses, and its parts are for the
/// next version to judge.
pub(super) async fn assert_running(pool: &PgPool) -> Result<(), Error> {
    let mut connection = pool.acquire().await?;
    let version = applied(&mut connection).await?.last().copied();
    drop(connection);
    if version > Some(newest_known()) {
        return Ok(());
    }
    assert(pool).await
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

/// The parts whose definitions are known here.
async fn assert_parts(connection: &mut PgConnection) -> Result<(), Error> {
    let tables: Vec<&str> = CONSTRAINTS.iter().map(|part| part.0).collect();
    let names: Vec<&str> = CONSTRAINTS.iter().map(|part| part.1).collect();
    let definitions: Vec<&str> = CONSTRAINTS.iter().map(|part| part.2).collect();
    let constraints = sqlx::query(MISSING_CONSTRAINT.sql)
        .bind(tables)
        .bind(names)
        .bind(definitions);
    assert_none(&MISSING_CONSTRAINT, constraints, connection).await?;
    let (names, definitions): (Vec<&str>, Vec<&str>) = INDEXES.iter().copied().unzip();
    let indexes = sqlx::query(MISSING_INDEX.sql).bind(names).bind(definitions);
    assert_none(&MISSING_INDEX, indexes, connection).await?;
    let routines = sqlx::query(ALTERED_ROUTINE.sql).bind(migrations_text());
    assert_none(&ALTERED_ROUTINE, routines, connection).await
}

async fn assert_none(
    finding: &Finding,
    query: Query<'_, Postgres, PgArguments>,
    connection: &mut PgConnection,
) -> Result<(), Error> {
    let found = query.fetch_all(connection).await?;
    let names: Vec<String> = found.iter().map(|row| row.get(0)).collect();
    if names.is_empty() {
        return Ok(());
    }
    Err(Error::Guard(format!(
        "the guard is not whole: {}: {}",
        finding.what,
        names.join(", ")
    )))
}
