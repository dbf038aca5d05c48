//! Clusters, machines, pods and containers, the network between them and the ledger, and the
//! passes of sync. One thread, virtual time, every choice from the seed.
//!
//! What the world promises, because the rules count on it:
//! - A kubelet that is connected stops a deleted pod within the grace.
//! - Only machines that are off are deleted or tainted. Where there is a time-out, machines that are
//!   cut off are off before it ends, or the operator accepts that they are not ([`Timeout`]).
//! - Of a GET and a LIST that follow each other at most one is wrong.
//! - The clocks of sync and of the API server differ by seconds. Others may jump by hours.
//! - Between passes, Leases are read of the right cluster, as every pass makes sure for itself.
//! - A runtime that passes no UID runs no static pods on that network, and one pod of a name at a
//!   time.
//! - What a boot says first is not held up until the next boot of its node has spoken: nobody could
//!   tell which is the later. It is enough that one call arrives, whatever it comes to.

mod build;
mod chaos;
mod heal;
mod kubelet;
mod objects;
mod plugin;
mod power;
mod truth;

use std::collections::{BTreeMap, BTreeSet};

use ledger::model::{Actor, Provenance};
use ledger::{Command, Refusal};

pub(crate) use objects::{Kind, Machine, Node, Object, Pod, Sandbox, Slot, Stage};
pub(crate) use plugin::{Call, Verb};
pub(crate) use truth::Broken;

use crate::book::{Book, Place, Said};
use crate::dice::Dice;
use crate::plan::{Plan, Timeout};
use crate::syncer::{Pass, Syncer};
use crate::tally::Tally;
use crate::time::SECOND;
use crate::variant::{Freed, Variant};

pub(crate) struct Cluster {
    pub(crate) name: &'static str,
    pub(crate) uid: String,
    /// How far the clock of its API server is ahead, in milliseconds.
    pub(crate) clock_ahead: i64,
    /// Until when an admission rule keeps mirrors away.
    pub(crate) denies_mirrors_until: i64,
    pub(crate) syncer: Syncer,
}

/// What will happen at a moment.
pub(crate) enum Event {
    Chaos,
    /// The controller makes the pod of a name, if there is none.
    Create(usize),
    /// The kubelet learns what the API server says of a pod.
    Look(usize),
    /// It starts a sandbox.
    Begin(usize),
    /// It writes the mirror of a static pod.
    Mirror(usize),
    /// It has stopped a sandbox.
    Stopped(usize),
    /// Its pod object goes.
    Remove(usize),
    /// The pod collector removes what is bound to a node that is gone or out of service.
    Collect(usize),
    /// A machine that is cut off is switched off; the number of its silence.
    Fence(usize, u32),
    /// A machine that was cut off for a moment is back; the number of its silence.
    Reconnect(usize, u32),
    /// The plugin tries a call.
    Try(usize),
    /// A call reaches the API; whether the answer finds its way back.
    Arrive(usize, bool),
    Answer(usize, Box<Said>),
    /// The queue of a machine is delivered.
    Drain(usize),
    /// A sync process starts a pass; whether the next one follows by itself.
    Pass(usize, u32, bool),
    /// It reads heartbeats between passes.
    Hear(usize, u32),
    /// The pass goes on.
    Step(Box<Pass>),
    Release(usize, Box<Freed>),
    /// Faults stop.
    Heal,
    /// Nothing may be wrong any more.
    Judge,
}

pub(crate) struct World {
    pub(crate) now: i64,
    pub(crate) dice: Dice,
    pub(crate) plan: Plan,
    pub(crate) variant: &'static Variant,
    pub(crate) book: Book,
    pub(crate) book_down_until: i64,
    pub(crate) clusters: Vec<Cluster>,
    pub(crate) machines: Vec<Machine>,
    pub(crate) slots: Vec<Slot>,
    pub(crate) pods: Vec<Pod>,
    pub(crate) sandboxes: Vec<Sandbox>,
    pub(crate) calls: Vec<Call>,
    pub(crate) living: BTreeMap<Place, usize>,
    /// Boots that the ledger has heard of: machine, and when it was booted.
    pub(crate) heard: BTreeSet<(usize, i64)>,
    pub(crate) healing: bool,
    /// Until when something may be wrong after faults have stopped.
    pub(crate) patience: i64,
    pub(crate) broken: Option<Broken>,
    pub(crate) tally: Tally,
    pub(crate) log: Option<Vec<String>>,
    agenda: BTreeMap<(i64, u64), Event>,
    scheduled: u64,
}

