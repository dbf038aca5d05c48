//! What happens by itself, and what people do.

use ipledger_sync::diff::{Blind, Phase};

use super::{Event, Stage, World};
use crate::syncer::ReadFault;
use crate::time::SECOND;

type Deed = fn(&mut World);

/// How often each happens, relative to the others.
const DEEDS: &[(usize, Deed)] = &[
    (12, |w| w.with_pod(World::delete_gracefully)),
    (10, |w| w.with_pod(World::delete_by_force)),
    (8, |w| w.with_pod(World::crash)),
    (6, World::finish_some),
    (12, |w| w.with_machine(World::cut_off)),
    (10, |w| w.with_machine(World::reconnect)),
    (6, |w| w.with_machine(World::switch_off)),
    (8, |w| w.with_machine(World::switch_on)),
    (4, |w| w.with_machine(World::delete_node)),
    (4, |w| w.with_machine(World::taint)),
    (4, |w| w.with_machine(World::evict)),
    (8, |w| w.with_machine(World::abandon)),
    (4, |w| w.with_machine(World::mark_failed)),
    (3, World::toggle_slot),
    (3, World::stop_book),
    (2, |w| w.book.restart()),
    (8, World::spoil_reads),
    (3, World::lead_astray),
    (5, |w| w.with_cluster(World::restart_sync)),
    (3, |w| w.with_cluster(World::drop_watch)),
    (3, World::deny_mirrors),
    (3, World::turn_database_clock),
    (4, World::turn_machine_clock),
];

impl World {
    pub(super) fn chaos(&mut self) {
        if self.healing {
            return;
        }
        let total = DEEDS.iter().map(|(weight, _)| weight).sum();
        let mut drawn = self.dice.below(total);
        for (weight, deed) in DEEDS {
            if drawn < *weight {
                deed(self);
                break;
            }
            drawn -= weight;
        }
        // Often little, and now and then much at once.
        let pause = if self.dice.percent(30) {
            SECOND
        } else {
            14 * SECOND
        };
        self.soon(100, pause, Event::Chaos);
    }

    fn with_pod(&mut self, deed: fn(&mut World, usize)) {
        let pods = self
            .slots
            .iter()
            .filter_map(|slot| Some(slot.object.as_ref()?.pod));
        if let Some(pod) = self.dice.pick(&pods.collect::<Vec<_>>()) {
            deed(self, pod);
        }
    }

    fn with_machine(&mut self, deed: fn(&mut World, usize)) {
        let machine = self.dice.below(self.machines.len());
        deed(self, machine);
    }

    fn with_cluster(&mut self, deed: fn(&mut World, usize)) {
        let cluster = self.dice.below(self.clusters.len());
        deed(self, cluster);
    }

    pub(super) fn delete_gracefully(&mut self, pod: usize) {
        if self.is_static(pod) {
            return self.delete_by_force(pod);
        }
        let until = self.now + 30 * SECOND;
        if let Some(object) = self.object_of(pod) {
            object.deleting_until.get_or_insert(until);
            self.note(|w| format!("deleting {}", w.pod_text(pod)));
            self.soon(50, 2 * SECOND, Event::Look(pod));
        }
    }

    pub(super) fn delete_by_force(&mut self, pod: usize) {
        self.note(|w| format!("by force: {}", w.pod_text(pod)));
        self.erase(pod);
        self.soon(50, 2 * SECOND, Event::Look(pod));
    }

    fn finish_some(&mut self) {
        let is_job = |w: &World, pod: &usize| w.slots[w.pods[*pod].slot].kind == super::Kind::Job;
        let pods = self
            .slots
            .iter()
            .filter_map(|slot| Some(slot.object.as_ref()?.pod));
        let pods: Vec<_> = pods.filter(|pod| is_job(self, pod)).collect();
        let result = self
            .dice
            .pick(&[Phase::Succeeded, Phase::Failed])
            .expect("a choice");
        if let Some(pod) = self.dice.pick(&pods) {
            self.finish(pod, result);
        }
    }

    /// A set is scaled down or up, a manifest goes or comes.
    fn toggle_slot(&mut self) {
        let slot = self.dice.below(self.slots.len());
        let of = &mut self.slots[slot];
        of.is_wanted = !of.is_wanted;
        match (of.is_wanted, of.manifest, &of.object) {
            (true, ..) => self.soon(0, 5 * SECOND, Event::Create(slot)),
            (false, Some(_), _) => self.take_manifest_away(slot),
            (false, None, Some(object)) => {
                let pod = object.pod;
                self.delete_gracefully(pod);
            }
            _ => {}
        }
    }

    fn take_manifest_away(&mut self, slot: usize) {
        let Some(pod) = self.slots[slot].manifest.take() else {
            return;
        };
        self.note(|w| format!("manifest gone: {}", w.pod_text(pod)));
        match self.pods[pod].stage {
            Stage::Wanted => self.stop(pod),
            _ => self.soon(0, 2 * SECOND, Event::Remove(pod)),
        }
    }

    fn stop_book(&mut self) {
        self.book_down_until = self.now + self.dice.between(SECOND, 60 * SECOND);
        self.note(|_| "the API is down".to_owned());
    }

    fn spoil_reads(&mut self) {
        let fault = self.dice.pick(&[
            ReadFault::Blind(Blind::Forbidden),
            ReadFault::Blind(Blind::TimedOut),
            ReadFault::Blind(Blind::ServerError),
            ReadFault::Blind(Blind::Unreadable),
            ReadFault::EmptyLists,
            ReadFault::EmptyLists,
            ReadFault::OldLists,
            ReadFault::OldLists,
            ReadFault::FalseNotFound,
            ReadFault::FalseNotFound,
        ]);
        let (cluster, until) = (self.dice.below(self.clusters.len()), self.now);
        let until = until + self.dice.between(5 * SECOND, 200 * SECOND);
        let fault = fault.expect("a choice");
        self.note(|w| format!("reads of {}: {fault:?}", w.clusters[cluster].name));
        self.spoil(cluster, fault, until);
    }

    /// Sync comes to use the kubeconfig of another cluster.
    fn lead_astray(&mut self) {
        let cluster = self.dice.below(self.clusters.len());
        let until = self.now + self.dice.between(20 * SECOND, 150 * SECOND);
        self.note(|w| format!("sync of {} is led astray", w.clusters[cluster].name));
        self.clusters[cluster].syncer.astray_until = until;
    }

    fn deny_mirrors(&mut self) {
        let until = self.now + self.dice.between(20 * SECOND, 200 * SECOND);
        let cluster = self.dice.below(self.clusters.len());
        self.note(|w| format!("{} keeps mirrors away", w.clusters[cluster].name));
        self.clusters[cluster].denies_mirrors_until = until;
    }

    fn turn_database_clock(&mut self) {
        let hours = self.dice.between(-2, 2) * 3_600 * SECOND;
        let ahead = hours + self.dice.between(-300 * SECOND, 300 * SECOND);
        self.note(|_| format!("the database's clock is {ahead} ms ahead"));
        self.book.clock_ahead = ahead;
    }

    fn turn_machine_clock(&mut self) {
        let machine = self.dice.below(self.machines.len());
        self.machines[machine].clock_ahead = self.dice.between(-7_200, 7_200) * SECOND;
    }
}
