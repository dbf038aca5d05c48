//! Beginning an epoch: said by hand, after history may have been shortened.

use super::migrate::one_connection;
use crate::error::Error;

/// Every event and every receipt from now on carries a new epoch, so whoever kept a receipt of
/// before can tell that it may be of a history that is gone. To be called after a restore from a
/// backup and after a failover to a standby that was not synchronous, before anything is served.
///
/// Needs the role that migrates. Gives the epoch that began.
///
/// # Errors
/// [`Error::Database`] if the caller may not, or the schema is not there yet.
pub async fn begin_epoch(database_url: &str, reason: &str) -> Result<u32, Error> {
    let pool = one_connection(database_url).await?;
    let begun = begin(&pool, reason).await;
    pool.close().await;
    begun
}

async fn begin(pool: &sqlx::PgPool, reason: &str) -> Result<u32, Error> {
    let mut transaction = pool.begin().await?;
    sqlx::raw_sql(
        "do $$ begin execute format('set local role %I', current_database() || '_owner'); end $$; \
         lock table ipledger.epochs in share row exclusive mode",
    )
    .execute(&mut *transaction)
    .await?;
    let epoch: i32 = sqlx::query_scalar(
        "insert into ipledger.epochs (epoch, reason)
         select max(epoch) + 1, $1 from ipledger.epochs returning epoch",
    )
    .bind(reason)
    .fetch_one(&mut *transaction)
    .await?;
    transaction.commit().await?;
    Ok(epoch.unsigned_abs())
}
