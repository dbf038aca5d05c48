//! One pass: reads that take time, and a decision.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use ipledger_sync::diff::{
    Absence, BoundCluster, Hold, HoldKey, Observations, PodName, PodRead, Read,
};

use crate::time::{SECOND, clock};
use crate::variant::View;
use crate::world::{Broken, Event, World};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Identity,
    Holds,
    Pods,
    Nodes,
    Decision,
}

/// A pass on its way.
pub(crate) struct Pass {
    cluster: usize,
    instance: u32,
    id: String,
    is_periodic: bool,
    parts: VecDeque<Part>,
    /// Whose API server answers; an empty cluster's, if none of ours.
    api: Option<usize>,
    identity: Option<BoundCluster>,
    holds: Vec<Hold>,
    pods: BTreeMap<PodName, PodRead>,
    nodes: BTreeMap<String, Read<ipledger_sync::diff::Node>>,
    absences: BTreeMap<HoldKey, Absence>,
}

impl World {
    pub(crate) fn start_pass(&mut self, cluster: usize, instance: u32, is_periodic: bool) {
        let syncer = &mut self.clusters[cluster].syncer;
        if syncer.instance != instance {
            return;
        }
        if syncer.is_busy {
            return self.after(SECOND, Event::Pass(cluster, instance, is_periodic));
        }
        syncer.is_busy = true;
        syncer.passes += 1;
        let mut read = [Part::Holds, Part::Pods, Part::Nodes];
        if self.dice.percent(30) {
            // Reads that are older than the holds say nothing about them.
            self.dice.shuffle(&mut read);
        }
        let parts = [Part::Identity]
            .into_iter()
            .chain(read)
            .chain([Part::Decision]);
        let syncer = &self.clusters[cluster].syncer;
        let pass = Pass {
            cluster,
            instance,
            id: format!("{instance}-{}", syncer.passes),
            is_periodic,
            parts: parts.collect(),
            api: None,
            identity: None,
            holds: syncer.last_holds.clone(),
            pods: BTreeMap::new(),
            nodes: BTreeMap::new(),
            absences: syncer.memory.clone(),
        };
        self.soon(5, 500, Event::Step(Box::new(pass)));
    }

    pub(crate) fn step(&mut self, mut pass: Pass) {
        if self.clusters[pass.cluster].syncer.instance != pass.instance && self.dice.percent(20) {
            return;
        }
        let part = pass
            .parts
            .pop_front()
            .expect("a pass ends with its decision");
        let is_done = match part {
            Part::Identity => !self.identify(&mut pass),
            Part::Holds => !self.look_at_holds(&mut pass),
            Part::Pods => {
                let names = owners(&pass.holds).map(|owner| owner.pod.clone());
                let names: BTreeSet<_> = names.collect();
                pass.pods = self.get_pods(pass.cluster, pass.api, names);
                self.list_names(pass.cluster, pass.api, &mut pass.pods);
                false
            }
            Part::Nodes => {
                let names = owners(&pass.holds).filter_map(|owner| owner.node.clone());
                let names: BTreeSet<_> = names.collect();
                pass.nodes = self.get_nodes(pass.cluster, pass.api, names);
                false
            }
            Part::Decision => {
                self.conclude(&mut pass);
                true
            }
        };
        if is_done {
            return self.end_pass(&pass);
        }
        let mut pause = self.dice.between(5, 300);
        if !self.healing && self.dice.percent(4) {
            // The process stands still.
            pause = self.dice.between(20, 180) * SECOND;
            self.interrupt_watch(pass.cluster, pause);
        }
        self.after(pause, Event::Step(Box::new(pass)));
    }

    fn end_pass(&mut self, pass: &Pass) {
        let syncer = &mut self.clusters[pass.cluster].syncer;
        if syncer.instance == pass.instance {
            syncer.is_busy = false;
            if pass.is_periodic {
                let next = Event::Pass(pass.cluster, pass.instance, true);
                self.soon(10 * SECOND, 40 * SECOND, next);
            }
        }
    }

    /// The UID of the cluster that answers, against the one in the ledger.
    fn identify(&mut self, pass: &mut Pass) -> bool {
        let others = (0..self.clusters.len()).find(|&other| other != pass.cluster);
        let is_astray = self.now < self.clusters[pass.cluster].syncer.astray_until;
        pass.api = if is_astray {
            others
        } else {
            Some(pass.cluster)
        };
        let name = self.clusters[pass.cluster].name;
        let found = pass
            .api
            .map_or("another-uid", |api| &self.clusters[api].uid);
        let bound = if self.variant.checks_identity {
            self.book.bound_uid(name)
        } else {
            Some(found)
        };
        let verified = BoundCluster::verify(name, bound, found, clock(self.now, 0));
        if let Err(error) = &verified {
            self.tally.count(error.kind());
        }
        pass.identity = verified.ok();
        pass.identity.is_some()
    }

    fn look_at_holds(&mut self, pass: &mut Pass) -> bool {
        if self.now < self.book_down_until {
            return false;
        }
        // A read replica may be behind.
        if self.healing || self.dice.percent(95) {
            pass.holds = self.read_holds(pass.cluster);
        }
        true
    }

    fn conclude(&mut self, pass: &mut Pass) {
        let mut again = pass.holds.clone();
        if self.variant.is_mutant() {
            again = self.read_holds(pass.cluster);
            self.dice.shuffle(&mut again);
        } else {
            again.reverse();
        }
        let view = View {
            again,
            cached: if self.variant.is_mutant() {
                self.cached(pass.cluster, pass.api)
            } else {
                BTreeMap::new()
            },
            seen: Observations {
                pass: pass.id.clone(),
                cluster: pass.identity.clone().expect("verified first"),
                pods: std::mem::take(&mut pass.pods),
                nodes: std::mem::take(&mut pass.nodes),
                absences: std::mem::take(&mut pass.absences),
            },
            settings: self.plan.settings(),
            now: clock(self.now, 0),
            holds: std::mem::take(&mut pass.holds),
        };
        let decision = (self.variant.decide)(&view);
        if !self.variant.is_mutant() && self.dice.percent(5) {
            self.check_order(&view);
        }
        let syncer = &mut self.clusters[pass.cluster].syncer;
        if syncer.instance == pass.instance {
            syncer.memory = decision.absences;
            syncer.last_holds = view.holds;
        }
        if decision.wants_second_look {
            self.tally.count("second look");
            self.after(SECOND, Event::Pass(pass.cluster, pass.instance, false));
        }
        for freed in decision.releases {
            self.send(pass.cluster, Box::new(freed));
        }
    }

    /// The order in which holds are shown must not matter.
    fn check_order(&mut self, view: &View) {
        let decide = |holds| ipledger_sync::diff::diff(holds, &view.seen, &view.settings, view.now);
        if decide(&view.holds) != decide(&view.again) {
            let text = "the order of the holds matters".to_owned();
            self.broken.get_or_insert(Broken::Contradiction(text));
        }
    }
}

fn owners(holds: &[Hold]) -> impl Iterator<Item = &ipledger_sync::diff::Owner> {
    holds.iter().filter_map(|hold| hold.owner.as_ref())
}
