//! What exists: machines and their Node objects, names and their pod objects, sandboxes.

use std::net::IpAddr;

use ipledger_sync::diff::Phase;
use uuid::Uuid;

use super::{Event, World};
use crate::beats::Beats;
use crate::book::Place;
use crate::time::SECOND;

pub(crate) struct Machine {
    pub(crate) cluster: usize,
    pub(crate) name: String,
    /// The Node object; deleted, none.
    pub(crate) node: Option<Node>,
    pub(crate) is_on: bool,
    /// Reaches the API server of its cluster.
    pub(crate) is_connected: bool,
    /// Reaches the ledger.
    pub(crate) reaches_ledger: bool,
    pub(crate) boot: Uuid,
    pub(crate) booted_at: i64,
    /// How far its wall clock is ahead, in milliseconds.
    pub(crate) clock_ahead: i64,
    /// Its runtime tells the plugin the UID of the pod.
    pub(crate) passes_uid: bool,
    /// Calls that wait on its disk.
    pub(crate) queue: Vec<usize>,
    pub(crate) beats: Beats,
    /// How often it fell silent.
    pub(crate) silences: u32,
}

pub(crate) struct Node {
    pub(crate) uid: String,
    pub(crate) is_out_of_service: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Born again under its name, anywhere.
    StatefulSet,
    /// Its pod ends by itself.
    Job,
    /// Of one machine; the API server has a mirror of it.
    Static(usize),
}

/// A pod's name in a cluster.
pub(crate) struct Slot {
    pub(crate) cluster: usize,
    pub(crate) name: String,
    pub(crate) kind: Kind,
    pub(crate) is_wanted: bool,
    /// The address that its pods ask for.
    pub(crate) fixed: Option<IpAddr>,
    /// The pod object under the name.
    pub(crate) object: Option<Object>,
    /// The static pod that the manifest describes.
    pub(crate) manifest: Option<usize>,
}

pub(crate) struct Object {
    pub(crate) pod: usize,
    pub(crate) uid: String,
    pub(crate) created_at: i64,
    pub(crate) deleting_until: Option<i64>,
    pub(crate) phase: Phase,
    pub(crate) is_terminated: bool,
}

/// What the kubelet makes of a pod.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stage {
    Unseen,
    Wanted,
    Stopping,
    Ended,
}

pub(crate) struct Pod {
    pub(crate) slot: usize,
    pub(crate) machine: usize,
    /// As the runtime knows it.
    pub(crate) uid: String,
    pub(crate) stage: Stage,
    pub(crate) sandbox: Option<usize>,
    /// When the kubelet has stopped it.
    pub(crate) stop_by: i64,
    /// How it ended by itself.
    pub(crate) result: Option<Phase>,
}

pub(crate) struct Sandbox {
    pub(crate) pod: usize,
    pub(crate) boot: Uuid,
    /// What it answers for, while it is up.
    pub(crate) place: Option<Place>,
    /// The runtime has called DEL.
    pub(crate) is_deleted: bool,
}

impl World {
    /// Drawn by the kernel at every start.
    pub(super) fn new_boot(&mut self) -> Uuid {
        let high = u128::from(self.dice.below(usize::MAX) as u64);
        Uuid::from_u128(high << 64 | self.machines.len() as u128)
    }

    /// The pod object of a pod, if the API server has it.
    pub(crate) fn object_of(&mut self, pod: usize) -> Option<&mut Object> {
        let slot = self.pods[pod].slot;
        self.slots[slot]
            .object
            .as_mut()
            .filter(|object| object.pod == pod)
    }

    pub(crate) fn is_static(&self, pod: usize) -> bool {
        matches!(self.slots[self.pods[pod].slot].kind, Kind::Static(_))
    }

    /// A static pod whose manifest is there.
    pub(crate) fn is_described(&self, pod: usize) -> bool {
        self.slots[self.pods[pod].slot].manifest == Some(pod)
    }

    /// The controller makes the pod of a name on a machine that looks ready; a manifest appears on
    /// its machine.
    pub(super) fn create(&mut self, slot: usize) {
        let of = &self.slots[slot];
        if !of.is_wanted || of.object.is_some() || of.manifest.is_some() {
            return;
        }
        let Kind::Static(machine) = of.kind else {
            let ready = self.ready_machines(of.cluster);
            let Some(machine) = self.dice.pick(&ready) else {
                return self.soon(5 * SECOND, 15 * SECOND, Event::Create(slot));
            };
            let pod = self.new_pod(slot, machine);
            let uid = self.pods[pod].uid.clone();
            self.write_object(pod, uid);
            return self.soon(50, 2 * SECOND, Event::Look(pod));
        };
        let pod = self.new_pod(slot, machine);
        // A manifest may come back as it was.
        let version = if self.dice.percent(50) { 0 } else { pod };
        self.pods[pod].uid = format!("{slot:016x}{version:016x}");
        self.slots[slot].manifest = Some(pod);
        self.soon(50, SECOND, Event::Look(pod));
    }

    fn new_pod(&mut self, slot: usize, machine: usize) -> usize {
        self.pods.push(Pod {
            slot,
            machine,
            uid: format!("p{}", self.pods.len()),
            stage: Stage::Unseen,
            sandbox: None,
            stop_by: 0,
            result: None,
        });
        self.pods.len() - 1
    }

    pub(super) fn write_object(&mut self, pod: usize, uid: String) {
        self.note(|w| format!("object {uid} of {}", w.pod_text(pod)));
        let slot = self.pods[pod].slot;
        self.slots[slot].object = Some(Object {
            pod,
            uid,
            created_at: self.now,
            deleting_until: None,
            phase: Phase::Pending,
            is_terminated: false,
        });
    }

    /// The scheduler does not know yet of a machine that has just fallen silent.
    fn ready_machines(&self, cluster: usize) -> Vec<usize> {
        let is_ready = |machine: &Machine| {
            machine.cluster == cluster
                && machine
                    .node
                    .as_ref()
                    .is_some_and(|node| !node.is_out_of_service)
                && machine.beats.unreachable_since(self.now).is_none()
        };
        let machines = 0..self.machines.len();
        machines
            .filter(|&machine| is_ready(&self.machines[machine]))
            .collect()
    }

    pub(crate) fn pod_text(&self, pod: usize) -> String {
        let Pod {
            slot, machine, uid, ..
        } = &self.pods[pod];
        let slot = &self.slots[*slot];
        let cluster = self.clusters[slot.cluster].name;
        format!(
            "{cluster} {} ({uid}) on {}",
            slot.name, self.machines[*machine].name
        )
    }
}
