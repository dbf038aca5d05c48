//! The model against `decide`, `apply` and `roll_back` alone: no database, any clock.

use std::collections::HashMap;

use ledger::Command;
use ledger::decide::{
    LaterCall, NewEvent, OpenSpace, Verdict, apply, apply_calls, apply_recorded, decide,
};
use ledger::event::Payload;
use ledger::state::{State, Tombstone};
use uuid::Uuid;

use super::naive::Naive;
use super::script::{Script, Step, Token};
use super::snapshot::{Snapshot, compare, snapshot};
use super::told;
use super::world::World;

/// The time at the start of every case, in microseconds: any time will do.
const START_US: i64 = 1_700_000_000_000_000;
/// How far an estimated time of record is off.
const OFF_US: i64 = 7;

/// One decided command that waits for its commit.
struct Waiting {
    before: Snapshot,
    naive_before: Naive,
    changes: usize,
    at_us: i64,
    events: Vec<(NewEvent, u64)>,
    calls: Vec<LaterCall>,
    step: Step,
}

/// What is in the ledger.
enum Stored {
    Event {
        event: Box<NewEvent>,
        seq: u64,
        at_us: i64,
    },
    /// Repeats that moved order tokens.
    Calls(Vec<LaterCall>),
}

struct Core {
    state: State,
    naive: Naive,
    world: World,
    waiting: Vec<Waiting>,
    stored: Vec<Stored>,
    spaces: Vec<OpenSpace>,
    /// In the order of their first calls.
    boots: Vec<Uuid>,
}

/// Run a script; the error is what differed, and where.
pub(crate) fn run(script: &Script) -> Result<(), String> {
    let world = World::new("prod");
    let mut core = Core {
        state: State::default(),
        naive: Naive::new(world.clone(), START_US),
        world,
        waiting: Vec::new(),
        stored: Vec::new(),
        spaces: Vec::new(),
        boots: Vec::new(),
    };
    for (index, step) in script.0.iter().enumerate() {
        core.step(step)
            .map_err(|difference| format!("at step {}, {step}: {difference}", index + 1))?;
    }
    core.commit(core.waiting.len());
    core.state.wake(core.naive.now);
    core.state.commit();
    check_stored(&core.stored)?;
    core.check_replay()
}

impl Core {
    fn step(&mut self, step: &Step) -> Result<(), String> {
        match step {
            // And a bit, so that no rest ends at the very microsecond of a decision: there an
            // estimated time of record would decide.
            Step::Wait(seconds) => self.naive.now += i64::from(*seconds) * 1_000_000 + 500,
            Step::Commit => self.commit(self.waiting.len()),
            Step::CommitFirst(count) => self.commit(self.waiting.len().min(usize::from(*count))),
            Step::RollBack => return self.roll_back(),
            command => {
                let Some(command) = self.command(command) else {
                    return Ok(());
                };
                return self.execute(step, &command);
            }
        }
        Ok(())
    }

    fn command(&self, step: &Step) -> Option<Command> {
        let world = &self.world;
        Some(match step {
            Step::Add(add) => world.add(add),
            Step::Del(interface, token) => world.del(*interface, *token),
            Step::Free(which, shift) => {
                let (space, ip, step) = self.naive.pick(*which, *shift)?;
                world.free(&space, ip.parse().expect("an address"), step)
            }
            Step::Import(import) => {
                let mut command = world.import(import);
                command.ended_before = self.naive.ended_before(import);
                Command::Import(Box::new(command))
            }
            Step::Reserve(reserve) => world.reserve(reserve),
            Step::GiveBack(which, shift) => {
                let (space, ip, step) = self.naive.pick(*which, *shift)?;
                world.give_back(&space, ip.parse().expect("an address"), step)
            }
            Step::Bind(uid) => world.bind(*uid),
            _ => return None,
        })
    }

    fn execute(&mut self, step: &Step, command: &Command) -> Result<(), String> {
        let (told, expected) = loop {
            let before = snapshot(&self.state, &self.world, &self.naive)?;
            let naive_before = self.naive.clone();
            let pending = self.state.pending_changes();
            let now_us = self.naive.now;
            self.state.wake(now_us);
            let verdict = decide(&self.state, command, now_us);
            let events = match &verdict {
                Verdict::Append(events, _) => {
                    let seqs = apply(&mut self.state, events, now_us);
                    events.iter().cloned().zip(seqs).collect()
                }
                _ => Vec::new(),
            };
            let calls = match &verdict {
                Verdict::Repeat(repeat) => repeat.calls.clone(),
                _ => Vec::new(),
            };
            apply_calls(&mut self.state, &calls);
            let told = told::of_verdict(&self.state, &verdict, &events);
            self.waiting.push(Waiting {
                before,
                naive_before,
                changes: self.state.pending_changes() - pending,
                at_us: now_us,
                events,
                calls,
                step: step.clone(),
            });
            match verdict {
                // The store opens them with nothing else on its way.
                Verdict::Open(open) => {
                    self.commit(self.waiting.len());
                    self.open(open);
                }
                // So are boots noted.
                Verdict::See(boot) => {
                    self.commit(self.waiting.len());
                    self.naive.see(token_of(step));
                    add_boot(&mut self.state, self.boots.len(), boot.boot_id);
                    self.boots.push(boot.boot_id);
                }
                Verdict::Bury(burial) => {
                    self.commit(self.waiting.len());
                    let tombstone = Tombstone {
                        token: burial.token,
                        expires_us: now_us + 600_000_000,
                    };
                    self.state.order.bury(burial.attachment, tombstone);
                    break (told, self.naive.execute(step));
                }
                _ => break (told, self.naive.execute(step)),
            }
        };
        if told != expected {
            return Err(format!(
                "the ledger says\n    {told}\n  and the model\n    {expected}"
            ));
        }
        compare(&self.state, &self.world, &self.naive)
    }

