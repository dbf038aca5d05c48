//! One pass: whatever differs is put right, a few writes at a time.

use std::collections::{BTreeMap, BTreeSet};

use futures_util::{FutureExt as _, StreamExt as _, stream};

use super::ObjectKey;
use super::discrepancy::discrepancies;
use super::metrics::{ProjectionMetrics, WriteLabels, count};
use super::permission::{PermissionError, Permit, Withheld};
use super::plan::{Action, Cause, ObjectWrite, Plan, plan};
use super::render::Desired;
use super::store::ObjectStore;
use super::tell::{Deed, Teller, Told};
use super::writer::{WriteError, Writer, Written};

/// After this many rounds the rest waits for the next pass: somebody else keeps writing.
const MOST_ROUNDS: usize = 5;
/// Permission is asked for again after this many writes, since the gate may be closed meanwhile.
const WRITES_PER_PERMISSION: usize = 500;
/// Events that one pass writes at most; the log has every one.
const MOST_EVENTS: usize = 100;

/// What a pass did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PassReport {
    /// Requests that wrote something.
    pub writes: usize,
    /// Objects that could not be written.
    pub failed: usize,
    /// Objects that differ still, because nothing may be written or writing failed.
    pub differing: usize,
    /// Objects of a foreign shape.
    pub skipped: usize,
    /// Why nothing was written.
    pub withheld: Option<Withheld>,
}

impl PassReport {
    /// Whether every object shows the reading now.
    #[must_use]
    pub fn is_settled(&self) -> bool {
        self.differing == 0 && self.withheld.is_none()
    }
}

/// What a pass works with.
pub(super) struct Hands<'a> {
    pub(super) writer: &'a Writer,
    pub(super) teller: &'a Teller,
    pub(super) metrics: &'a ProjectionMetrics,
    pub(super) store: &'a mut ObjectStore,
    pub(super) told: &'a mut Told,
    pub(super) writes_at_once: usize,
}

/// What is remembered from round to round.
#[derive(Default)]
struct Rounds {
    report: PassReport,
    failed: BTreeSet<ObjectKey>,
    /// Why each object was first written in this pass; a second write belongs to the same deed.
    causes: BTreeMap<ObjectKey, Cause>,
    events: usize,
}

