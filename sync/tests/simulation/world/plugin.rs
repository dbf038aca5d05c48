//! The plugin's calls, the network they cross, and the queue of those that did not.

use ledger::Command;
use ledger::command::{Allocate, Release, SpaceSelector};
use ledger::model::{Attachment, OrderToken, Owner};
use uuid::Uuid;

use super::{Event, World, provenance};
use crate::book::Said;
use crate::time::SECOND;

/// How long the plugin tries.
const DEADLINE: i64 = 10 * SECOND;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verb {
    Add,
    Del,
}

/// One run of the plugin.
pub(crate) struct Call {
    verb: Verb,
    sandbox: usize,
    machine: usize,
    boot: Uuid,
    booted_at: i64,
    token: OrderToken,
    deadline: i64,
    is_done: bool,
}

impl World {
    pub(super) fn call(&mut self, verb: Verb, sandbox: usize) {
        let machine = self.pods[self.sandboxes[sandbox].pod].machine;
        let call = self.calls.len();
        let of = &self.machines[machine];
        let up_ms = u64::try_from(self.now - of.booted_at).expect("a boot lies in the past");
        self.calls.push(Call {
            verb,
            sandbox,
            machine,
            boot: of.boot,
            booted_at: of.booted_at,
            token: OrderToken {
                boot_id: of.boot,
                boottime_ns: up_ms * 1_000_000 + call as u64,
            },
            deadline: self.now + DEADLINE,
            is_done: false,
        });
        self.after(0, Event::Try(call));
    }

    /// Whether the process of a call still runs and waits.
    fn is_waiting(&mut self, call: usize) -> bool {
        let Call { machine, boot, .. } = self.calls[call];
        let of = &self.machines[machine];
        self.calls[call].is_done |= !of.is_on || of.boot != boot;
        !self.calls[call].is_done
    }

    /// Sends it once; what becomes of it is up to the network.
    pub(super) fn try_call(&mut self, call: usize) {
        if !self.is_waiting(call) {
            return;
        }
        if self.now >= self.calls[call].deadline {
            return self.give_up(call);
        }
        if self.machines[self.calls[call].machine].reaches_ledger {
            let fate = if self.healing {
                99
            } else {
                self.dice.below(100)
            };
            match fate {
                0..4 => {}
                4..8 => self.soon(5, 400, Event::Arrive(call, false)),
                8..14 => self.soon(12 * SECOND, 200 * SECOND, Event::Arrive(call, false)),
                14..20 => {
                    self.soon(5, 400, Event::Arrive(call, true));
                    self.soon(500, 200 * SECOND, Event::Arrive(call, false));
                }
                _ => self.soon(5, 400, Event::Arrive(call, true)),
            }
        }
        let again = self.now + self.dice.between(2 * SECOND, 4 * SECOND);
        self.at(again.min(self.calls[call].deadline), Event::Try(call));
    }

    fn give_up(&mut self, call: usize) {
        let Call {
            verb,
            sandbox,
            machine,
            ..
        } = self.calls[call];
        self.calls[call].is_done = true;
        self.note(|w| format!("{} gives up", w.call_text(call)));
        match verb {
            Verb::Add => self.failed(sandbox),
            Verb::Del => {
                self.machines[machine].queue.push(call);
                self.soon(15 * SECOND, 60 * SECOND, Event::Drain(machine));
            }
        }
    }

    pub(super) fn arrive(&mut self, call: usize, answers: bool) {
        let Call {
            machine, booted_at, ..
        } = self.calls[call];
        if self.is_first_word_too_late(machine, booted_at) {
            return;
        }
        let command = self.command(call);
        let Some(said) = self.execute(&command, "the plugin") else {
            return;
        };
        self.heard.insert((machine, booted_at));
        self.note(|w| format!("{}: {said}", w.call_text(call)));
        if answers {
            self.soon(5, 400, Event::Answer(call, Box::new(said)));
        }
    }

    /// Nothing of this boot has ever reached the ledger, but something of a later one has: the one
    /// thing that the network promises not to do.
    fn is_first_word_too_late(&self, machine: usize, booted_at: i64) -> bool {
        let mut later = self.heard.range((machine, booted_at)..=(machine, i64::MAX));
        later.next().is_some_and(|&(_, first)| first != booted_at)
    }

    pub(super) fn answer(&mut self, call: usize, said: Said) {
        if !self.is_waiting(call) {
            return;
        }
        self.calls[call].is_done = true;
        let Call { verb, sandbox, .. } = self.calls[call];
        match (verb, said) {
            (Verb::Add, Said::Allocated(place)) => {
                self.sandboxes[sandbox].place = Some(place);
                self.started(sandbox);
            }
            (Verb::Add, _) => self.failed(sandbox),
            (Verb::Del, _) => {}
        }
    }

    /// A file leaves the queue only with an answer; some are lost, so the call comes twice.
    pub(super) fn drain(&mut self, machine: usize) {
        let of = &mut self.machines[machine];
        if of.queue.is_empty() {
            return;
        }
        if of.reaches_ledger && self.now >= self.book_down_until {
            let mut queue = std::mem::take(&mut of.queue);
            self.dice.shuffle(&mut queue);
            for call in queue {
                self.tally.count("DEL from the queue");
                self.arrive(call, false);
                if !self.healing && self.dice.percent(10) {
                    self.machines[machine].queue.push(call);
                }
            }
        }
        self.soon(15 * SECOND, 60 * SECOND, Event::Drain(machine));
    }

    pub(crate) fn attachment(&self, sandbox: usize) -> Attachment {
        let slot = self.pods[self.sandboxes[sandbox].pod].slot;
        Attachment {
            cluster: self.clusters[self.slots[slot].cluster].name.to_owned(),
            container_id: format!("c{sandbox}"),
            ifname: "net1".to_owned(),
            network: "lan".to_owned(),
        }
    }

    fn command(&self, call: usize) -> Command {
        let Call {
            verb,
            sandbox,
            machine,
            token,
            ..
        } = self.calls[call];
        let pod = &self.pods[self.sandboxes[sandbox].pod];
        let (slot, machine) = (&self.slots[pod.slot], &self.machines[machine]);
        let attachment = self.attachment(sandbox);
        let owner = Some(Owner {
            name: slot.name.clone(),
            namespace: "default".to_owned(),
            node: Some(machine.name.clone()),
            uid: machine.passes_uid.then(|| pod.uid.clone()),
        });
        let token = self.variant.sends_tokens.then_some(token);
        let cluster_uid = Some(self.clusters[slot.cluster].uid.clone());
        let provenance = provenance("plugin");
        match verb {
            Verb::Del => Command::Release(Box::new(Release {
                attachment,
                owner,
                cluster_uid,
                token,
                provenance,
            })),
            Verb::Add => Command::Allocate(Box::new(Allocate {
                space: SpaceSelector {
                    cluster: attachment.cluster.clone(),
                    network_name: String::new(),
                    overlapping: true,
                },
                attachment,
                owner,
                cluster_uid,
                token,
                ranges: vec![self.plan.window.clone()],
                ips: slot.fixed.into_iter().collect(),
                order: ledger::command::AddressOrder::LowestFree,
                cooldown_seconds: self.plan.cooldown_seconds,
                sticky_seconds: 0,
                dry_run: false,
                provenance,
            })),
        }
    }

    fn call_text(&self, call: usize) -> String {
        let Call { verb, sandbox, .. } = self.calls[call];
        let pod = self.pod_text(self.sandboxes[sandbox].pod);
        format!("{verb:?} c{sandbox} of {pod}")
    }
}
