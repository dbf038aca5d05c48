//! Filing events under who they are about, behind the lane: appending does not pay for it.

use std::time::{Duration, Instant};

use sqlx::PgPool;
use tokio_util::sync::CancellationToken;

use super::read::rows;
use crate::error::Error;

/// How often what is new is filed while nobody asks. A reader files what is missing by itself.
const PERIOD: Duration = Duration::from_secs(1);
/// The part of the time that is spent on it while much is missing: one in so many. The lane comes
/// first.
const SHARE: u32 = 10;
/// Events of a space in one transaction: some tens of milliseconds.
const BATCH: i32 = 2000;

/// File what is new as long as the ledger is open.
pub(super) async fn run(reads: PgPool, closing: CancellationToken) {
    let mut failing = false;
    loop {
        let began = Instant::now();
        let Some(filed) = closing.run_until_cancelled(file_next(&reads)).await else {
            return;
        };
        let pause = match filed {
            Ok(left) if left > 0 => began.elapsed() * (SHARE - 1),
            _ => PERIOD,
        };
        match &filed {
            Err(error) if !failing => {
                tracing::warn!(kind = error.kind(), %error, "events are not filed by subject now");
            }
            Ok(_) if failing => tracing::info!("events are filed by subject again"),
            _ => {}
        }
        failing = filed.is_err();
        tokio::select! {
            () = closing.cancelled() => return,
            () = tokio::time::sleep(pause) => {}
        }
    }
}

/// One batch, if anything is missing; answers how much still is.
async fn file_next(reads: &PgPool) -> Result<u64, Error> {
    match missing(reads).await? {
        0 => Ok(0),
        _ => file(reads).await,
    }
}

/// Have everything filed that was appended before the call. Each batch stays filed, so a caller who
/// runs out of time on a long past (an upgrade) gets there by asking again.
///
/// # Errors
/// [`Error::Unavailable`] without a database.
pub(super) async fn catch_up(reads: &PgPool) -> Result<(), Error> {
    let mut left = missing(reads).await?;
    // Others append meanwhile; only what was there at the call is owed.
    let mut rounds = left.div_ceil(BATCH.unsigned_abs().into());
    while left > 0 && rounds > 0 {
        left = file(reads).await?;
        rounds -= 1;
    }
    Ok(())
}

async fn missing(reads: &PgPool) -> Result<u64, Error> {
    let row = sqlx::query(
        "select coalesce(sum(s.seq - coalesce(h.seq, 0)), 0)::bigint as missing
         from ipledger.spaces s left join ipledger.subject_heads h on h.space_id = s.id",
    )
    .fetch_one(reads)
    .await?;
    rows::position(&row, "missing")
}

/// One batch of each space; answers how many events are still missing.
async fn file(reads: &PgPool) -> Result<u64, Error> {
    // The pool's transactions only read unless told otherwise.
    let mut transaction = reads.begin_with("begin read write").await?;
    let row = sqlx::query("select ipledger.index_subjects($1) as missing")
        .bind(BATCH)
        .fetch_one(&mut *transaction)
        .await?;
    transaction.commit().await?;
    rows::position(&row, "missing")
}
