//! Waiting for something new: all waiters of a replica share one cheap look at the database.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use sqlx::PgPool;
use sqlx::Row as _;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::read::rows;
use crate::error::Error;

/// How often the database is looked at while anybody waits: what other replicas did is seen within
/// this time.
const PERIOD: Duration = Duration::from_millis(250);
/// What this replica did is seen at once, but a busy one is not looked at more often than this.
const PAUSE: Duration = Duration::from_millis(10);
/// How long a waiter waits for the first look.
const PATIENCE: Duration = Duration::from_secs(5);

/// The head of a space, and the clusters that are members of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) seq: u64,
    pub(super) clusters: Vec<String>,
}

/// All heads, of one reading.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Heads {
    pub(super) epoch: u32,
    /// Id of the last wake-up.
    pub(super) wakeups: u64,
    /// By name.
    pub(super) spaces: BTreeMap<String, Head>,
}

/// What the last look showed.
#[derive(Debug, Clone, Default)]
struct Seen {
    /// It began after this many requests to look.
    covers: u64,
    heads: Arc<Heads>,
    /// Why it failed; the heads are older then.
    failed: Option<String>,
}

/// Where waiters wait.
#[derive(Debug)]
pub(super) struct Watch {
    asked: watch::Sender<u64>,
    seen: watch::Sender<Seen>,
}

impl Default for Watch {
    fn default() -> Watch {
        Watch {
            asked: watch::Sender::new(0),
            seen: watch::Sender::new(Seen::default()),
        }
    }
}

impl Watch {
    /// This replica wrote something: look at once, if anybody waits.
    pub(super) fn nudge(&self) {
        if self.seen.receiver_count() > 0 {
            self.ask();
        }
    }

    fn ask(&self) -> u64 {
        self.asked.send_modify(|asked| *asked += 1);
        *self.asked.borrow()
    }

    /// The heads as they are now, and a place to wait for the next ones.
    pub(super) async fn now(&self) -> Result<Waiter, Error> {
        let mut seen = self.seen.subscribe();
        let asked = self.ask();
        let looked = seen.wait_for(|seen| seen.covers >= asked);
        let unavailable = |reason: String| Error::Unavailable { reason };
        let first = match tokio::time::timeout(PATIENCE, looked).await {
            Ok(Ok(first)) => first.clone(),
            Ok(Err(_)) => return Err(Error::ShuttingDown),
            Err(_) => return Err(unavailable(format!("no answer within {PATIENCE:?}"))),
        };
        match first.failed {
            Some(reason) => Err(unavailable(reason)),
            None => Ok(Waiter {
                seen,
                heads: first.heads,
            }),
        }
    }

    /// Look as long as the ledger is open: on request, and periodically while anybody waits.
    pub(super) async fn look(self: Arc<Watch>, reads: PgPool, closing: CancellationToken) {
        let mut asked = self.asked.subscribe();
        let mut covers = *asked.borrow_and_update();
        loop {
            let began = Instant::now();
            if self.seen.receiver_count() > 0 {
                let Some(looked) = closing.run_until_cancelled(read(&reads)).await else {
                    return;
                };
                self.publish(covers, looked);
            }
            let period = PERIOD.saturating_sub(began.elapsed());
            tokio::select! {
                () = closing.cancelled() => return,
                asked = asked.changed() => {
                    if asked.is_err() {
                        return;
                    }
                    tokio::time::sleep(PAUSE.saturating_sub(began.elapsed())).await;
                }
                () = tokio::time::sleep(period), if self.seen.receiver_count() > 0 => {}
            }
            covers = *asked.borrow_and_update();
        }
    }

    fn publish(&self, covers: u64, looked: Result<Heads, Error>) {
        self.seen.send_modify(|seen| {
            seen.covers = covers;
            match looked {
                Ok(heads) => {
                    if *seen.heads != heads {
                        seen.heads = Arc::new(heads);
                    }
                    seen.failed = None;
                }
                Err(error) => {
                    tracing::debug!(%error, "waiters cannot be told what is new");
                    seen.failed = Some(error.to_string());
                }
            }
        });
    }
}

/// One who waits.
pub(super) struct Waiter {
    seen: watch::Receiver<Seen>,
    pub(super) heads: Arc<Heads>,
}

impl Waiter {
    /// Wait until a look shows other heads. Failed looks show nothing.
    pub(super) async fn changed(&mut self) {
        let known = Arc::clone(&self.heads);
        let other = |seen: &Seen| !Arc::ptr_eq(&seen.heads, &known);
        let next = match self.seen.wait_for(other).await {
            Ok(seen) => Some(Arc::clone(&seen.heads)),
            Err(_) => None,
        };
        match next {
            Some(heads) => self.heads = heads,
            // The ledger is gone, and nothing changes any more.
            None => std::future::pending().await,
        }
    }
}

async fn read(reads: &PgPool) -> Result<Heads, Error> {
    // One statement, so one reading; the private spaces of a member are its as well.
    let found = sqlx::query(
        "select x.epoch, x.wakeups, s.name, coalesce(s.seq, 0) as seq,
            array(select distinct m.cluster from ipledger.space_members m
                where m.space_id in (s.id, s.parent) order by 1) as clusters
         from (select coalesce((select max(epoch) from ipledger.epochs), 0) as epoch,
                (select last from ipledger.wakeup_head) as wakeups) x
         left join ipledger.spaces s on true",
    )
    .fetch_all(reads)
    .await?;
    let mut heads = Heads::default();
    for row in &found {
        heads.epoch = u32::try_from(row.try_get::<i32, _>("epoch")?).unwrap_or(0);
        heads.wakeups = rows::position(row, "wakeups")?;
        if let Some(name) = row.try_get::<Option<String>, _>("name")? {
            let head = Head {
                seq: rows::position(row, "seq")?,
                clusters: row.try_get("clusters")?,
            };
            heads.spaces.insert(name, head);
        }
    }
    Ok(heads)
}
