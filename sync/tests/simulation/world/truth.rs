//! What is true, whatever anybody believes: which containers answer for which address.

use super::{Event, Stage, World};
use crate::book::Place;
use crate::time::SECOND;

/// A promise that was broken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Broken {
    /// The hold of a container that runs ended.
    Living(String),
    /// A dead hold stayed, or a pod went without an address that was free.
    Stuck(String),
    /// The history or a decision contradicts itself.
    Contradiction(String),
}

/// Why a dead hold may stay for now.
pub(super) enum Doubt {
    /// It has no UID, and a pod bears its name: it may be that pod's. It goes when the name does.
    Name(usize),
    /// It is of a static pod: the pod may run without its mirror. It goes when the machine does.
    Machine(usize),
}

impl World {
    pub(super) fn come_up(&mut self, sandbox: usize) {
        let place = self.sandboxes[sandbox].place.expect("it was answered");
        self.note(|_| format!("c{sandbox} answers for {}", place.1));
        if let Some(other) = self.living.insert(place, sandbox) {
            let text = format!("{}: c{other} and c{sandbox} both answer for it", place.1);
            self.broken.get_or_insert(Broken::Living(text));
        }
        self.check_living(&[place], "nobody");
    }

    pub(super) fn go_down(&mut self, sandbox: usize) {
        if let Some(place) = self.sandboxes[sandbox].place.take()
            && self.living.get(&place) == Some(&sandbox)
        {
            self.living.remove(&place);
        }
    }

    /// Every container that answers for an address holds it.
    pub(crate) fn check_living(&mut self, touched: &[Place], who: &str) {
        for place in touched {
            if let Some(&sandbox) = self.living.get(place)
                && !self.is_held_by(*place, sandbox)
            {
                let text = format!(
                    "{}: {who} ended the hold of c{sandbox}, which runs",
                    place.1
                );
                self.broken.get_or_insert(Broken::Living(text));
            }
        }
        if let Some(text) = self.book.broken.take() {
            self.broken.get_or_insert(Broken::Contradiction(text));
        }
    }

    fn is_held_by(&self, place: Place, sandbox: usize) -> bool {
        let held = self.book.holds.get(&place);
        held.is_some_and(|held| held.attachment == self.attachment(sandbox))
    }

    /// The operator believes in the time-out: from here on this container is not counted.
    pub(crate) fn write_off(&mut self, place: Place) {
        if self.living.remove(&place).is_some() {
            self.tally.count("container written off after the time-out");
            self.note(|_| format!("whoever answers for {} is written off", place.1));
        }
    }

    /// Whether all is as it must be; if not, and it is too late, that is a broken promise.
    pub(super) fn judge(&mut self) -> bool {
        let (dead, waiting) = (self.dead_holds(), self.waiting_pod());
        if dead.is_empty() && waiting.is_none() {
            return true;
        }
        if self.now < self.patience {
            self.after(20 * SECOND, Event::Judge);
            return false;
        }
        let doubts: Vec<_> = dead.iter().filter_map(|&place| self.doubt(place)).collect();
        if !dead.is_empty() && doubts.len() == dead.len() {
            self.end_doubts(&doubts);
            return false;
        }
        let dead = dead
            .iter()
            .map(|place| format!("the hold of {} stays", place.1));
        let waiting = waiting.map(|pod| format!("{} has no address", self.pod_text(pod)));
        let text = dead.chain(waiting).collect::<Vec<_>>().join(", ");
        self.broken.get_or_insert(Broken::Stuck(text));
        true
    }

    fn dead_holds(&self) -> Vec<Place> {
        let is_dead = |place: &&Place| {
            let holder = self.living.get(place);
            holder.is_none_or(|&sandbox| !self.is_held_by(**place, sandbox))
        };
        self.book.holds.keys().filter(is_dead).copied().collect()
    }

    /// A pod that should have an address and has none, though there is one.
    fn waiting_pod(&self) -> Option<usize> {
        let waits = |pod: &usize| {
            let slot = &self.slots[self.pods[*pod].slot];
            let has_object = slot
                .object
                .as_ref()
                .is_some_and(|object| object.pod == *pod);
            let sandbox = self.pods[*pod].sandbox;
            let is_up = sandbox.is_some_and(|sandbox| self.sandboxes[sandbox].place.is_some());
            let runs = self.machines[self.pods[*pod].machine].is_on;
            let wants = self.pods[*pod].stage == Stage::Wanted && slot.fixed.is_none();
            has_object && runs && wants && !is_up && self.has_room(slot.cluster)
        };
        (0..self.pods.len()).find(waits)
    }

    /// Neither held nor resting: for how long an address rests is the ledger's own affair.
    fn has_room(&self, cluster: usize) -> bool {
        let name = if self.plan.shared {
            "shared:lan"
        } else {
            self.clusters[cluster].name
        };
        let space = self.book.find_space(name).expect("its cluster is bound");
        self.plan
            .addresses()
            .any(|ip| self.book.is_free((space, ip)))
    }

    /// What nobody but us can know of a dead hold.
    fn doubt(&self, place: Place) -> Option<Doubt> {
        let held = &self.book.holds[&place];
        let owner = held.owner.as_ref()?;
        let is_in = |cluster: usize| self.clusters[cluster].name == held.attachment.cluster;
        let Some(uid) = &owner.uid else {
            let is_it = |slot: &super::Slot| is_in(slot.cluster) && slot.name == owner.name;
            let slot = self.slots.iter().position(is_it)?;
            return self.slots[slot]
                .object
                .is_some()
                .then_some(Doubt::Name(slot));
        };
        let is_it = |machine: &super::Machine| {
            is_in(machine.cluster) && Some(&machine.name) == owner.node.as_ref()
        };
        let machine = self.machines.iter().position(is_it)?;
        (uid.len() == 32 && self.machines[machine].is_on).then_some(Doubt::Machine(machine))
    }
}
