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
/// Events in one transaction while nobody waits for it, over all spaces: some tens of milliseconds.
const ROUND: i32 = 500;
/// Events of each space in one transaction when a reader waits.
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

/// One round, if anything is missing; answers how much still is. However many spaces there are, the
/// lane is not kept waiting for longer.
async fn file_next(reads: &PgPool) -> Result<u64, Error> {
    match missing(reads).await?.spaces {
        0 => Ok(0),
        spaces => {
            let spaces = i32::try_from(spaces).unwrap_or(i32::MAX);
            file(reads, (ROUND / spaces).max(1)).await
        }
    }
}

/// Have everything filed that was appended before the call. Each batch stays filed, so a caller who
/// runs out of time on a long past (an upgrade) gets there by asking again.
///
/// # Errors
/// [`Error::Unavailable`] without a database.
pub(super) async fn catch_up(reads: &PgPool) -> Result<(), Error> {
    let mut left = missing(reads).await?.events;
    // Others append meanwhile; only what was there at the call is owed.
    let mut rounds = left.div_ceil(BATCH.unsigned_abs().into());
    while left > 0 && rounds > 0 {
        left = file(reads, BATCH).await?;
        rounds -= 1;
    }
    Ok(())
}

/// What is not filed yet.
struct Missing {
    events: u64,
    /// How many spaces they are of.
    spaces: u64,
}

async fn missing(reads: &PgPool) -> Result<Missing, Error> {
    let row = sqlx::query(
        "select coalesce(sum(s.seq - coalesce(h.seq, 0)), 0)::bigint as events, count(*) as spaces
         from ipledger.spaces s left join ipledger.subject_heads h on h.space_id = s.id
         where s.seq > coalesce(h.seq, 0)",
    )
    .fetch_one(reads)
    .await?;
    Ok(Missing {
        events: rows::position(&row, "events")?,
        spaces: rows::position(&row, "spaces")?,
    })
}

/// So many events of each space at most; answers how many are still missing.
async fn file(reads: &PgPool, most: i32) -> Result<u64, Error> {
    // The pool's transactions only read unless told otherwise.
    let mut transaction = reads.begin_with("begin read write").await?;
    let row = sqlx::query("select ipledger.index_subjects($1) as missing")
        .bind(most)
        .fetch_one(&mut *transaction)
        .await?;
    transaction.commit().await?;
    rows::position(&row, "missing")
}
