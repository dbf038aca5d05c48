//! The ledger without a database: its own decisions, applied as if each had been appended.

use std::collections::BTreeMap;
use std::net::IpAddr;

use jiff::Timestamp;
use ledger::decide::{
    Change, Draft, NewEvent, OpenSpace, Verdict, apply, apply_calls, apply_recorded, decide,
};
use ledger::event::Payload;
use ledger::event::encoding::Key;
use ledger::model::{Attachment, Owner};
use ledger::state::{Class, SpaceIndex, State, Tombstone};
use ledger::{Answer, Command, Refusal};
use uuid::Uuid;

use crate::time::microseconds;

/// As long as the database keeps them.
const TOMBSTONE_US: i64 = 600_000_000;

/// An address in its space.
pub(crate) type Place = (SpaceIndex, IpAddr);

/// What a caller is told.
#[derive(Debug, Clone)]
pub(crate) enum Said {
    Allocated(Place),
    Done,
    Refused(Refusal),
}

impl std::fmt::Display for Said {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Said::Allocated((_, ip)) => write!(f, "{ip}"),
            Said::Done => f.write_str("done"),
            Said::Refused(refusal) => f.write_str(refusal.kind()),
        }
    }
}

/// What the derived table shows of a hold.
#[derive(Clone)]
pub(crate) struct Held {
    pub(crate) step: u32,
    pub(crate) attachment: Attachment,
    pub(crate) owner: Option<Owner>,
    pub(crate) recorded_at: Timestamp,
}

struct Stored {
    space: SpaceIndex,
    seq: u64,
    at_us: i64,
    target: Option<(IpAddr, u32)>,
    payload: Payload,
}

#[derive(Default)]
pub(crate) struct Book {
    state: State,
    stored: Vec<Stored>,
    spaces: Vec<OpenSpace>,
    tombstones: BTreeMap<Key, Tombstone>,
    /// In the order of their first calls.
    boots: Vec<Uuid>,
    /// As it should not be: a boot is noted with its first event only.
    pub(crate) notes_boots_with_events: bool,
    pub(crate) holds: BTreeMap<Place, Held>,
    /// How far the database's clock is ahead, in milliseconds.
    pub(crate) clock_ahead: i64,
    /// What the history has against the rules.
    pub(crate) broken: Option<String>,
}

impl Book {
    /// Decides a command and appends what comes of it; tells which addresses changed.
    pub(crate) fn execute(&mut self, command: &Command, now: i64) -> (Said, Vec<Place>) {
        let known = self.boots.len();
        let (said, touched) = self.decide(command, now);
        if self.notes_boots_with_events && touched.is_empty() && self.boots.len() > known {
            self.boots.truncate(known);
            self.restart();
        }
        (said, touched)
    }

    fn decide(&mut self, command: &Command, now: i64) -> (Said, Vec<Place>) {
        let now_us = microseconds(now, self.clock_ahead);
        loop {
            self.state.wake(now_us);
            self.state.commit();
            match decide(&self.state, command, now_us) {
                Verdict::Append(events, draft) => return self.append(&events, &draft, now_us),
                Verdict::Answer(answer, _) => return (self.repeated(&answer), Vec::new()),
                Verdict::Repeat(repeat) => {
                    apply_calls(&mut self.state, &repeat.calls);
                    return (self.repeated(&repeat.answer), Vec::new());
                }
                Verdict::Refuse(refusal, _) => return (Said::Refused(refusal), Vec::new()),
                Verdict::Open(spaces) => {
                    assert!(!spaces.is_empty(), "memory is never behind");
                    spaces.into_iter().for_each(|space| self.open(space));
                }
                Verdict::See(boot) => {
                    self.boots.push(boot.boot_id);
                    add_boots(&mut self.state, &self.boots);
                }
                Verdict::Bury(burial) => {
                    let tombstone = Tombstone {
                        token: burial.token,
                        expires_us: now_us + TOMBSTONE_US,
                    };
                    self.state.order.bury(burial.attachment, tombstone);
                    self.tombstones.insert(burial.attachment, tombstone);
                    return (Said::Done, Vec::new());
                }
            }
        }
    }

