//! Wake-ups: a refusal that a dead holder may be to blame for is made known to every replica and
//! every cluster that holds addresses there. Never in the way of the refusal itself.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ipnet::IpNet;
use serde_json::json;
use sqlx::PgPool;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::metrics::Metrics;
use super::watch::Watch;
use crate::error::Error;
use crate::refusal::Refusal;

/// A window is written at most once in this time, however many refusals there are.
const AT_MOST_EVERY: Duration = Duration::from_secs(1);
/// Windows that are waited for or were just written, at most; as many go into one call.
const MOST_PLACES: usize = 1000;
/// Refusals that wait to be taken in.
const WAITING: usize = 1024;
/// How long one write may take.
const PATIENCE: Duration = Duration::from_secs(5);

/// Where a hold is in the way.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Place {
    space: String,
    reason: &'static str,
    /// `None` for a fixed address: its hold knows.
    cidr: Option<IpNet>,
    first: IpAddr,
    last: IpAddr,
}

impl Place {
    fn of(refusal: &Refusal) -> Option<Place> {
        match refusal {
            Refusal::Exhausted { space, window, .. } => Some(Place {
                space: space.clone(),
                reason: refusal.kind(),
                cidr: Some(window.cidr()),
                first: window.start(),
                last: window.end(),
            }),
            Refusal::AddressTaken { ip, hold } => Some(Place {
                space: hold.space.clone(),
                reason: refusal.kind(),
                cidr: None,
                first: *ip,
                last: *ip,
            }),
            _ => None,
        }
    }
}

/// Takes refusals in.
#[derive(Debug, Clone)]
pub(super) struct Waker {
    places: mpsc::Sender<Place>,
    metrics: Metrics,
}

/// Writes what a [`Waker`] took in.
pub(super) struct Writer {
    places: mpsc::Receiver<Place>,
    reads: PgPool,
    watch: Arc<Watch>,
    metrics: Metrics,
    known: HashMap<Place, Known>,
}

/// What is known about a place.
#[derive(Debug, Default)]
struct Known {
    tried_at: Option<Instant>,
    is_due: bool,
}

impl Known {
    /// When it may be written; `None` if there is nothing to write.
    fn due_at(&self, now: Instant) -> Option<Instant> {
        self.is_due
            .then(|| self.tried_at.map_or(now, |at| at + AT_MOST_EVERY))
    }
}

/// The two ends.
pub(super) fn channel(reads: PgPool, watch: Arc<Watch>, metrics: Metrics) -> (Waker, Writer) {
    let (sender, places) = mpsc::channel(WAITING);
    let waker = Waker {
        places: sender,
        metrics: metrics.clone(),
    };
    let writer = Writer {
        places,
        reads,
        watch,
        metrics,
        known: HashMap::new(),
    };
    (waker, writer)
}

impl Waker {
    /// Remember a refusal, unless it is of another kind. Never waits.
    pub(super) fn note(&self, refusal: &Refusal) {
        if let Some(place) = Place::of(refusal)
            && self.places.try_send(place).is_err()
        {
            self.metrics.wakeups_dropped.inc();
        }
    }
}

impl Writer {
    /// Write as long as the ledger is open.
    pub(super) async fn run(mut self, closing: CancellationToken) {
        let mut taken = Vec::with_capacity(WAITING);
        loop {
            let now = Instant::now();
            let next = self
                .known
                .values()
                .filter_map(|known| known.due_at(now))
                .min();
            let wait = next.map_or(AT_MOST_EVERY, |at| at.saturating_duration_since(now));
            tokio::select! {
                () = closing.cancelled() => return,
                count = self.places.recv_many(&mut taken, WAITING) => {
                    if count == 0 {
                        return;
                    }
                    taken.drain(..).for_each(|place| self.take(place));
                }
                () = tokio::time::sleep(wait), if next.is_some() => {}
            }
            let now = Instant::now();
            let due: Vec<Place> = self
                .known
                .iter()
                .filter(|(_, known)| known.due_at(now).is_some_and(|at| at <= now))
                .map(|(place, _)| place.clone())
                .collect();
            if !due.is_empty() {
                let written = closing.run_until_cancelled(self.write(&due)).await;
                match written {
                    None => return,
                    Some(written) => self.settle(&due, written),
                }
            }
            self.known.retain(|_, known| {
                known.is_due
                    || known
                        .tried_at
                        .is_some_and(|at| at.elapsed() < AT_MOST_EVERY)
            });
        }
    }

    fn take(&mut self, place: Place) {
        if self.known.len() >= MOST_PLACES && !self.known.contains_key(&place) {
            self.metrics.wakeups_dropped.inc();
            return;
        }
        self.known.entry(place).or_default().is_due = true;
    }

    /// What could not be written is tried again, with whatever comes in between.
    fn settle(&mut self, due: &[Place], written: Result<(), Error>) {
        let is_due = match written {
            Ok(()) => {
                self.metrics.wakeups.inc_by(due.len() as u64);
                self.watch.nudge();
                false
            }
            Err(error) => {
                self.metrics.wakeups_failed.inc();
                tracing::warn!(kind = error.kind(), %error, "wake-ups were not written yet");
                true
            }
        };
        let now = Instant::now();
        for place in due {
            if let Some(known) = self.known.get_mut(place) {
                known.tried_at = Some(now);
                known.is_due = is_due;
            }
        }
    }

    async fn write(&self, due: &[Place]) -> Result<(), Error> {
        let wakeups: Vec<serde_json::Value> = due
            .iter()
            .map(|place| {
                json!({
                    "space": place.space, "reason": place.reason, "cidr": place.cidr,
                    "first": place.first, "last": place.last,
                })
            })
            .collect();
        let write = async {
            // The pool's transactions only read unless told otherwise.
            let mut transaction = self.reads.begin_with("begin read write").await?;
            sqlx::query("select ipledger.wake($1)")
                .bind(serde_json::Value::Array(wakeups))
                .execute(&mut *transaction)
                .await?;
            transaction.commit().await
        };
        match tokio::time::timeout(PATIENCE, write).await {
            Ok(written) => Ok(written?),
            Err(_) => Err(Error::Unavailable {
                reason: format!("no answer within {PATIENCE:?}"),
            }),
        }
    }
}
