//! The end of a run: faults stop, time passes, and nothing may be left over.

use super::truth::Doubt;
use super::{Event, Timeout, World};
use crate::time::SECOND;

/// By then every message that was held up has arrived.
const MESSAGES: i64 = 210 * SECOND;
/// And by then everything is clean: time-out of a silent node, grace, two looks, and some passes.
const PATIENCE: i64 = 900 * SECOND;
/// After nothing is in doubt any more.
const PATIENCE_FOR_DOUBTS: i64 = 300 * SECOND;

impl World {
    pub(super) fn heal(&mut self) {
        self.note(|_| "faults stop".to_owned());
        self.healing = true;
        self.book_down_until = self.now;
        for cluster in &mut self.clusters {
            cluster.syncer.heal(self.now);
        }
        for machine in 0..self.machines.len() {
            self.settle(machine);
        }
        self.patience = self.now + PATIENCE;
        self.after(MESSAGES, Event::Judge);
    }

    /// A machine returns, or it is given up in one of the ways that there are.
    fn settle(&mut self, machine: usize) {
        self.reconnect(machine);
        let last = if self.plan.timeout == Timeout::Never {
            3
        } else {
            4
        };
        match self.dice.below(last) {
            _ if self.machines[machine].is_on => {}
            0 => self.switch_on(machine),
            1 => self.delete_node(machine),
            2 => self.taint(machine),
            // Nobody cares for the node; somebody deletes its pods by force.
            _ => self
                .objects_on(machine)
                .into_iter()
                .for_each(|pod| self.erase(pod)),
        }
        let node = self.machines[machine].node.as_ref();
        if node.is_none_or(|node| node.is_out_of_service) {
            self.soon(0, 40 * SECOND, Event::Collect(machine));
        }
    }

    /// Names and machines are given up, so that nothing is in doubt.
    pub(super) fn end_doubts(&mut self, doubts: &[Doubt]) {
        self.tally.count("doubts ended");
        for doubt in doubts {
            match *doubt {
                Doubt::Name(slot) => self.retire(slot),
                Doubt::Machine(machine) => {
                    self.switch_off(machine);
                    self.delete_node(machine);
                }
            }
        }
        self.patience = self.now + PATIENCE_FOR_DOUBTS;
        self.after(20 * SECOND, Event::Judge);
    }

    fn retire(&mut self, slot: usize) {
        self.slots[slot].is_wanted = false;
        if let Some(pod) = self.slots[slot].object.as_ref().map(|object| object.pod) {
            self.delete_by_force(pod);
        }
    }
}