    fn repeated(&self, answer: &Answer) -> Said {
        match answer {
            Answer::Allocated(allocated) => {
                let address = &allocated.addresses[0];
                let space = self.state.spaces.find(&address.space);
                Said::Allocated((space.expect("a space that was answered"), address.ip))
            }
            _ => Said::Done,
        }
    }

    fn append(&mut self, events: &[NewEvent], draft: &Draft, now_us: i64) -> (Said, Vec<Place>) {
        let mut touched = Vec::new();
        for event in events {
            // Recorded time never runs backwards inside a stream.
            let at_us = now_us.max(self.state.spaces.get(event.space).recorded_at_us);
            let seq = apply(&mut self.state, std::slice::from_ref(event), at_us)[0];
            self.derive(event, at_us);
            touched.extend(event.target.map(|(ip, _)| (event.space, ip)));
            self.stored.push(Stored {
                space: event.space,
                seq,
                at_us,
                target: event.target,
                payload: event.payload.clone(),
            });
        }
        self.state.commit();
        let said = match draft {
            Draft::Allocated(chosen) => {
                let event = &events[chosen[0].0];
                Said::Allocated((event.space, event.target.expect("a hold has an address").0))
            }
            _ => Said::Done,
        };
        (said, touched)
    }

    /// Keeps the table of holds, and watches that each step follows the one before it.
    fn derive(&mut self, event: &NewEvent, at_us: i64) {
        let Some((ip, step)) = event.target else {
            return;
        };
        let place = (event.space, ip);
        let held = self.holds.remove(&place).map(|held| held.step);
        let fits = match &event.change {
            Change::Hold(hold) => {
                let attachment = event.payload.attachment.clone().expect("a hold has one");
                self.state.order.unbury(hold.attachment);
                self.tombstones.remove(&hold.attachment);
                let recorded_at = Timestamp::from_microsecond(at_us).expect("a run is short");
                let held = Held {
                    step,
                    attachment,
                    owner: event.payload.owner.clone(),
                    recorded_at,
                };
                self.holds.insert(place, held);
                step.is_multiple_of(2)
            }
            _ => held.is_some_and(|held| held + 1 == step),
        };
        if !fits || (held.is_some() && step.is_multiple_of(2)) {
            let broken = format!("{ip}: step {step} follows a hold of {held:?}");
            self.broken.get_or_insert(broken);
        }
    }

    fn open(&mut self, space: OpenSpace) {
        add_space(&mut self.state, self.spaces.len(), &space);
        self.spaces.push(space);
    }

    /// The API starts anew: what it knows comes from the stored events.
    pub(crate) fn restart(&mut self) {
        let mut state = State::default();
        for (index, space) in self.spaces.iter().enumerate() {
            add_space(&mut state, index, space);
        }
        add_boots(&mut state, &self.boots);
        for event in &self.stored {
            let payload = event.payload.clone();
            let (space, seq, at_us) = (event.space, event.seq, event.at_us);
            apply_recorded(&mut state, space, seq, at_us, event.target, payload)
                .expect("an event that was decided here can be read");
        }
        state.commit();
        state.order.set_tombstones(self.tombstones.clone());
        self.state = state;
    }

    pub(crate) fn is_free(&self, (space, ip): Place) -> bool {
        let record = self.state.record_of(space, ip);
        record.is_none_or(|record| record.class == Class::Free)
    }

    pub(crate) fn bound_uid(&self, cluster: &str) -> Option<&str> {
        self.state.spaces.bound_uid(cluster)
    }

    pub(crate) fn space_name(&self, space: SpaceIndex) -> &str {
        &self.state.spaces.get(space).name
    }

    pub(crate) fn find_space(&self, name: &str) -> Option<SpaceIndex> {
        self.state.spaces.find(name)
    }
}

/// What is known keeps its place.
fn add_boots(state: &mut State, boots: &[Uuid]) {
    for (number, &boot_id) in (1..).zip(boots) {
        state.order.add_boot(number, boot_id);
    }
}

fn add_space(state: &mut State, index: usize, space: &OpenSpace) {
    let id = i32::try_from(index).expect("few spaces");
    let added = state.spaces.add(id, &space.name, space.private);
    for (cluster, network_name) in &space.members {
        state.spaces.add_member(cluster, network_name, added);
    }
}
