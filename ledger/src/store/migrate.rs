//! Bringing the schema to this version.

use std::time::Duration;

use sqlx::migrate::Migrator;
use sqlx::postgres::{PgConnectOptions, PgConnection, PgPool, PgPoolOptions};
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
    let options: PgConnectOptions = database_url
        .parse()
        .map_err(|error: sqlx::Error| Error::Guard(format!("database url: {error}")))?;
    // The table of applied migrations is found where it was made, whatever the role's default.
    let options = options.options([("search_path", "public")]);
    // One connection holds the lock, the other works.
    let pool = PgPoolOptions::new()
        .max_connections(2)
        .acquire_timeout(Duration::from_secs(5))
        .connect_with(options)
        .await?;
    let mut connection = pool.acquire().await?;
    assert_server(&mut connection).await?;
    // The migrator's own lock comes later: between looking and working another process could do
    // the work, and both would report it. The lock ends with the connection.
    sqlx::query("select pg_advisory_lock(hashtextextended('ipledger migrate', 0))")
        .execute(&mut *connection)
        .await?;
    assert_not_newer(&mut connection).await?;
    let before = applied(&mut connection).await?.len();
    MIGRATOR
        .run(&pool)
        .await
        .map_err(|error| Error::Guard(format!("the migration failed: {error}")))?;
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
    let pool = one_connection(database_url).await?;
    // ALTER ROLE takes no parameters, so the server quotes them itself.
    let statement: String = sqlx::query_scalar(
        "select format('alter role %I password %L', current_database() || '_app', $1::text)",
    )
    .bind(password)
    .fetch_one(&pool)
    .await?;
    let altered = sqlx::raw_sql(sqlx::AssertSqlSafe(statement))
        .execute(&pool)
        .await;
    pool.close().await;
    altered?;
    Ok(())
}

/// For a command that does one thing and ends.
pub(super) async fn one_connection(database_url: &str) -> Result<PgPool, Error> {
    let pool = PgPoolOptions::new()
        .max_connections(1)
        .acquire_timeout(Duration::from_secs(5))
        .connect(database_url)
        .await?;
    Ok(pool)
}

/// One line if the server is too old.
pub(super) async fn assert_server(connection: &mut PgConnection) -> Result<(), Error> {
    let row = sqlx::query(
        "select current_setting('server_version_num')::int, current_setting('server_version')",
    )
    .fetch_one(&mut *connection)
    .await?;
    let (number, text): (i32, String) = (row.get(0), row.get(1));
    refuse_old(number, &text)?;
    connection.ping().await?;
    Ok(())
}

/// `number` is the server's `server_version_num`.
fn refuse_old(number: i32, text: &str) -> Result<(), Error> {
    if number >= OLDEST_SERVER {
        return Ok(());
    }
    Err(Error::Guard(format!(
        "the server is PostgreSQL {text}; ipledger needs PostgreSQL 14 or later"
    )))
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

/// The text of all migrations: whatever function the schema has must stand in it.
pub(super) fn migrations_text() -> String {
    MIGRATOR
        .iter()
        .map(|migration| migration.sql.as_str())
        .collect()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_before_14_are_refused_by_their_version() {
        for (number, text) in [(90_624, "9.6.24"), (130_022, "13.22 (Debian 13.22-1)")] {
            let error = refuse_old(number, text).expect_err("too old");
            assert_eq!(
                error.to_string(),
                format!("the server is PostgreSQL {text}; ipledger needs PostgreSQL 14 or later")
            );
        }
        for number in [140_000, 150_014, 180_000] {
            assert!(refuse_old(number, "").is_ok(), "{number}");
        }
    }

    /// What is applied somewhere must not change, and what is in use must not be taken away by
    /// a step back: migrations only go forward, numbered without a gap.
    #[test]
    fn migrations_go_forward_only() {
        let versions: Vec<i64> = MIGRATOR.iter().map(|migration| migration.version).collect();
        let expected: Vec<i64> = (1..=newest_known()).collect();
        assert_eq!(versions, expected);
        assert!(
            MIGRATOR
                .iter()
                .all(|migration| !migration.migration_type.is_down_migration())
        );
    }
}
