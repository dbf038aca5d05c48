//! Sync's processes: what a pass reads and when, and what it sends. What it concludes is up to
//! the [`Variant`](crate::variant::Variant).

mod pass;
mod reads;
mod releases;

use std::collections::BTreeMap;

use ipledger_sync::diff::{Absence, Blind, Hold, HoldKey, PodName};

use crate::beats::Watch;
use crate::book::Place;
use crate::time::SECOND;
use crate::world::{Event, World};

pub(crate) use pass::Pass;

/// What is wrong with an API server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum ReadFault {
    #[default]
    Nothing,
    /// No read is answered as it should be.
    Blind(Blind),
    /// Lists are empty; a single object is found.
    EmptyLists,
    /// Lists and caches show what was true at the beginning of the fault.
    OldLists,
    /// A GET does not find what a list shows.
    FalseNotFound,
}

/// What one cluster's sync remembers, and what is wrong around it.
#[derive(Default)]
pub(crate) struct Syncer {
    /// Counts the processes: each starts with nothing.
    pub(crate) instance: u32,
    is_busy: bool,
    passes: u64,
    memory: BTreeMap<HoldKey, Absence>,
    /// When a hold, by place and step, was first read.
    first_seen: BTreeMap<(Place, u32), i64>,
    last_holds: Vec<Hold>,
    watch: Watch,
    fault: ReadFault,
    fault_until: i64,
    old_lists: BTreeMap<PodName, String>,
    /// Until when it uses the kubeconfig of another cluster.
    pub(crate) astray_until: i64,
}

impl Syncer {
    pub(crate) fn heal(&mut self, now: i64) {
        self.fault_until = now;
        self.astray_until = now;
    }
}

impl World {
    pub(crate) fn spoil(&mut self, cluster: usize, fault: ReadFault, until: i64) {
        let lists = self.names_and_uids(Some(cluster));
        let syncer = &mut self.clusters[cluster].syncer;
        (syncer.fault, syncer.fault_until, syncer.old_lists) = (fault, until, lists);
    }

    /// Another process acts from here on. A pass that the old one has begun may still go on.
    pub(crate) fn restart_sync(&mut self, cluster: usize) {
        self.note(|w| format!("sync of {} starts anew", w.clusters[cluster].name));
        let now = self.now;
        let syncer = &mut self.clusters[cluster].syncer;
        syncer.instance += 1;
        syncer.is_busy = false;
        syncer.memory.clear();
        syncer.first_seen.clear();
        syncer.last_holds.clear();
        syncer.watch = Watch {
            since: now,
            ..Watch::default()
        };
        let instance = syncer.instance;
        self.soon(0, 20 * SECOND, Event::Pass(cluster, instance, true));
    }

    /// The watch of Leases breaks for a while.
    pub(crate) fn drop_watch(&mut self, cluster: usize) {
        let seconds = self.dice.between(5, 120);
        self.interrupt_watch(cluster, seconds * SECOND);
    }

    /// What the process believes of heartbeats stays as it is, and after it begins anew.
    fn interrupt_watch(&mut self, cluster: usize, duration: i64) {
        let now = self.now;
        let believed = self
            .machines
            .iter()
            .map(|machine| self.heard(cluster, machine))
            .collect();
        let watch = &mut self.clusters[cluster].syncer.watch;
        *watch = Watch {
            since: now + duration,
            dropped_until: now + duration,
            believed,
        };
    }
}
