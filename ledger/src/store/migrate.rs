//! Bringing the schema to this version.

use std::time::Duration;

use sqlx::migrate::Migrator;
use sqlx::postgres::{PgConnection, PgPoolOptions};
use sqlx::{Connection as _, Row as _};

use crate::error::Error;

/// The migrations, in the binary.
pub(super) static MIGRATOR: Migrator = sqlx::migrate!("../migrations");

/// Older servers lack what the guard needs.
const OLDEST_SERVER: i32 = 140_000;

/// What a migration did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Migrated {
    /// Migrations applied now.
    pub applied: usize,
    /// Version of the schema.
    pub version: i64,
}

/// Apply what is missing. Safe to call from several processes at once: an advisory lock lets one
/// work and the others find it done.
///
/// # Errors
/// One line: a server older than PostgreSQL 14, a schema newer than this program, rights missing.
pub async fn migrate(database_url: &str) -> Result<Migrated, Error> {
    let pool = PgPoolOptions::new()
        .max_connections(1)
        .acquire_timeout(Duration::from_secs(5))
        .connect(database_url)
        .await?;
    let mut connection = pool.acquire().await?;
    assert_server(&mut connection).await?;
    assert_not_newer(&mut connection).await?;
    let before = applied(&mut connection).await?.len();
    drop(connection);
    MIGRATOR
        .run(&pool)
        .await
        .map_err(|error| Error::Guard(format!("the migration failed: {error}")))?;
    let mut connection = pool.acquire().await?;
    let after = applied(&mut connection).await?;
    drop(connection);
    pool.close().await;
    Ok(Migrated {
        applied: after.len() - before,
        version: after.last().copied().unwrap_or(0),
    })
}

/// Give the services' role `<database>_app` its password. PostgreSQL hashes it as its
/// `password_encryption` says.
///
/// # Errors
/// [`Error::Database`] if the caller may not, or the schema is not there yet.
pub async fn set_app_password(database_url: &str, password: &str) -> Result<(), Error> {
    let pool = PgPoolOptions::new()
        .max_connections(1)
        .acquire_timeout(Duration::from_secs(5))
        .connect(database_url)
        .await?;
    // ALTER ROLE takes no parameters, so the server quotes them itself.
    let statement: String = sqlx::query_scalar(
        "select format('alter role %I password %L', current_database() || '_app', $1::text)",
    )
    .bind(password)
    .fetch_one(&pool)
    .await?;
    let altered = sqlx::raw_sql(sqlx::AssertSqlSafe(statement)).execute(&pool).await;
    pool.close().await;
    altered?;
    Ok(())
}

/// One line if the server is too old.
pub(super) async fn assert_server(connection: &mut PgConnection) -> Result<(), Error> {
    let row = sqlx::query(
        "select current_setting('server_version_num')::int, current_setting('server_version')",
    )
    .fetch_one(&mut *connection)
    .await?;
    let (number, text): (i32, String) = (row.get(0), row.get(1));
    if number < OLDEST_SERVER {
        return Err(Error::Guard(format!(
            "the server is PostgreSQL {text}; ipledger needs PostgreSQL 14 or later"
        )));
    }
    connection.ping().await?;
    Ok(())
}

/// One line if a newer program has been here.
async fn assert_not_newer(connection: &mut PgConnection) -> Result<(), Error> {
    let known = newest_known();
    match applied(connection).await?.last() {
        Some(&version) if version > known => Err(Error::Guard(format!(
            "the schema is at version {version}, newer than this program's {known}; use the \
             newer program"
        ))),
        _ => Ok(()),
    }
}

/// The last migration in this binary.
pub(super) fn newest_known() -> i64 {
    MIGRATOR
        .iter()
        .map(|migration| migration.version)
        .max()
        .unwrap_or(0)
}

/// Versions applied, in order.
pub(super) async fn applied(connection: &mut PgConnection) -> Result<Vec<i64>, Error> {
    let exists: bool =
        sqlx::query_scalar("select to_regclass('public._sqlx_migrations') is not null")
            .fetch_one(&mut *connection)
            .await?;
    if !exists {
        return Ok(Vec::new());
    }
    let versions = sqlx::query_scalar(
        "select version from public._sqlx_migrations where success order by version",
    )
    .fetch_all(connection)
    .await?;
    Ok(versions)
}
