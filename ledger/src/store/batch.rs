//! One batch: decide all, append once, answer each.

mod finish;
mod notes;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

use super::append::{Append, Appended, Head};
use super::connection::{Connection, classify, describe, is_lost};
use super::lane::{Flights, Lane, Pending};
use super::load;
use crate::answer::{Answer, Released};
use crate::decide::{Burial, Draft, NewEvent, OpenSpace, Verdict, apply, decide};
use crate::error::Error;
use crate::state::{SpaceIndex, Tombstone};

/// How long a DEL that found nothing keeps its own late ADD out, in seconds: far longer than any
/// runtime waits for an ADD.
const TOMBSTONE_SECONDS: i64 = 600;

/// What was decided for one request of a batch, while the call is on its way.
enum Decided {
    /// Events `first..first + count` of the batch make this answer.
    Appends {
        first: usize,
        count: usize,
        draft: Draft,
    },
    /// Holds as long as the heads do.
    Answers(Answer),
    Refuses(crate::refusal::Refusal),
    Buries(Burial),
}

/// A batch that was decided and applied to memory.
pub(super) struct Flight {
    batch: Vec<Pending>,
    decided: Vec<Decided>,
    events: Vec<(NewEvent, u64)>,
    /// Positions of the spaces that were looked at, before the batch.
    before: HashMap<SpaceIndex, u64>,
    /// How many changes of memory are its own.
    changes: usize,
}

/// A flight and what the database said.
pub(super) struct Landing {
    flight: Flight,
    sent: Result<Appended, Failure>,
    duration_seconds: f64,
    event_count: usize,
    confirmed: bool,
}

/// A batch as far as memory can take it.
enum Prepared {
    Ready(Box<(Flight, Append)>),
    /// Spaces must exist first.
    NeedsSpaces(Vec<Pending>, Vec<OpenSpace>),
}

/// What became of an attempt.
enum Attempt {
    /// Every request has its answer, but these must leave a tombstone.
    Done(Vec<(Pending, Burial)>),
    /// Decide again, after this was done or learned.
    Again(Vec<Pending>),
    /// The batch failed as a whole: something in it is refused by the database.
    Failed(Vec<Pending>, Error),
    /// The connection was lost on the way: these may or may not be applied.
    Lost(Vec<Pending>, String),
}

/// A batch that the database refuses, as a whole.
struct Unsettled {
    batch: Vec<Pending>,
    error: Error,
    /// Why an earlier attempt may have been applied all the same.
    unknown: Option<String>,
}

/// Why a call did not come through.
enum Failure {
    /// The database refused: nothing changed.
    Refused(Error),
    /// The connection went away: not known.
    Lost(String),
    /// Committed, but not confirmed by the standby.
    Unconfirmed,
}

impl Lane {
    /// Decide a batch and send it, behind the one that may be on its way.
    pub(super) async fn launch(&mut self, batch: Vec<Pending>, flights: &mut Flights) {
        let batch: Vec<Pending> = batch.into_iter().filter_map(begin).collect();
        if batch.is_empty() {
            return;
        }
        #[expect(clippy::cast_precision_loss, reason = "a batch is small")]
        self.metrics.batch_requests.observe(batch.len() as f64);
        if self.has_unknown_boot(&batch) {
            self.land_all(flights).await;
        }
        let Some(connection) = self.open_connection() else {
            self.land_all(flights).await;
            return self.serve(batch, None).await;
        };
        self.learn_boots(&batch, &connection).await;
        match self.prepare(batch) {
            Prepared::Ready(ready) => {
                let (flight, append) = *ready;
                flights.push_back(Box::pin(fly(connection, flight, append)));
            }
            Prepared::NeedsSpaces(batch, _) => {
                self.land_all(flights).await;
                self.serve(batch, None).await;
            }
        }
    }

