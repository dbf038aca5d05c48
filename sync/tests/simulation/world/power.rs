//! Machines that are cut off, switched off, come back, or are given up.

use ipledger_sync::diff::Phase;

use super::{Event, Node, Stage, Timeout, World};
use crate::time::SECOND;

impl World {
    /// The network of a machine breaks; its containers go on.
    pub(super) fn cut_off(&mut self, machine: usize) {
        let keeps_ledger = self.dice.percent(30);
        let of = &mut self.machines[machine];
        if !of.is_connected {
            return;
        }
        of.is_connected = false;
        of.reaches_ledger = keeps_ledger;
        of.silences += 1;
        of.beats.end(self.now);
        let silence = of.silences;
        self.note(|w| format!("{} is cut off", w.machine_text(machine)));
        if self.plan.timeout == Timeout::Fenced {
            self.soon(150 * SECOND, 250 * SECOND, Event::Fence(machine, silence));
        }
    }

    pub(super) fn fence(&mut self, machine: usize, silence: u32) {
        let of = &self.machines[machine];
        if !of.is_connected && of.silences == silence {
            self.switch_off(machine);
        }
    }

    pub(super) fn reconnect(&mut self, machine: usize) {
        let of = &mut self.machines[machine];
        if of.is_on && !of.is_connected {
            (of.is_connected, of.reaches_ledger) = (true, true);
            of.beats.begin(self.now);
            self.note(|w| format!("{} is back", w.machine_text(machine)));
            self.reconcile(machine);
        }
    }

    fn reconcile(&mut self, machine: usize) {
        for pod in 0..self.pods.len() {
            if self.pods[pod].machine == machine {
                self.look(pod);
            }
        }
        self.soon(SECOND, 20 * SECOND, Event::Drain(machine));
    }

    pub(super) fn switch_off(&mut self, machine: usize) {
        let of = &mut self.machines[machine];
        if !of.is_on {
            return;
        }
        if of.is_connected {
            of.beats.end(self.now);
            of.silences += 1;
        }
        (of.is_on, of.is_connected, of.reaches_ledger) = (false, false, false);
        self.note(|w| format!("{} is off", w.machine_text(machine)));
        for pod in 0..self.pods.len() {
            if self.pods[pod].machine != machine {
                continue;
            }
            if let Some(sandbox) = self.pods[pod].sandbox.take() {
                self.go_down(sandbox);
            }
            if self.pods[pod].result.is_none() {
                self.pods[pod].stage = Stage::Unseen;
            }
        }
    }

    /// A new boot: nothing of the old one runs.
    pub(super) fn switch_on(&mut self, machine: usize) {
        if self.machines[machine].is_on {
            return;
        }
        let boot = self.new_boot();
        let lost_disk = self.dice.percent(15);
        let of = &mut self.machines[machine];
        (of.boot, of.booted_at) = (boot, self.now);
        (of.is_on, of.is_connected, of.reaches_ledger) = (true, true, true);
        of.beats.begin(self.now);
        if lost_disk {
            of.queue.clear();
        }
        match &mut of.node {
            Some(node) => node.is_out_of_service = false,
            None => {
                let uid = format!("{}-{}-{}", of.cluster, of.name, self.now);
                of.node = Some(Node {
                    uid,
                    is_out_of_service: false,
                });
            }
        }
        self.note(|w| format!("{} is on", w.machine_text(machine)));
        for sandbox in 0..self.sandboxes.len() {
            let of = &self.sandboxes[sandbox];
            if self.pods[of.pod].machine == machine && !of.is_deleted && of.boot != boot {
                self.delete(sandbox, 40);
            }
        }
        self.reconcile(machine);
    }

    /// Somebody deletes the Node object of a machine that is off.
    pub(super) fn delete_node(&mut self, machine: usize) {
        if !self.machines[machine].is_on && self.machines[machine].node.take().is_some() {
            self.note(|w| format!("{} is deleted", w.machine_text(machine)));
            self.soon(0, 40 * SECOND, Event::Collect(machine));
        }
    }

    /// Somebody taints a machine that is off.
    pub(super) fn taint(&mut self, machine: usize) {
        let of = &mut self.machines[machine];
        if let (false, Some(node)) = (of.is_on, &mut of.node) {
            node.is_out_of_service = true;
            self.note(|w| format!("{} is out of service", w.machine_text(machine)));
            self.soon(0, 150 * SECOND, Event::Collect(machine));
        }
    }

    pub(super) fn collect(&mut self, machine: usize) {
        let node = self.machines[machine].node.as_ref();
        if node.is_none_or(|node| node.is_out_of_service) {
            for pod in self.objects_on(machine) {
                self.erase(pod);
            }
        }
    }

    /// The pods of a machine that is silent are to be deleted, but nobody confirms it.
    pub(super) fn evict(&mut self, machine: usize) {
        if self.is_unreachable(machine) {
            self.note(|w| format!("{} is evicted", w.machine_text(machine)));
            for pod in self.objects_on(machine) {
                if !self.is_static(pod) {
                    self.delete_gracefully(pod);
                }
            }
        }
    }

    /// Somebody deletes the pods of a machine that is silent by force.
    pub(super) fn abandon(&mut self, machine: usize) {
        if self.is_unreachable(machine) {
            for pod in self.objects_on(machine) {
                self.delete_by_force(pod);
            }
        }
    }

    /// The pod collector writes Failed, though nobody saw a container end.
    pub(super) fn mark_failed(&mut self, machine: usize) {
        if self.is_unreachable(machine) {
            self.note(|w| format!("the pods of {} are marked Failed", w.machine_text(machine)));
            for pod in self.objects_on(machine) {
                if let Some(object) = self.object_of(pod).filter(|o| o.phase != Phase::Succeeded) {
                    object.phase = Phase::Failed;
                }
            }
        }
    }

    pub(super) fn is_unreachable(&self, machine: usize) -> bool {
        self.machines[machine]
            .beats
            .unreachable_since(self.now)
            .is_some()
    }

    pub(super) fn objects_on(&self, machine: usize) -> Vec<usize> {
        let pods = self
            .slots
            .iter()
            .filter_map(|slot| Some(slot.object.as_ref()?.pod));
        pods.filter(|&pod| self.pods[pod].machine == machine)
            .collect()
    }

    pub(crate) fn machine_text(&self, machine: usize) -> String {
        let of = &self.machines[machine];
        format!("{} {}", self.clusters[of.cluster].name, of.name)
    }
}
