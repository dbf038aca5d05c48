//! One batch: decide all, append once, answer each.

use std::collections::{BTreeMap, HashMap};
use std::time::Instant;

use super::append::{Append, Appended, Head};
use super::connection::{describe, is_lost};
use super::lane::{Lane, Pending};
use super::load;
use crate::answer::{
    Allocated, AllocatedAddress, Answer, HoldReleased, ImportOutcome, Imported, Receipt, Released,
    ReleasedAddress,
};
use crate::decide::{
    Burial, Change, Draft, NewEvent, OpenSpace, Verdict, apply, bound_cluster, decide,
    declared_members, timestamp,
};
use crate::error::Error;
use crate::event::Kind;
use crate::state::SpaceIndex;

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

impl Lane {
    /// Answer every request of a batch.
    pub(super) async fn serve(&mut self, batch: Vec<Pending>) {
        let batch: Vec<Pending> = batch.into_iter().filter_map(begin).collect();
        if batch.is_empty() {
            return;
        }
        #[expect(clippy::cast_precision_loss, reason = "a batch is small")]
        self.metrics.batch_requests.observe(batch.len() as f64);
        if let Err(failed) = self.settle(batch).await {
            let (batch, error) = *failed;
            if batch.len() == 1 {
                answer_all(batch, || clone_failure(&error));
                return;
            }
            // One bad request must not fail its neighbours.
            self.metrics.retried_singly.inc();
            tracing::warn!(error = %error, requests = batch.len(), "batch failed; retrying singly");
            for pending in batch {
                if let Err(failed) = self.settle(vec![pending]).await {
                    let (alone, error) = *failed;
                    tracing::error!(error = %error, "request failed in the database");
                    answer_all(alone, || clone_failure(&error));
                }
            }
        }
    }