    /// Take the answer of the first flight in. If it failed, the later ones were decided on
    /// heads that never came to be: take all back and go on one by one.
    pub(super) async fn land(&mut self, landing: Landing, flights: &mut Flights) {
        use futures_util::StreamExt as _;
        self.count(&landing);
        let Landing {
            flight,
            sent,
            confirmed,
            ..
        } = landing;
        if let Ok(Appended::Yes { heads, epoch }) = sent {
            self.unconfirmed &= !confirmed;
            let times = self.accept(&flight, &heads, epoch);
            let burials = flight.reply(&times, epoch, self);
            if !burials.is_empty() {
                self.land_all(flights).await;
                let alive = self.bury_all(burials).await;
                self.serve(alive, None).await;
            }
            return;
        }
        let mut failed = vec![(flight, sent)];
        let mut burials = Vec::new();
        while let Some(landing) = flights.next().await {
            self.count(&landing);
            let Landing { flight, sent, .. } = landing;
            match sent {
                // It touched other spaces: it is in the ledger, and memory follows the stream.
                Ok(Appended::Yes { heads, epoch }) => {
                    let times = self.times(&heads);
                    burials.extend(flight.reply(&times, epoch, self));
                }
                sent => failed.push((flight, sent)),
            }
        }
        self.state.roll_back();
        for (flight, sent) in failed {
            match self.judge(flight.batch, sent).await {
                Attempt::Done(_) => {}
                Attempt::Again(batch) | Attempt::Failed(batch, _) => {
                    self.follow_or_warn().await;
                    self.serve(batch, None).await;
                }
                Attempt::Lost(batch, reason) => self.serve(batch, Some(reason)).await,
            }
        }
        let alive = self.bury_all(burials).await;
        self.serve(alive, None).await;
    }

    async fn land_all(&mut self, flights: &mut Flights) {
        use futures_util::StreamExt as _;
        while let Some(landing) = flights.next().await {
            Box::pin(self.land(landing, flights)).await;
        }
    }