    fn open(&mut self, open: Vec<OpenSpace>) {
        for space in open {
            self.naive.open(&space.name);
            add_space(&mut self.state, self.spaces.len(), &space);
            self.spaces.push(space);
        }
    }

    /// The first so many commands are in the ledger, at another time than was estimated.
    fn commit(&mut self, count: usize) {
        let committed: Vec<Waiting> = self.waiting.drain(..count).collect();
        for command in committed {
            let at_us = command.at_us + OFF_US;
            let spaces = command.events.iter().map(|(event, _)| (event.space, at_us));
            let times: HashMap<_, _> = spaces.collect();
            self.state.commit_first(command.changes, &times);
            let positions = command
                .events
                .iter()
                .map(|(event, seq)| (self.state.spaces.get(event.space).name.clone(), *seq));
            let positions: Vec<(String, u64)> = positions.collect();
            let later = self.waiting.iter_mut();
            let models = later.map(|waiting| &mut waiting.naive_before);
            for naive in models.chain([&mut self.naive]) {
                naive.settle(&positions, OFF_US);
                if let (Step::Add(add), false) = (&command.step, positions.is_empty()) {
                    naive.tombstones.unbury(add.interface);
                }
            }
            for waiting in &mut self.waiting {
                waiting.before.settle(&command.events, at_us);
            }
            for (event, seq) in command.events {
                if let Step::Add(add) = &command.step {
                    let key = self.world.attachment(add.interface).key();
                    self.state.order.unbury(key);
                }
                let event = Box::new(event);
                self.stored.push(Stored::Event { event, seq, at_us });
            }
            if !command.calls.is_empty() {
                self.stored.push(Stored::Calls(command.calls));
            }
        }
    }

    /// Nothing that waits is in the ledger: everything is as it was before, exactly.
    fn roll_back(&mut self) -> Result<(), String> {
        self.state.roll_back();
        let Some(first) = self.waiting.drain(..).next() else {
            return Ok(());
        };
        let now_us = self.naive.now;
        self.naive = first.naive_before;
        self.naive.now = now_us;
        let after = snapshot(&self.state, &self.world, &self.naive)?;
        first.before.same_as(&after)
    }

    /// All events, as they are stored, make the same state again.
    fn check_replay(&self) -> Result<(), String> {
        let mut again = State::default();
        for (index, space) in self.spaces.iter().enumerate() {
            add_space(&mut again, index, space);
        }
        for (index, &boot_id) in self.boots.iter().enumerate() {
            add_boot(&mut again, index, boot_id);
        }
        for stored in &self.stored {
            let (event, seq, at_us) = match stored {
                Stored::Event { event, seq, at_us } => (event, seq, at_us),
                Stored::Calls(calls) => {
                    apply_calls(&mut again, calls);
                    continue;
                }
            };
            let body = event.payload.encode();
            let payload: Payload = serde_json::from_slice(&body).map_err(|e| e.to_string())?;
            apply_recorded(&mut again, event.space, *seq, *at_us, event.target, payload)?;
        }
        again.wake(self.naive.now);
        again.commit();
        let here = snapshot(&self.state, &self.world, &self.naive)?;
        let there = snapshot(&again, &self.world, &self.naive)?;
        there
            .same_as(&here)
            .map_err(|difference| format!("replayed: {difference}"))
    }
}

fn token_of(step: &Step) -> Option<Token> {
    match step {
        Step::Add(add) => add.token,
        Step::Del(_, token) => *token,
        _ => None,
    }
}

fn add_boot(state: &mut State, index: usize, boot_id: Uuid) {
    let number = i32::try_from(index + 1).expect("few boots");
    state.order.add_boot(number, boot_id);
}

fn add_space(state: &mut State, index: usize, space: &OpenSpace) {
    let id = i32::try_from(index).expect("few spaces");
    let added = state.spaces.add(id, &space.name, space.private);
    for (cluster, network_name) in &space.members {
        state.spaces.add_member(cluster, network_name, added);
    }
}

/// Positions of each space without gaps, steps of each address one after the other, and nobody
/// held an address that another held.
fn check_stored(stored: &[Stored]) -> Result<(), String> {
    let mut heads = HashMap::new();
    let mut steps = HashMap::new();
    for stored in stored {
        let Stored::Event { event, seq, .. } = stored else {
            continue;
        };
        let head = heads.entry(event.space).or_insert(0);
        *head += 1;
        if *head != *seq {
            return Err(format!("position {seq} follows {}", *head - 1));
        }
        if let Some((ip, step)) = event.target {
            let next = steps.entry((event.space, ip)).or_insert(0);
            use ledger::event::Kind;
            let is_hold = matches!(event.payload.kind, Kind::Allocated | Kind::Reserved);
            if *next != step || is_hold != step.is_multiple_of(2) {
                return Err(format!("{ip}: step {step} instead of {next}"));
            }
            *next += 1;
        }
    }
    Ok(())
}