impl Hands<'_> {
    /// Plans and writes until nothing is left. The permit is asked before the first write and again
    /// from time to time.
    pub(super) async fn put_right(
        &mut self,
        desired: &Desired<'_>,
        permit: &Permit<'_>,
    ) -> Result<PassReport, PermissionError> {
        let mut rounds = Rounds::default();
        for _ in 0..MOST_ROUNDS {
            let plan = self.plan(desired, &rounds);
            if plan.writes.is_empty() {
                break;
            }
            for writes in plan.writes.chunks(WRITES_PER_PERMISSION) {
                if let Err(withheld) = permit.may_write(self.store.objects()).await? {
                    rounds.report.withheld = Some(withheld);
                    break;
                }
                self.write(desired, writes, &mut rounds).await;
            }
            if rounds.report.withheld.is_some() {
                break;
            }
        }
        let left = plan(desired, self.store.objects(), |_| false);
        rounds.report.differing = left.writes.len();
        rounds.report.skipped = left.skipped.len();
        self.store
            .forget_unwanted(|key| desired.objects.contains_key(key));
        Ok(self.conclude(desired, rounds.report))
    }

    fn plan<'d>(&mut self, desired: &'d Desired<'d>, rounds: &Rounds) -> Plan<'d> {
        let store = &*self.store;
        let mut plan = plan(desired, store.objects(), |key| {
            store.written_uid(key).is_some()
        });
        plan.writes
            .retain(|write| !rounds.failed.contains(&write.key));
        for (key, why) in &plan.skipped {
            if self.told.is_news(&format!("shape {key}"), why) {
                tracing::warn!(object = %key, "it is left alone: its shape is foreign: {why}");
            }
        }
        plan
    }

    async fn write(
        &mut self,
        desired: &Desired<'_>,
        writes: &[ObjectWrite<'_>],
        rounds: &mut Rounds,
    ) {
        let mut deeds: BTreeMap<ObjectKey, Deed> = writes
            .iter()
            .filter_map(|write| Some((write.key.clone(), self.deed(desired, write, rounds)?)))
            .collect();
        let requests: Vec<_> = writes
            .iter()
            .map(|write| self.writer.write_and_name(write).boxed())
            .collect();
        let mut results = stream::iter(requests).buffer_unordered(self.writes_at_once);
        let mut done = Vec::new();
        while let Some((write, result)) = results.next().await {
            let deed = deeds.remove(&write.key);
            done.extend(self.take(write, result, deed, rounds));
        }
        for deed in done {
            if rounds.events < MOST_EVENTS {
                rounds.events += 1;
                self.teller.tell(&deed).await;
            } else {
                self.teller.log(&deed);
            }
        }
    }

    /// What somebody else did, before it is undone; nothing if nobody did, or it was told in an
    /// earlier round.
    fn deed(
        &self,
        desired: &Desired<'_>,
        write: &ObjectWrite<'_>,
        rounds: &mut Rounds,
    ) -> Option<Deed> {
        if rounds.causes.contains_key(&write.key) {
            return None;
        }
        rounds.causes.insert(write.key.clone(), write.cause);
        if !write.cause.is_foreign() {
            return None;
        }
        let stored = self.store.objects().get(&write.key);
        let wanted = desired.objects.get(&write.key);
        Some(Deed {
            key: write.key.clone(),
            uid: stored.map(|stored| stored.uid.clone()).unwrap_or_default(),
            cause: write.cause,
            by: stored.and_then(|stored| stored.edited_by.clone()),
            differences: discrepancies(wanted, stored, &desired.position),
        })
    }

    /// Takes the outcome of a write in; gives the deed back if it was undone.
    fn take(
        &mut self,
        write: &ObjectWrite<'_>,
        result: Result<Written, WriteError>,
        deed: Option<Deed>,
        rounds: &mut Rounds,
    ) -> Option<Deed> {
        let key = &write.key;
        let subject = format!("write {key}");
        let written = match result {
            Ok(written) => written,
            Err(error) => {
                self.metrics.failed(error.kind());
                rounds.failed.insert(key.clone());
                rounds.causes.remove(key);
                rounds.report.failed += 1;
                if self.told.is_news(&subject, &error.to_string()) {
                    tracing::warn!(object = %key, kind = error.kind(), "it cannot be written: {error}");
                }
                return None;
            }
        };
        if self.told.is_over(&subject) {
            tracing::info!(object = %key, "it can be written again");
        }
        match written {
            Written::Overtaken(object) => {
                rounds.causes.remove(key);
                match object {
                    Some(object) => drop(self.store.put(key.kind, &object)),
                    None => drop(self.store.remove(key)),
                }
                return None;
            }
            Written::Gone => self.store.forget(key),
            Written::Stored(object) => {
                let uid = object.metadata.uid.as_deref();
                let was_there = write.guard.is_none() && self.store.written_uid(key) == uid;
                self.store.put(key.kind, &object);
                if was_there {
                    // It was not deleted: a list or a watch had left it out.
                    return None;
                }
            }
        }
        rounds.report.writes += 1;
        let cause = rounds.causes.get(key).copied().unwrap_or(write.cause);
        let labels = WriteLabels {
            object: key.kind.as_str(),
            cause: cause.as_str(),
        };
        self.metrics.writes.get_or_create(&labels).inc();
        let uid = self
            .store
            .objects()
            .get(key)
            .map(|stored| stored.uid.clone());
        let deleted = matches!(write.action, Action::Delete);
        deed.map(|deed| Deed {
            uid: uid.filter(|_| !deleted).unwrap_or(deed.uid),
            ..deed
        })
    }

    fn conclude(&mut self, desired: &Desired<'_>, report: PassReport) -> PassReport {
        let metrics = self.metrics;
        metrics.differences.set(count(report.differing));
        metrics.skipped.set(count(report.skipped));
        metrics.objects.set(count(desired.objects.len()));
        metrics.omitted.set(count(desired.omitted()));
        metrics
            .unprojectable
            .set(count(desired.unprojectable.len()));
        metrics.set_withheld(report.withheld.as_ref());
        let well = [
            ("write ", report.failed == 0),
            ("shape ", report.skipped == 0),
            ("show ", desired.unprojectable.is_empty()),
        ];
        for (prefix, _) in well.into_iter().filter(|(_, is_well)| *is_well) {
            self.told.are_over(prefix);
        }
        for problem in &desired.unprojectable {
            let text = problem.to_string();
            if self.told.is_news(&format!("show {text}"), &text) {
                tracing::warn!(kind = problem.kind(), "no object shows it: {text}");
            }
        }
        report
    }
}