    /// Answer every request of a batch, with nothing else on its way. `unknown` says why an
    /// earlier attempt may have been applied.
    async fn serve(&mut self, batch: Vec<Pending>, unknown: Option<String>) {
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
                Attempt::Done(burials) => {
                    batch = self.bury_all(burials).await;
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

    async fn attempt(&mut self, batch: Vec<Pending>) -> Attempt {
        let Some(connection) = self.connection.clone() else {
            return Attempt::Again(batch);
        };
        self.learn_boots(&batch, &connection).await;
        match self.prepare(batch) {
            Prepared::NeedsSpaces(batch, open) => self.open_spaces(batch, &open).await,
            Prepared::Ready(ready) => {
                let (flight, append) = *ready;
                let landing = fly(connection, flight, append).await;
                self.count(&landing);
                let Landing {
                    flight,
                    sent,
                    confirmed,
                    ..
                } = landing;
                if let Ok(Appended::Yes { heads, epoch }) = sent {
                    self.unconfirmed &= !confirmed;
                    let times = self.accept(&flight, &heads, epoch);
                    return Attempt::Done(flight.reply(&times, epoch, self));
                }
                self.state.roll_back();
                self.judge(flight.batch, sent).await
            }
        }
    }

    fn has_unknown_boot(&self, batch: &[Pending]) -> bool {
        let mut tokens = batch.iter().filter_map(|pending| pending.command.token());
        tokens.any(|token| !self.state.order.is_boot_known(token.boot_id))
    }

    /// A boot that memory does not know may be known to the database, before or after others of
    /// its node. Rare: once per boot and replica. Only while no change waits.
    async fn learn_boots(&mut self, batch: &[Pending], connection: &Connection) {
        if self.has_unknown_boot(batch)
            && let Err(error) = load::boots(&connection.client, &mut self.state.order).await
        {
            // The call that follows meets the same trouble and deals with it.
            tracing::warn!(error = %error, "the lane cannot read the boots");
        }
    }

    /// The connection, unless it is known to be gone: what is never sent is never unknown.
    fn open_connection(&mut self) -> Option<Arc<Connection>> {
        self.connection = self
            .connection
            .take()
            .filter(|open| !open.client.is_closed());
        self.connection.clone()
    }

    /// Decide every request in turn, each on what the ones before it will leave.
    fn prepare(&mut self, batch: Vec<Pending>) -> Prepared {
        let now_us = self.now_us();
        let base = self.state.pending_changes();
        self.state.wake(now_us);
        let mut decided = Vec::with_capacity(batch.len());
        let mut events: Vec<(NewEvent, u64)> = Vec::with_capacity(batch.len());
        let mut before: HashMap<SpaceIndex, u64> = HashMap::new();
        for pending in &batch {
            match decide(&self.state, &pending.command, now_us) {
                Verdict::Append(new, draft) => {
                    self.note_heads(&mut before, new.iter().map(|event| event.space));
                    let seqs = apply(&mut self.state, &new, now_us);
                    let (first, count) = (events.len(), new.len());
                    events.extend(new.into_iter().zip(seqs));
                    decided.push(Decided::Appends {
                        first,
                        count,
                        draft,
                    });
                }
                Verdict::Answer(answer, spaces) => {
                    self.note_heads(&mut before, spaces);
                    decided.push(Decided::Answers(answer));
                }
                Verdict::Refuse(refusal, spaces) => {
                    self.note_heads(&mut before, spaces);
                    decided.push(Decided::Refuses(refusal));
                }
                Verdict::Bury(burial) => decided.push(Decided::Buries(burial)),
                Verdict::Open(open) => {
                    self.state.roll_back_to(base);
                    return Prepared::NeedsSpaces(batch, open);
                }
            }
        }
        let heads = before
            .iter()
            .map(|(&space, &seq)| (self.state.spaces.get(space).id, seq));
        let mut append = Append::new(heads);
        append.add_events(&self.state, &events);
        self.add_notes(&mut append, &events);
        for (suspects, cleared) in batch.iter().filter_map(|pending| pending.suspects.clone()) {
            append.add_suspects(suspects, cleared);
        }
        append.confirm = self.unconfirmed;
        let changes = self.state.pending_changes() - base;
        Prepared::Ready(Box::new((
            Flight {
                batch,
                decided,
                events,
                before,
                changes,
            },
            append,
        )))
    }

    fn note_heads(
        &self,
        before: &mut HashMap<SpaceIndex, u64>,
        spaces: impl IntoIterator<Item = SpaceIndex>,
    ) {
        for space in spaces {
            before
                .entry(space)
                .or_insert_with(|| self.state.spaces.get(space).seq);
        }
    }

    /// What follows from a call that did not append.
    async fn judge(&mut self, batch: Vec<Pending>, sent: Result<Appended, Failure>) -> Attempt {
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

    async fn follow_or_warn(&mut self) {
        if let Err(error) = self.refresh().await {
            tracing::warn!(error = %error, "the lane cannot follow the ledger");
        }
    }

    /// Open spaces that a request needs, then decide again.
    async fn open_spaces(&mut self, batch: Vec<Pending>, open: &[OpenSpace]) -> Attempt {
        let mut append = Append::new([]);
        append.add_spaces(open);
        match self.send(&append).await {
            Ok(_) => Attempt::Again(batch),
            Err(failure) => self.fail(batch, failure),
        }
    }

    /// Tombstones, one call each: they are rare. Gives back what turned out to be alive.
    async fn bury_all(&mut self, burials: Vec<(Pending, Burial)>) -> Vec<Pending> {
        let mut alive = Vec::new();
        for (pending, burial) in burials {
            let mut append = Append::new([]);
            append.bury(&burial, TOMBSTONE_SECONDS);
            match self.send(&append).await {
                Ok(Appended::Yes { .. }) => {
                    let tombstone = Tombstone {
                        token: burial.token,
                        expires_us: self.now_us() + TOMBSTONE_SECONDS * 1_000_000,
                    };
                    self.state.order.bury(burial.attachment, tombstone);
                    let epoch = self.state.epoch;
                    let released = Released {
                        released: Vec::new(),
                        stale: false,
                        epoch,
                    };
                    answer(pending, Ok(Answer::Released(released)));
                }
                // Another replica allocated it: follow, and decide again.
                Ok(_) => {
                    alive.push(pending);
                    self.follow_or_warn().await;
                }
                // Nothing was held, so trying again is harmless.
                Err(failure) => {
                    let again = vec![pending];
                    match self.fail(again, failure) {
                        Attempt::Again(left) | Attempt::Lost(left, _) => alive.extend(left),
                        Attempt::Failed(left, error) => {
                            answer_all(left, || clone_failure(&error));
                        }
                        Attempt::Done(_) => {}
                    }
                }
            }
        }
        alive
    }

    async fn send(&mut self, append: &Append) -> Result<Appended, Failure> {
        match self.connection.clone() {
            Some(connection) => send(&connection, append).await,
            None => Err(Failure::Refused(Error::Unavailable {
                reason: "not connected".into(),
            })),
        }
    }

    fn count(&self, landing: &Landing) {
        self.metrics
            .append_seconds
            .observe(landing.duration_seconds);
        if matches!(landing.sent, Ok(Appended::Yes { .. })) {
            self.metrics.events.inc_by(landing.event_count as u64);
        }
    }

    fn fail(&mut self, batch: Vec<Pending>, failure: Failure) -> Attempt {
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

    /// The batch is in the ledger: make memory exact. Gives the time of record per space.
    fn accept(&mut self, flight: &Flight, heads: &[Head], epoch: u32) -> HashMap<SpaceIndex, i64> {
        let times = self.times(heads);
        for head in heads {
            if let Some(space) = self.state.spaces.index_of_id(head.space_id) {
                self.state.spaces.set_anchor(space, head.seq, head.hash);
            }
        }
        let appended: HashMap<SpaceIndex, i64> = flight
            .events
            .iter()
            .filter_map(|(event, _)| Some((event.space, *times.get(&event.space)?)))
            .collect();
        self.state.commit_first(flight.changes, &appended);
        if epoch > 0 {
            self.state.epoch = epoch;
        }
        self.set_persisted(&flight.events);
        times
    }

    fn times(&self, heads: &[Head]) -> HashMap<SpaceIndex, i64> {
        heads
            .iter()
            .filter_map(|head| {
                Some((
                    self.state.spaces.index_of_id(head.space_id)?,
                    head.recorded_at_us?,
                ))
            })
            .collect()
    }
}

/// Send a batch on its way.
async fn fly(connection: Arc<Connection>, flight: Flight, append: Append) -> Landing {
    let started = Instant::now();
    let sent = send(&connection, &append).await;
    Landing {
        flight,
        sent,
        duration_seconds: started.elapsed().as_secs_f64(),
        event_count: append.event_count(),
        confirmed: append.confirm,
    }
}

async fn send(connection: &Connection, append: &Append) -> Result<Appended, Failure> {
    match append.send(connection).await {
        // Committed here, perhaps nowhere else: not an acknowledgement.
        Ok(_) if connection.has_warned() => Err(Failure::Unconfirmed),
        Ok(appended) => Ok(appended),
        Err(error) if is_lost(&error) => Err(Failure::Lost(describe(&error))),
        Err(error) => Err(Failure::Refused(classify(&error))),
    }
}

/// Begin with a request, unless its caller is gone or its deadline is over.
fn begin(pending: Pending) -> Option<Pending> {
    if Instant::now() >= pending.deadline {
        if pending.progress.begin() {
            answer(pending, Err(Error::DeadlinePassed));
        }
        return None;
    }
    pending.progress.begin().then_some(pending)
}

/// Answer those whose deadline is over; keep the rest.
fn expire(
    batch: Vec<Pending>,
    unknown: Option<&str>,
    metrics: &super::metrics::Metrics,
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

/// The caller may be gone; its answer is then found by the same request.
fn answer(pending: Pending, result: Result<Answer, Error>) {
    let _ = pending.reply.send(result);
}

fn answer_all(batch: Vec<Pending>, error: impl Fn() -> Error) {
    for pending in batch {
        answer(pending, Err(error()));
    }
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
fn clone_failure(error: &Error) -> Error {
    match error {
        Error::Unavailable { reason } => Error::Unavailable {
            reason: reason.clone(),
        },
        Error::Guard(text) => Error::Guard(text.clone()),
        other => Error::Database(other.to_string()),
    }
}
