//! Releases on their way to the ledger: they arrive late, twice or never.

use ipledger_sync::diff::{ContainersGone, Evidence, PodGone, Read};
use ledger::Command;
use ledger::command::ReleaseHold;
use serde_json::{Map, Value};

use crate::book::{Place, Said};
use crate::plan::Timeout;
use crate::time::{SECOND, since_start};
use crate::variant::Freed;
use crate::world::{Broken, Event, Machine, World, provenance};

impl World {
    pub(super) fn send(&mut self, cluster: usize, freed: Box<Freed>) {
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
        self.tally.count(gone_text(evidence.pod_gone));
        for proof in &evidence.containers_gone {
            self.tally.count(proof_text(*proof));
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
        let is_it = |machine: &&Machine| {
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

/// As it is stored with the release.
fn to_map(evidence: &Evidence) -> Map<String, Value> {
    match serde_json::to_value(evidence) {
        Ok(Value::Object(map)) => map,
        other => panic!("evidence is an object: {other:?}"),
    }
}

fn gone_text(gone: PodGone) -> &'static str {
    match gone {
        PodGone::NotFound => "freed: not found",
        PodGone::AnotherUid => "freed: another UID",
        PodGone::CreatedAfterHold => "freed: created after the hold",
        PodGone::Finished => "freed: finished",
        PodGone::TerminatingOnOutOfService => "freed: terminating on a node out of service",
    }
}

fn proof_text(proof: ContainersGone) -> &'static str {
    match proof {
        ContainersGone::Terminated => "proof: terminated",
        ContainersGone::NodeHeartbeat => "proof: heartbeats",
        ContainersGone::NodeDeleted => "proof: node deleted",
        ContainersGone::NodeReplaced => "proof: node replaced",
        ContainersGone::NodeOutOfService => "proof: node out of service",
        ContainersGone::NodeUnreachable => "proof: node unreachable",
    }
}
