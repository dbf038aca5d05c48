//! Waiting for something new: refusals that sync is woken for, and streams that have moved. With
//! two replicas on one database wherever it may matter which one a caller asked.

mod changes;
mod wakeups;

use std::time::{Duration, Instant};

use ledger::Ledger;
use tokio::task::JoinHandle;
use tokio_postgres::Client;

use crate::faults::servers::until;
use crate::guard::sql::text;

/// Longer than anything here takes.
const PATIENCE: Duration = Duration::from_secs(20);

/// A wait that ends in vain only if something is wrong.
async fn patience() {
    tokio::time::sleep(PATIENCE).await;
}

/// A wait that is to end in vain: longer than any look at the database takes to come.
async fn a_while() {
    tokio::time::sleep(Duration::from_millis(700)).await;
}

/// Spawn one who waits; until it has looked at what there is.
async fn waiting<T: Send + 'static>(
    observer: &Client,
    waiter: impl Future<Output = T> + Send + 'static,
) -> JoinHandle<T> {
    let began = text(observer, "select clock_timestamp()::text").await;
    let waiter = tokio::spawn(waiter);
    let looked = format!(
        "select count(*) from pg_stat_activity where datname = current_database() \
         and query like '%wakeup_head%' and state = 'idle' and query_start > '{began}' \
         and pid <> pg_backend_pid()"
    );
    until("it has looked", async || {
        text(observer, &looked).await != "0"
    })
    .await;
    waiter
}

/// The shortest of a few times: a busy machine may make each of them long, but not all.
async fn shortest(rounds: u32, mut round: impl AsyncFnMut(u32) -> Instant) -> Duration {
    let mut shortest = Duration::MAX;
    for number in 0..rounds {
        let began = round(number).await;
        shortest = shortest.min(began.elapsed());
    }
    shortest
}

/// Close all.
async fn close(ledgers: impl IntoIterator<Item = Ledger>) {
    for ledger in ledgers {
        ledger.close().await;
    }
}
