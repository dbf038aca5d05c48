//! Kubelets: each knows what it was told last, and starts and stops sandboxes in its own time.

use ipledger_sync::diff::Phase;

use super::{Event, Pod, Sandbox, Stage, Verb, World};
use crate::time::SECOND;

/// How long a kubelet takes to stop a pod, at most, once it knows that it must.
const STOP: i64 = 20 * SECOND;

impl World {
    /// The kubelet learns what the API server says of a pod, and says what it knows itself.
    pub(super) fn look(&mut self, pod: usize) {
        let machine = &self.machines[self.pods[pod].machine];
        if !machine.is_on || !machine.is_connected {
            return;
        }
        if self.is_static(pod) {
            return self.look_at_manifest(pod);
        }
        self.report(pod);
        let object = self.object_of(pod);
        let object = object.map(|object| (object.deleting_until.is_some(), object.phase));
        match (self.pods[pod].stage, object) {
            (Stage::Unseen | Stage::Ended, Some((true, _))) => {
                self.pods[pod].stage = Stage::Ended;
                self.soon(0, 2 * SECOND, Event::Remove(pod));
            }
            (Stage::Unseen, None | Some((_, Phase::Failed))) => {
                self.pods[pod].stage = Stage::Ended;
                self.report(pod);
            }
            (Stage::Unseen, Some(_)) => {
                self.pods[pod].stage = Stage::Wanted;
                self.soon(100, 3 * SECOND, Event::Begin(pod));
            }
            (Stage::Wanted, None | Some((true, _) | (_, Phase::Failed))) => self.stop(pod),
            _ => {}
        }
    }

    fn look_at_manifest(&mut self, pod: usize) {
        if !self.is_described(pod) {
            self.soon(0, 2 * SECOND, Event::Remove(pod));
            return;
        }
        if self.pods[pod].stage == Stage::Unseen {
            self.pods[pod].stage = Stage::Wanted;
            self.soon(100, 3 * SECOND, Event::Begin(pod));
        }
        if self.object_of(pod).is_none() {
            self.soon(SECOND, 5 * SECOND, Event::Mirror(pod));
        }
        self.report(pod);
    }

    pub(super) fn write_mirror(&mut self, pod: usize) {
        let machine = &self.machines[self.pods[pod].machine];
        let slot = &self.slots[self.pods[pod].slot];
        let is_denied = self.now < self.clusters[slot.cluster].denies_mirrors_until;
        let is_free = slot.object.is_none() && machine.node.is_some() && !is_denied;
        if machine.is_on && machine.is_connected && is_free && self.is_described(pod) {
            let uid = format!("mirror-{}", self.now);
            self.write_object(pod, uid);
            self.report(pod);
        } else if machine.is_on && machine.is_connected && self.is_described(pod) {
            self.soon(SECOND, 5 * SECOND, Event::Look(pod));
        }
    }

    /// What the kubelet knows goes into the pod object, if the API server can be reached.
    fn report(&mut self, pod: usize) {
        let Pod {
            machine,
            stage,
            sandbox,
            result,
            ..
        } = self.pods[pod];
        let is_up = sandbox.is_some_and(|sandbox| self.sandboxes[sandbox].place.is_some());
        if !self.machines[machine].is_connected {
            return;
        }
        let Some(object) = self.object_of(pod) else {
            return;
        };
        object.is_terminated |= stage == Stage::Ended;
        match result {
            Some(result) => object.phase = result,
            None if is_up && object.phase == Phase::Pending => object.phase = Phase::Running,
            None => {}
        }
    }

    pub(super) fn begin(&mut self, pod: usize) {
        let Pod {
            slot,
            machine,
            stage,
            sandbox,
            ..
        } = self.pods[pod];
        let runtime = &self.machines[machine];
        if stage != Stage::Wanted || sandbox.is_some() || !runtime.is_on {
            return;
        }
        // One worker per UID; and by name alone an old runtime could not tell two pods apart.
        let one_by_one = self.is_static(pod) || !runtime.passes_uid;
        let unmirrored = self.is_static(pod) && self.object_of(pod).is_none();
        let runtime = &self.machines[machine];
        if unmirrored || (one_by_one && self.runs_another(slot, machine)) {
            return self.soon(SECOND, 2 * SECOND, Event::Begin(pod));
        }
        let boot = runtime.boot;
        let sandbox = self.sandboxes.len();
        self.sandboxes.push(Sandbox {
            pod,
            boot,
            place: None,
            is_deleted: false,
        });
        self.pods[pod].sandbox = Some(sandbox);
        self.note(|w| format!("sandbox c{sandbox} of {}", w.pod_text(pod)));
        self.call(Verb::Add, sandbox);
    }

    fn runs_another(&self, slot: usize, machine: usize) -> bool {
        let mut pods = self.pods.iter();
        pods.any(|pod| pod.slot == slot && pod.machine == machine && pod.sandbox.is_some())
    }