impl World {
    pub(crate) fn at(&mut self, time: i64, event: Event) {
        self.scheduled += 1;
        self.agenda.insert((time, self.scheduled), event);
    }

    pub(crate) fn after(&mut self, delay: i64, event: Event) {
        self.at(self.now + delay, event);
    }

    /// Some time between these many milliseconds from now.
    pub(crate) fn soon(&mut self, low: i64, high: i64, event: Event) {
        let delay = self.dice.between(low, high);
        self.after(delay, event);
    }

    /// Runs to the end, or to the first broken promise.
    pub(crate) fn run(&mut self) {
        while self.broken.is_none()
            && let Some(((time, _), event)) = self.agenda.pop_first()
        {
            self.now = time;
            if let Event::Judge = event
                && self.judge()
            {
                return;
            }
            self.happen(event);
        }
    }

    fn happen(&mut self, event: Event) {
        match event {
            Event::Chaos => self.chaos(),
            Event::Create(slot) => self.create(slot),
            Event::Look(pod) => self.look(pod),
            Event::Begin(pod) => self.begin(pod),
            Event::Mirror(pod) => self.write_mirror(pod),
            Event::Stopped(sandbox) => self.stopped(sandbox),
            Event::Remove(pod) => self.remove(pod),
            Event::Collect(machine) => self.collect(machine),
            Event::Fence(machine, silence) => self.fence(machine, silence),
            Event::Reconnect(machine, silence) => self.end_stutter(machine, silence),
            Event::Try(call) => self.try_call(call),
            Event::Arrive(call, answers) => self.arrive(call, answers),
            Event::Answer(call, said) => self.answer(call, *said),
            Event::Drain(machine) => self.drain(machine),
            Event::Pass(cluster, instance, periodic) => {
                self.start_pass(cluster, instance, periodic);
            }
            Event::Hear(cluster, instance) => self.hear(cluster, instance),
            Event::Step(pass) => self.step(*pass),
            Event::Release(cluster, freed) => self.release(cluster, *freed),
            Event::Heal => self.heal(),
            Event::Judge => {}
        }
    }

    /// A command reaches the API. What changed is held against the truth at once.
    pub(crate) fn execute(&mut self, command: &Command, who: &'static str) -> Option<Said> {
        if self.now < self.book_down_until {
            return None;
        }
        let (said, touched) = self.book.execute(command, self.now);
        self.check_living(&touched, who);
        if let Said::Refused(refusal) = &said {
            self.tally.count(refusal.kind());
            self.wake_for(refusal);
        }
        Some(said)
    }

    /// Sync is woken in every cluster that holds in the window.
    fn wake_for(&mut self, refusal: &Refusal) {
        if matches!(
            refusal,
            Refusal::Exhausted { .. } | Refusal::AddressTaken { .. }
        ) {
            for cluster in 0..self.clusters.len() {
                let instance = self.clusters[cluster].syncer.instance;
                self.soon(5, SECOND, Event::Pass(cluster, instance, false));
            }
        }
    }

    pub(crate) fn note(&mut self, text: impl FnOnce(&World) -> String) {
        if let Some(mut log) = self.log.take() {
            log.push(format!("{:>9.3} {}", self.now as f64 / 1e3, text(self)));
            self.log = Some(log);
        }
    }
}

pub(crate) fn provenance(name: &str) -> Provenance {
    Provenance {
        request_id: "simulation".to_owned(),
        actor: Actor {
            authenticated_by: "simulation".to_owned(),
            name: name.to_owned(),
        },
        claimed_at: None,
    }
}
