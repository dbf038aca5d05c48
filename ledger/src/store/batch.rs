//! One batch: decide all, append once, answer each.

mod boots;
mod ended;
mod finish;
mod land;
mod notes;
mod open;
mod owed;
mod retry;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

use super::append::{Append, Appended};
use super::connection::{Connection, classify, describe, is_lost};
use super::lane::{Flights, Lane, Pending};
use crate::answer::Answer;
use crate::decide::{
    Burial, Draft, LaterCall, NewEvent, OpenSpace, Repeat, Verdict, apply, apply_calls, decide,
};
use crate::error::Error;
use crate::state::{SpaceIndex, Stamp};
use owed::Owed;

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
    /// A repeat, and the order tokens that its holds had before.
    Repeats(Answer, Vec<LaterCall>, Vec<Option<Stamp>>),
}

/// A batch that was decided and applied to memory.
pub(super) struct Flight {
    batch: Vec<Pending>,
    decided: Vec<Decided>,
    events: Vec<(NewEvent, u64)>,
    /// Positions of the spaces that were looked at, before the batch.
    before: HashMap<SpaceIndex, u64>,
    /// Releases by anyone but the holder: which events they are.
    unnamed: Vec<usize>,
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
    Ready(Box<Flight>),
    /// Spaces must exist first.
    NeedsSpaces(Vec<Pending>, Vec<OpenSpace>),
    /// Boots must be recorded first.
    NeedsBoots(Vec<Pending>),
}

/// What became of an attempt.
enum Attempt {
    /// Every request has its answer, but these must write something first.
    Done(Vec<(Pending, Owed)>),
    /// Decide again, after this was done or learned.
    Again(Vec<Pending>),
    /// The batch failed as a whole: something in it is refused by the database.
    Failed(Vec<Pending>, Error),
    /// The connection was lost on the way: these may or may not be applied.
    Lost(Vec<Pending>, String),
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
        let Some(connection) = self.open_connection() else {
            self.land_all(flights).await;
            return self.serve(batch, None).await;
        };
        if self.previews_unknown_boot(&batch) {
            self.land_all(flights).await;
            self.read_boots_of_previews(&batch, &connection).await;
        }
        match self.prepare(batch) {
            Prepared::Ready(mut flight) => {
                if let Err(error) = self.name_ended(&connection, &mut flight).await {
                    tracing::warn!(error = %error, "the lane cannot read whose holds end");
                    let others = self.state.pending_changes() - flight.changes;
                    self.state.roll_back_to(others);
                    self.land_all(flights).await;
                    return self.serve(flight.batch, None).await;
                }
                let append = self.compose(&flight);
                flights.push_back(Box::pin(fly(connection, *flight, append)));
            }
            Prepared::NeedsSpaces(batch, _) | Prepared::NeedsBoots(batch) => {
                self.land_all(flights).await;
                self.serve(batch, None).await;
            }
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
        let mut unnamed = Vec::new();
        for pending in &batch {
            match decide(&self.state, &pending.command, now_us) {
                Verdict::Append(new, draft) => {
                    self.note_heads(&mut before, new.iter().map(|event| event.space));
                    let (first, count) = (events.len(), new.len());
                    unnamed.extend(self.unnamed(&new).map(|index| first + index));
                    let seqs = apply(&mut self.state, &new, now_us);
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
                Verdict::Repeat(repeat) => {
                    let Repeat {
                        answer,
                        seen,
                        calls,
                    } = *repeat;
                    self.note_heads(&mut before, seen);
                    let stamps = calls.iter().map(|call| self.stamp_of(call)).collect();
                    apply_calls(&mut self.state, &calls);
                    decided.push(Decided::Repeats(answer, calls, stamps));
                }
                Verdict::Bury(burial) => decided.push(Decided::Buries(burial)),
                Verdict::Open(open) => {
                    self.state.roll_back_to(base);
                    return Prepared::NeedsSpaces(batch, open);
                }
                Verdict::See(_) => {
                    self.state.roll_back_to(base);
                    return Prepared::NeedsBoots(batch);
                }
            }
        }
        let changes = self.state.pending_changes() - base;
        Prepared::Ready(Box::new(Flight {
            batch,
            decided,
            events,
            before,
            unnamed,
            changes,
        }))
    }

    /// The call for a flight, whose events are complete.
    fn compose(&self, flight: &Flight) -> Append {
        let id = |space: SpaceIndex| self.state.spaces.get(space).id;
        let heads = flight.before.iter().map(|(&space, &seq)| (id(space), seq));
        let mut append = Append::new(heads);
        append.add_events(&self.state, &flight.events);
        self.add_notes(&mut append, &flight.events);
        let notes = flight.batch.iter();
        for (suspects, cleared) in notes.filter_map(|pending| pending.suspects.clone()) {
            append.add_suspects(suspects, cleared);
        }
        append.confirm = self.unconfirmed;
        append
    }

    fn stamp_of(&self, call: &LaterCall) -> Option<Stamp> {
        self.state.record_of(call.space, call.ip)?.stamp()
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

/// The caller may be gone; its answer is then found by the same request.
fn answer(pending: Pending, result: Result<Answer, Error>) {
    let _ = pending.reply.send(result);
}

fn answer_all(batch: Vec<Pending>, error: impl Fn() -> Error) {
    for pending in batch {
        answer(pending, Err(error()));
    }
}