    /// The sandbox has its network.
    pub(super) fn started(&mut self, sandbox: usize) {
        let pod = self.sandboxes[sandbox].pod;
        self.come_up(sandbox);
        self.report(pod);
        if self.pods[pod].stage == Stage::Stopping {
            let left = self.pods[pod].stop_by - self.now;
            self.soon(SECOND, left, Event::Stopped(sandbox));
        }
    }

    /// It has none: the runtime cleans up, and the kubelet tries with a new one.
    pub(super) fn failed(&mut self, sandbox: usize) {
        let pod = self.sandboxes[sandbox].pod;
        self.pods[pod].sandbox = None;
        self.delete(sandbox, 92);
        match self.pods[pod].stage {
            Stage::Stopping => self.end(pod),
            _ => self.soon(8 * SECOND, 30 * SECOND, Event::Begin(pod)),
        }
    }

    pub(super) fn stop(&mut self, pod: usize) {
        self.note(|w| format!("stopping {}", w.pod_text(pod)));
        self.pods[pod].stage = Stage::Stopping;
        self.pods[pod].stop_by = self.now + STOP;
        match self.pods[pod].sandbox {
            None => self.end(pod),
            Some(sandbox) if self.sandboxes[sandbox].place.is_some() => {
                self.soon(SECOND, STOP, Event::Stopped(sandbox));
            }
            // The runtime waits for the plugin first.
            Some(_) => {}
        }
    }

    pub(super) fn stopped(&mut self, sandbox: usize) {
        let Sandbox { pod, boot, .. } = self.sandboxes[sandbox];
        let Pod { machine, stage, .. } = self.pods[pod];
        if self.pods[pod].sandbox != Some(sandbox) || self.machines[machine].boot != boot {
            return;
        }
        self.go_down(sandbox);
        self.pods[pod].sandbox = None;
        self.delete(sandbox, 85);
        match stage {
            Stage::Stopping => self.end(pod),
            _ => self.soon(0, 2 * SECOND, Event::Remove(pod)),
        }
    }

    fn end(&mut self, pod: usize) {
        self.pods[pod].stage = Stage::Ended;
        self.report(pod);
        self.soon(0, 2 * SECOND, Event::Remove(pod));
    }

    /// The runtime calls DEL; or it never does, as some have been seen to do.
    pub(super) fn delete(&mut self, sandbox: usize, share: u32) {
        if self.dice.percent(share) {
            self.sandboxes[sandbox].is_deleted = true;
            self.call(Verb::Del, sandbox);
        } else {
            self.tally.count("DEL never called");
        }
    }

    /// The containers of a pod end by themselves; its sandbox goes a little later.
    pub(super) fn finish(&mut self, pod: usize, result: Phase) {
        let Some(sandbox) = self.pods[pod].sandbox else {
            return;
        };
        let is_up = self.sandboxes[sandbox].place.is_some();
        if self.pods[pod].stage == Stage::Wanted && is_up && !self.is_static(pod) {
            self.note(|w| format!("{result:?}: {}", w.pod_text(pod)));
            self.pods[pod].stage = Stage::Ended;
            self.pods[pod].result = Some(result);
            self.report(pod);
            self.soon(SECOND, STOP, Event::Stopped(sandbox));
        }
    }

    /// A sandbox dies, and the kubelet makes another one for the same pod.
    pub(super) fn crash(&mut self, pod: usize) {
        let Some(sandbox) = self.pods[pod].sandbox else {
            return;
        };
        if self.pods[pod].stage == Stage::Wanted && self.sandboxes[sandbox].place.is_some() {
            self.note(|w| format!("sandbox c{sandbox} dies: {}", w.pod_text(pod)));
            self.go_down(sandbox);
            self.pods[pod].sandbox = None;
            self.delete(sandbox, 70);
            self.soon(SECOND, 5 * SECOND, Event::Begin(pod));
        }
    }

    /// The kubelet has stopped the pod, and takes its object away.
    pub(super) fn remove(&mut self, pod: usize) {
        let is_connected = self.machines[self.pods[pod].machine].is_connected;
        let is_gone = self.is_static(pod) && !self.is_described(pod);
        let deleting = self
            .object_of(pod)
            .is_some_and(|object| object.deleting_until.is_some());
        if is_connected && self.pods[pod].sandbox.is_none() && (deleting || is_gone) {
            self.erase(pod);
        }
    }

    /// The API server forgets the object of a pod.
    pub(super) fn erase(&mut self, pod: usize) {
        let slot = self.pods[pod].slot;
        if self.object_of(pod).is_some() {
            self.note(|w| format!("object gone: {}", w.pod_text(pod)));
            self.slots[slot].object = None;
        }
        self.soon(100, 12 * SECOND, Event::Create(slot));
    }
}
