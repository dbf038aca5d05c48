//! One pass: reads that take time, a decision, and releases that arrive when they arrive.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use ipledger_sync::diff::{
    Absence, BoundCluster, Evidence, Hold, HoldKey, Observations, PodName, PodRead, Read,
};
use ledger::Command;
use ledger::command::ReleaseHold;
use serde_json::{Map, Value};

use crate::book::{Place, Said};
use crate::mutants::{Freed, View};
use crate::plan::Timeout;
use crate::time::{SECOND, clock, since_start};
use crate::world::{Broken, Event, World, provenance};

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

    fn send(&mut self, cluster: usize, freed: Box<Freed>) {
        self.note(|w| {
            let name = w.clusters[cluster].name;
            let rests_on = freed
                .evidence
                .as_deref()
                .map(|e| (e.pod_gone, &e.containers_gone));
            format!(
                "sync of {name} would free {} step {}: {rests_on:?}",
                freed.key.address, freed.key.step
            )
        });
        if let Some(evidence) = &freed.evidence {
            self.check_evidence(evidence);
        }
        match if self.healing {
            99
        } else {
            self.dice.below(100)
        } {
            0..5 => {}
            5..10 => self.soon(10 * SECOND, 150 * SECOND, Event::Release(cluster, freed)),
            10..15 => {
                self.soon(5, SECOND, Event::Release(cluster, freed.clone()));
                self.soon(5, 100 * SECOND, Event::Release(cluster, freed));
            }
            _ => self.soon(5, 2 * SECOND, Event::Release(cluster, freed)),
        }
    }

    fn check_evidence(&mut self, evidence: &Evidence) {
        self.tally
            .count(crate::mutants::gone_text(evidence.pod_gone));
        for proof in &evidence.containers_gone {
            self.tally.count(crate::mutants::proof_text(*proof));
        }
        if !evidence.follows_from_its_reads() {
            let text = format!("evidence does not follow from its reads: {evidence:?}");
            self.broken.get_or_insert(Broken::Contradiction(text));
        }
    }

    pub(crate) fn release(&mut self, cluster: usize, freed: Freed) {
        let space = self
            .book
            .find_space(&freed.key.space)
            .expect("sync saw it there");
        let place = (space, freed.key.address);
        let held = self.book.holds.get(&place).map(|held| held.step);
        let step = if freed.any_step {
            held.unwrap_or(freed.key.step)
        } else {
            freed.key.step
        };
        if held == Some(step) && self.may_still_run(&freed) {
            self.write_off(place);
        }
        let command = Command::ReleaseHold(Box::new(ReleaseHold {
            space: freed.key.space,
            ip: freed.key.address,
            step,
            reason: "pod gone".to_owned(),
            evidence: freed.evidence.as_deref().map_or_else(Map::new, to_map),
            provenance: provenance("sync"),
        }));
        let said = self.execute(&command, "sync");
        let Some(said) = said else {
            return;
        };
        self.note(|w| {
            format!(
                "sync of {} frees {}: {said}",
                w.clusters[cluster].name, place.1
            )
        });
        self.expect_release(&said, place);
    }

    fn expect_release(&mut self, said: &Said, place: Place) {
        if let Said::Refused(refusal) = said
            && refusal.kind() != "step_mismatch"
        {
            let text = format!("a release of {} was refused: {refusal}", place.1);
            self.broken.get_or_insert(Broken::Contradiction(text));
        }
    }

    /// A release on the time-out alone, which the operator accepts, and which did not come early.
    fn may_still_run(&self, freed: &Freed) -> bool {
        let Some(evidence) = freed
            .evidence
            .as_deref()
            .filter(|evidence| evidence.timed_out_only)
        else {
            return false;
        };
        let owner = evidence.hold.owner.as_ref();
        let node = owner.and_then(|owner| owner.node.as_deref());
        let is_it = |machine: &&crate::world::Machine| {
            self.clusters[machine.cluster].name == evidence.hold.cluster
                && Some(machine.name.as_str()) == node
        };
        let machine = self
            .machines
            .iter()
            .find(is_it)
            .expect("a node of the plan");
        let Read::Found(read_at, _) = evidence.observation.node else {
            return false;
        };
        let read_at = since_start(read_at);
        let silent = read_at - machine.beats.last_up_to(read_at);
        self.plan.timeout == Timeout::Believed && silent >= 360 * SECOND
    }
}

fn owners(holds: &[Hold]) -> impl Iterator<Item = &ipledger_sync::diff::Owner> {
    holds.iter().filter_map(|hold| hold.owner.as_ref())
}

/// As it is stored with the release.
fn to_map(evidence: &Evidence) -> Map<String, Value> {
    match serde_json::to_value(evidence) {
        Ok(Value::Object(map)) => map,
        other => panic!("evidence is an object: {other:?}"),
    }
}