    /// Try until each request has its answer or its deadline is over.
    async fn settle(&mut self, mut batch: Vec<Pending>) -> Result<(), Box<(Vec<Pending>, Error)>> {
        let mut unknown: Option<String> = None;
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
                    if let Err(error) = self.refresh().await {
                        tracing::warn!(error = %error, "the lane cannot follow the ledger");
                    }
                }
                Attempt::Lost(left, reason) => {
                    batch = left;
                    unknown = Some(reason);
                }
                Attempt::Failed(left, error) => {
                    failures += 1;
                    // Another writer may have been first in a space that was not looked at.
                    if self.refresh().await.is_err() || failures > 1 {
                        return Err(Box::new((left, error)));
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
        let now_us = self.now_us();
        self.state.wake(now_us);
        let before: BTreeMap<SpaceIndex, u64> = self
            .state
            .spaces
            .iter()
            .map(|(index, space)| (index, space.seq))
            .collect();
        let mut decided = Vec::with_capacity(batch.len());
        let mut events: Vec<(NewEvent, u64)> = Vec::with_capacity(batch.len());
        let mut seen: Vec<SpaceIndex> = Vec::new();
        for pending in &batch {
            match decide(&self.state, &pending.command, now_us) {
                Verdict::Append(new, draft) => {
                    let seqs = apply(&mut self.state, &new, now_us);
                    seen.extend(new.iter().map(|event| event.space));
                    let (first, count) = (events.len(), new.len());
                    events.extend(new.into_iter().zip(seqs));
                    decided.push(Decided::Appends {
                        first,
                        count,
                        draft,
                    });
                }
                Verdict::Answer(answer, spaces) => {
                    seen.extend(spaces);
                    decided.push(Decided::Answers(answer));
                }
                Verdict::Refuse(refusal, spaces) => {
                    seen.extend(spaces);
                    decided.push(Decided::Refuses(refusal));
                }
                Verdict::Bury(burial) => decided.push(Decided::Buries(burial)),
                Verdict::Open(open) => {
                    self.state.roll_back();
                    return self.open_spaces(batch, &open).await;
                }
            }
        }
        seen.sort_unstable();
        seen.dedup();
        let mut append = Append::new(
            seen.iter()
                .map(|&space| (self.state.spaces.get(space).id, before[&space])),
        );
        append.add_events(&self.state, &events);
        self.add_notes(&mut append, &events);
        for (suspects, cleared) in batch.iter().filter_map(|pending| pending.suspects.clone()) {
            append.add_suspects(suspects, cleared);
        }
        append.confirm = self.unconfirmed;
        match self.send(&append).await {
            Ok(Appended::Yes { heads, epoch }) => {
                let times = self.accept(&heads, epoch, &events);
                Attempt::Done(reply(
                    batch,
                    decided,
                    &Batch {
                        events,
                        times,
                        before,
                        epoch,
                    },
                    self,
                ))
            }
            Ok(Appended::Moved | Appended::Held) => {
                self.state.roll_back();
                self.metrics.moved.inc();
                Attempt::Again(batch)
            }
            Ok(Appended::Tombstone) => {
                self.state.roll_back();
                let connection = self.connection.as_ref().expect("it just answered");
                match load::tombstones(&connection.client, &mut self.state.order).await {
                    Ok(()) => Attempt::Again(batch),
                    Err(error) => Attempt::Failed(batch, error),
                }
            }
            Err(failure) => {
                self.state.roll_back();
                self.fail(batch, failure)
            }
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
                    let tombstone = crate::state::Tombstone {
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
                    if let Err(error) = self.refresh().await {
                        tracing::warn!(error = %error, "the lane cannot follow the ledger");
                    }
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
        let Some(connection) = self.connection.as_ref() else {
            return Err(Failure::Refused(Error::Unavailable {
                reason: "not connected".into(),
            }));
        };
        connection.take_warning();
        let started = Instant::now();
        let sent = append.send(connection).await;
        self.metrics
            .append_seconds
            .observe(started.elapsed().as_secs_f64());
        match sent {
            // Committed here, perhaps nowhere else: not an acknowledgement.
            Ok(_) if connection.take_warning() => Err(Failure::Unconfirmed),
            Ok(appended) => {
                if matches!(appended, Appended::Yes { .. }) {
                    self.metrics.events.inc_by(append.event_count() as u64);
                    self.unconfirmed &= !append.confirm;
                }
                Ok(appended)
            }
            Err(error) if is_lost(&error) => Err(Failure::Lost(describe(&error))),
            Err(error) => Err(Failure::Refused(super::connection::classify(&error))),
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
    fn accept(
        &mut self,
        heads: &[Head],
        epoch: u32,
        events: &[(NewEvent, u64)],
    ) -> HashMap<SpaceIndex, i64> {
        let mut times = HashMap::with_capacity(heads.len());
        for head in heads {
            let Some(space) = self.state.spaces.index_of_id(head.space_id) else {
                continue;
            };
            debug_assert_eq!(
                head.seq,
                self.state.spaces.get(space).seq,
                "positions were foreseen"
            );
            self.state.spaces.set_anchor(space, head.seq, head.hash);
            if let Some(at_us) = head.recorded_at_us {
                times.insert(space, at_us);
                self.state.advance(space, head.seq, at_us);
            }
        }
        let appended: HashMap<SpaceIndex, i64> = events
            .iter()
            .filter_map(|(event, _)| Some((event.space, *times.get(&event.space)?)))
            .collect();
        self.state.settle(&appended);
        if epoch > 0 {
            self.state.epoch = epoch;
        }
        for (event, _) in events {
            if let Change::Hold(hold) = &event.change {
                self.state.pools.set_persisted(event.space, &hold.window);
                self.state.order.unbury(hold.attachment);
            }
            if let Some((_, _, boot_id)) = boot_of(event) {
                self.state.order.add_boot(boot_id, true);
            }
        }
        self.state.commit();
        times
    }

    /// Side records that the database does not have yet.
    fn add_notes(&self, append: &mut Append, events: &[(NewEvent, u64)]) {
        let mut windows: Vec<(i32, address::Window, u64)> = Vec::new();
        let mut boots = Vec::new();
        let mut clusters = Vec::new();
        let mut declared = Vec::new();
        let mut forget = Vec::new();
        for (event, seq) in events {
            if let Change::Hold(hold) = &event.change {
                let id = self.state.spaces.get(event.space).id;
                let known = self.state.pools.find_window(event.space, &hold.window);
                let is_new = known.is_none_or(|known| !known.persisted)
                    && !windows
                        .iter()
                        .any(|(of, window, _)| *of == id && *window == hold.window);
                if is_new {
                    windows.push((id, hold.window.clone(), *seq));
                }
                if hold.token.is_some() {
                    forget.push(hold.attachment);
                }
            }
            if let Some((cluster, node, boot_id)) = boot_of(event)
                && !self.state.order.is_boot_persisted(boot_id)
            {
                boots.push((cluster.to_owned(), node.to_owned(), boot_id));
            }
            match event.payload.kind {
                Kind::ClusterBound => {
                    let bound = bound_cluster(&event.payload);
                    clusters.extend(bound.map(|(name, uid)| (name.to_owned(), uid.to_owned())));
                }
                Kind::SpaceDeclared => declared.push(OpenSpace {
                    name: self.state.spaces.get(event.space).name.clone(),
                    private: None,
                    members: declared_members(&event.payload),
                }),
                _ => {}
            }
        }
        forget.retain(|key| self.state.order.is_known_tombstone(*key));
        append.add_windows(&windows);
        append.add_boots(&boots);
        append.add_clusters(&clusters);
        append.add_spaces(&declared);
        append.forget(&forget);
    }
}

enum Failure {
    /// The database refused: nothing changed.
    Refused(Error),
    /// The connection went away: not known.
    Lost(String),
    /// Committed, but not confirmed by the standby.
    Unconfirmed,
}

struct Batch {
    events: Vec<(NewEvent, u64)>,
    times: HashMap<SpaceIndex, i64>,
    before: BTreeMap<SpaceIndex, u64>,
    epoch: u32,
}

fn reply(
    batch: Vec<Pending>,
    decided: Vec<Decided>,
    done: &Batch,
    lane: &Lane,
) -> Vec<(Pending, Burial)> {
    let mut burials = Vec::new();
    for (pending, decided) in batch.into_iter().zip(decided) {
        match decided {
            Decided::Buries(burial) => burials.push((pending, burial)),
            Decided::Refuses(refusal) => answer(pending, Err(Error::Refused(refusal))),
            Decided::Answers(given) => {
                let exact = done.exact(given, lane);
                answer(pending, Ok(exact));
            }
            Decided::Appends {
                first,
                count,
                draft,
            } => {
                let made = done.finish(&draft, first, count, lane);
                answer(pending, Ok(made));
            }
        }
    }
    burials
}

impl Batch {
    fn receipt(&self, index: usize) -> Receipt {
        let (event, seq) = &self.events[index];
        Receipt {
            step: event.target.map_or(0, |(_, step)| step),
            seq: *seq,
            recorded_at: timestamp(self.times.get(&event.space).copied().unwrap_or(0)),
        }
    }

    fn released(&self, index: usize, lane: &Lane) -> Option<ReleasedAddress> {
        let (event, _) = &self.events[index];
        let (ip, _) = event.target?;
        let space = lane.state.spaces.get(event.space).name.clone();
        Some(ReleasedAddress {
            ip,
            space,
            receipt: self.receipt(index),
        })
    }

    fn finish(&self, draft: &Draft, first: usize, count: usize, lane: &Lane) -> Answer {
        match draft {
            Draft::Allocated(chosen) => {
                let addresses = chosen
                    .iter()
                    .filter_map(|&(index, pool)| {
                        let (event, _) = &self.events[first + index];
                        Some(AllocatedAddress {
                            ip: event.target?.0,
                            space: lane.state.spaces.get(event.space).name.clone(),
                            pool,
                            receipt: Some(self.receipt(first + index)),
                        })
                    })
                    .collect();
                Answer::Allocated(Allocated {
                    addresses,
                    repeated: false,
                    dry_run: false,
                    epoch: self.epoch,
                })
            }
            Draft::Released => Answer::Released(Released {
                released: (first..first + count)
                    .filter_map(|index| self.released(index, lane))
                    .collect(),
                stale: false,
                epoch: self.epoch,
            }),
            Draft::HoldReleased => Answer::HoldReleased(HoldReleased {
                released: self
                    .released(first, lane)
                    .expect("a release has an address"),
                repeated: false,
                epoch: self.epoch,
            }),
            Draft::Imported => {
                let receipt = self.receipt(first);
                Answer::Imported(Imported {
                    outcome: ImportOutcome::Imported,
                    step: receipt.step,
                    seq: receipt.seq,
                })
            }
            Draft::ClusterBound(uid) => Answer::ClusterBound(uid.clone()),
            Draft::SpaceDeclared(name) => Answer::SpaceDeclared(name.clone()),
        }
    }

    /// A repeat of a neighbour in the same batch carries an estimate of its time: put the right
    /// one in.
    fn exact(&self, mut given: Answer, lane: &Lane) -> Answer {
        let correct = |space: &str, receipt: &mut Receipt| {
            let Some(index) = lane.state.spaces.find(space) else {
                return;
            };
            let is_of_batch = self
                .before
                .get(&index)
                .is_some_and(|&seq| receipt.seq > seq);
            if let Some(&at_us) = self.times.get(&index).filter(|_| is_of_batch) {
                receipt.recorded_at = timestamp(at_us);
            }
        };
        match &mut given {
            Answer::Allocated(allocated) => {
                for address in &mut allocated.addresses {
                    if let Some(receipt) = &mut address.receipt {
                        correct(&address.space, receipt);
                    }
                }
            }
            Answer::HoldReleased(released) => {
                correct(&released.released.space, &mut released.released.receipt);
            }
            _ => {}
        }
        given
    }
}

fn boot_of(event: &NewEvent) -> Option<(&str, &str, uuid::Uuid)> {
    let token = event.payload.token?;
    let cluster = &event.payload.attachment.as_ref()?.cluster;
    let owner = event.payload.owner.as_ref();
    Some((
        cluster,
        owner.and_then(|o| o.node.as_deref()).unwrap_or_default(),
        token.boot_id,
    ))
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
