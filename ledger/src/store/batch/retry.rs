//! The slow path: one batch at a time, again until each request has its answer.

use std::time::Instant;

use super::super::append::Appended;
use super::super::lane::{Lane, Pending};
use super::super::load;
use super::{Attempt, Failure, Prepared, answer, answer_all, fly};
use crate::error::Error;

/// A batch that the database refuses, as a whole.
struct Unsettled {
    batch: Vec<Pending>,
    error: Error,
    /// Why an earlier attempt may have been applied all the same.
    unknown: Option<String>,
}

impl Lane {
    /// Answer every request of a batch, with nothing else on its way. `unknown` says why an
    /// earlier attempt may have been applied.
    pub(super) async fn serve(&mut self, batch: Vec<Pending>, unknown: Option<String>) {
        if batch.is_empty() {
            return;
        }
        let Err(failed) = self.settle(batch, unknown).await else {
            return;
        };
        let Unsettled {
            batch,
            error,
            unknown,
        } = *failed;
        if batch.len() == 1 {
            answer_all(batch, || told(&error, unknown.as_deref()));
            return;
        }
        // One bad request must not fail its neighbours.
        self.metrics.retried_singly.inc();
        tracing::warn!(error = %error, requests = batch.len(), "batch failed; retrying singly");
        for pending in batch {
            if let Err(failed) = self.settle(vec![pending], unknown.clone()).await {
                tracing::error!(error = %failed.error, "request failed in the database");
                answer_all(failed.batch, || {
                    told(&failed.error, failed.unknown.as_deref())
                });
            }
        }
    }

    /// Try until each request has its answer or its deadline is over.
    async fn settle(
        &mut self,
        mut batch: Vec<Pending>,
        mut unknown: Option<String>,
    ) -> Result<(), Box<Unsettled>> {
        let mut failures = 0;
        loop {
            batch = expire(batch, unknown.as_deref(), &self.metrics);
            if batch.is_empty() {
                return Ok(());
            }
            if self.connection.is_none()
                && let Err(error) = self.refresh().await
            {
                batch = self
                    .wait_for_database(batch, &error, unknown.is_some())
                    .await;
                continue;
            }
            match self.attempt(batch).await {
                Attempt::Done(owed) => {
                    batch = self.settle_owed(owed).await;
                }
                Attempt::Again(left) => {
                    batch = left;
                    self.follow_or_warn().await;
                }
                Attempt::Lost(left, reason) => {
                    batch = left;
                    unknown = Some(reason);
                }
                Attempt::Failed(left, error) => {
                    failures += 1;
                    // Another writer may have been first in a space that was not looked at.
                    if self.refresh().await.is_err() || failures > 1 {
                        return Err(Box::new(Unsettled {
                            batch: left,
                            error,
                            unknown,
                        }));
                    }
                    batch = left;
                }
            }
        }
    }

    /// Without a database: whatever may have been applied waits for the truth until its deadline,
    /// the rest is told at once.
    async fn wait_for_database(
        &mut self,
        batch: Vec<Pending>,
        error: &Error,
        may_be_applied: bool,
    ) -> Vec<Pending> {
        if !may_be_applied {
            answer_all(batch, || clone_failure(error));
            return Vec::new();
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        batch
    }

    pub(super) async fn attempt(&mut self, batch: Vec<Pending>) -> Attempt {
        let Some(connection) = self.open_connection() else {
            return Attempt::Again(batch);
        };
        self.read_boots_of_previews(&batch, &connection).await;
        match self.prepare(batch) {
            Prepared::NeedsSpaces(batch, open) => self.open_spaces(batch, &open).await,
            Prepared::NeedsBoots(batch) => self.see_boots(batch, &connection).await,
            Prepared::Ready(mut flight) => {
                if let Err(error) = self.name_ended(&connection, &mut flight).await {
                    self.state.roll_back();
                    return Attempt::Failed(flight.batch, error);
                }
                let append = self.compose(&flight);
                let landing = fly(connection, *flight, append).await;
                match self.take_in(landing) {
                    Ok(owed) => Attempt::Done(owed),
                    Err(missed) => {
                        let (flight, sent) = *missed;
                        self.state.roll_back();
                        self.judge(flight.batch, sent).await
                    }
                }
            }
        }
    }

    /// What follows from a call that did not append.
    pub(super) async fn judge(
        &mut self,
        batch: Vec<Pending>,
        sent: Result<Appended, Failure>,
    ) -> Attempt {
        match sent {
            Ok(Appended::Tombstone) => {
                let Some(connection) = self.connection.clone() else {
                    return Attempt::Again(batch);
                };
                match load::tombstones(&connection.client, &mut self.state.order).await {
                    Ok(()) => Attempt::Again(batch),
                    Err(error) => Attempt::Failed(batch, error),
                }
            }
            Ok(_) => {
                self.metrics.moved.inc();
                self.contended_at = Some(Instant::now());
                Attempt::Again(batch)
            }
            Err(failure) => self.fail(batch, failure),
        }
    }

    pub(super) async fn follow_or_warn(&mut self) {
        if let Err(error) = self.refresh().await {
            tracing::warn!(error = %error, "the lane cannot follow the ledger");
        }
    }

    pub(super) fn fail(&mut self, batch: Vec<Pending>, failure: Failure) -> Attempt {
        match failure {
            Failure::Refused(error) => Attempt::Failed(batch, error),
            Failure::Lost(reason) => {
                self.connection = None;
                Attempt::Lost(batch, reason)
            }
            Failure::Unconfirmed => {
                self.unconfirmed = true;
                // Memory was rolled back; following the stream brings the commit in.
                self.connection = None;
                self.metrics.unknown.inc_by(batch.len() as u64);
                answer_all(batch, || Error::OutcomeUnknown {
                    reason: "the commit was not confirmed by the synchronous standby".to_owned(),
                });
                Attempt::Done(Vec::new())
            }
        }
    }
}

/// Answer those whose deadline is over; keep the rest.
fn expire(
    batch: Vec<Pending>,
    unknown: Option<&str>,
    metrics: &super::super::metrics::Metrics,
) -> Vec<Pending> {
    let now = Instant::now();
    let (late, left): (Vec<Pending>, Vec<Pending>) = batch
        .into_iter()
        .partition(|pending| now >= pending.deadline);
    for pending in late {
        let error = match unknown {
            Some(reason) => {
                metrics.unknown.inc();
                Error::OutcomeUnknown {
                    reason: reason.to_owned(),
                }
            }
            None => Error::DeadlinePassed,
        };
        answer(pending, Err(error));
    }
    left
}

/// What a request is told whose last attempt was refused, by its earlier ones.
fn told(error: &Error, unknown: Option<&str>) -> Error {
    match unknown {
        Some(reason) => Error::OutcomeUnknown {
            reason: format!("{reason}; then: {error}"),
        },
        None => clone_failure(error),
    }
}

/// The same failure for another request of the batch.
pub(super) fn clone_failure(error: &Error) -> Error {
    match error {
        Error::Unavailable { reason } => Error::Unavailable {
            reason: reason.clone(),
        },
        Error::Guard(text) => Error::Guard(text.clone()),
        other => Error::Database(other.to_string()),
    }
}
