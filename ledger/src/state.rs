//! What the writer lane knows: every address ever used, in a compact form, at known heads.
//!
//! It is fed by the ledger's own stream and is only a hint: `append` compares the heads and the
//! guard decides. Changes are made at once and can be rolled back until the batch is committed.

mod order;
mod pools;
mod records;
mod spaces;

use std::collections::VecDeque;

use ipnet::IpNet;

pub use order::{BootIndex, Order, Stamp, Tombstone};
pub use pools::{PoolIndex, Pools, WindowState};
pub use records::{Class, Record, Slot};
pub use spaces::{Space, SpaceIndex, Spaces};

use crate::event::encoding::Key;
use records::Records;

/// See the module.
#[derive(Debug, Default)]
pub struct State {
    /// Spaces, what resolves to them, and their heads.
    pub spaces: Spaces,
    /// Pools and windows, with counts.
    pub pools: Pools,
    /// Boots, tombstones and the order of recent calls.
    pub order: Order,
    /// Epoch of the ledger.
    pub epoch: u32,
    records: Records,
    /// Addresses that rest, the first to wake on top; entries that no longer hold are skipped.
    cooling: std::collections::BinaryHeap<std::cmp::Reverse<(i64, Slot)>>,
    journal: VecDeque<Undo>,
}

#[derive(Debug)]
enum Undo {
    Record(Slot, Option<Record>),
    Head(SpaceIndex, u64, i64),
    Pool(SpaceIndex, IpNet),
    Window(PoolIndex),
}

impl State {
    /// The record of an address that was ever used.
    #[must_use]
    pub fn record_of(&self, space: SpaceIndex, ip: std::net::IpAddr) -> Option<&Record> {
        self.records
            .find_address(space, ip)
            .map(|slot| self.records.get(slot))
    }

    /// The addresses that an attachment holds, by position.
    #[must_use]
    pub fn held_by_attachment(&self, key: Key) -> Vec<Record> {
        self.records.held_by_attachment(key)
    }

    /// The addresses that a pod's interface holds or that rest after it held them, by position.
    #[must_use]
    pub fn of_owner(&self, key: Key) -> Vec<Record> {
        self.records.of_owner(key)
    }

    /// How many addresses were ever used.
    #[must_use]
    pub fn addresses(&self) -> usize {
        self.records.len()
    }

    /// When the first resting address of a window is free again, in microseconds.
    #[must_use]
    pub fn next_wake(&self, space: SpaceIndex, window: &address::Window) -> Option<i64> {
        self.cooling
            .iter()
            .filter(|entry| {
                let record = self.records.get(entry.0.1);
                record.class == Class::Cooling
                    && record.space == space
                    && window.contains(record.ip())
            })
            .map(|entry| entry.0.0)
            .min()
    }

    /// Put an address into a new state. Undone by `roll_back`.
    pub fn put(&mut self, record: Record) -> Slot {
        let slot = self.records.find_address(record.space, record.ip());
        let old = slot.map(|slot| *self.records.get(slot));
        let slot = slot.unwrap_or_else(|| self.records.next_slot());
        self.replace(slot, old, Some(record));
        self.journal.push_back(Undo::Record(slot, old));
        slot
    }

    /// How many changes wait for their commit.
    #[must_use]
    pub fn pending_changes(&self) -> usize {
        self.journal.len()
    }

    /// The oldest changes are in the ledger, with these times of record by space (there were only
    /// estimates before). Later ones still wait.
    pub fn commit_first(
        &mut self,
        changes: usize,
        times_us: &std::collections::HashMap<SpaceIndex, i64>,
    ) {
        for undo in self.journal.drain(..changes) {
            let Undo::Record(slot, _) = undo else {
                continue;
            };
            let record = self.records.get_mut(slot);
            if let Some(&at_us) = times_us.get(&record.space)
                && record.at_us != at_us
            {
                record.at_us = at_us;
                if record.class == Class::Cooling {
                    self.cooling
                        .push(std::cmp::Reverse((record.cooling_until_us(), slot)));
                }
            }
        }
        for (&space, &at_us) in times_us {
            self.spaces.set_time(space, at_us);
        }
    }

    /// Move the head of a space. Undone by `roll_back`.
    pub fn advance(&mut self, space: SpaceIndex, seq: u64, recorded_at_us: i64) {
        let (old_seq, old_at) = self.spaces.advance(space, seq, recorded_at_us);
        self.journal.push_back(Undo::Head(space, old_seq, old_at));
    }

    /// The pool and the window, recorded now if they are new. Undone by `roll_back`.
    pub fn record_window(&mut self, space: SpaceIndex, window: &address::Window) -> PoolIndex {
        let (pool, new_pool, new_window) = self.pools.record(space, window);
        if new_pool {
            self.spaces.add_pool(space, window.cidr());
            self.journal.push_back(Undo::Pool(space, window.cidr()));
        }
        if new_window {
            let taken = self.spaces.taken(space, window.family());
            let all = address::count_in_window(window, taken);
            let cooling = self.cooling_in(space, window);
            self.pools.set_counts(pool, window, all - cooling, cooling);
            self.journal.push_back(Undo::Window(pool));
        }
        pool
    }

    /// (held, cooling) of a window, recorded or not.
    #[must_use]
    pub fn counts(&self, space: SpaceIndex, window: &address::Window) -> (u128, u128) {
        if let Some(known) = self.pools.find_window(space, window) {
            return (known.held, known.cooling);
        }
        let all = address::count_in_window(window, self.spaces.taken(space, window.family()));
        let cooling = self.cooling_in(space, window);
        (all - cooling, cooling)
    }

    fn cooling_in(&self, space: SpaceIndex, window: &address::Window) -> u128 {
        let mut seen = std::collections::HashSet::new();
        let count = self
            .cooling
            .iter()
            .filter(|entry| {
                let record = self.records.get(entry.0.1);
                record.class == Class::Cooling
                    && record.space == space
                    && window.contains(record.ip())
                    && seen.insert(entry.0.1)
            })
            .count();
        count as u128
    }

    /// Free what has rested long enough. Undone by `roll_back`, like any change.
    pub fn wake(&mut self, now_us: i64) {
        while let Some(&std::cmp::Reverse((until, slot))) = self.cooling.peek() {
            if until > now_us {
                return;
            }
            self.cooling.pop();
            let old = *self.records.get(slot);
            if old.class == Class::Cooling && old.cooling_until_us() == until {
                self.replace(
                    slot,
                    Some(old),
                    Some(Record {
                        class: Class::Free,
                        ..old
                    }),
                );
                self.journal.push_back(Undo::Record(slot, Some(old)));
            }
        }
    }

    /// Every change is in the ledger.
    pub fn commit(&mut self) {
        self.journal.clear();
    }

    /// No waiting change is in the ledger: back to what was known before.
    pub fn roll_back(&mut self) {
        self.roll_back_to(0);
    }

    /// Only the first so many waiting changes are going into the ledger.
    pub fn roll_back_to(&mut self, changes: usize) {
        while self.journal.len() > changes {
            let Some(undo) = self.journal.pop_back() else {
                return;
            };
            match undo {
                Undo::Record(slot, old) => {
                    let new = *self.records.get(slot);
                    self.replace(slot, Some(new), old);
                }
                Undo::Head(space, seq, at) => {
                    self.spaces.advance(space, seq, at);
                }
                Undo::Pool(space, cidr) => {
                    self.spaces.remove_pool(space, cidr);
                    self.pools.remove_pool();
                }
                Undo::Window(pool) => self.pools.remove_window(pool),
            }
        }
    }

    fn replace(&mut self, slot: Slot, old: Option<Record>, new: Option<Record>) {
        let class_of = |record: &Option<Record>| record.map_or(Class::Free, |r| r.class);
        let (before, after) = (class_of(&old), class_of(&new));
        let record = new.or(old).expect("a change has a side");
        let taken = self.spaces.taken_mut(record.space, record.family);
        if after == Class::Free {
            taken.remove(record.number());
        } else {
            taken.insert(record.number());
        }
        if before != after {
            self.pools.count(record.space, record.ip(), before, after);
        }
        if let Some(new) = new.filter(|new| new.class == Class::Cooling) {
            self.cooling
                .push(std::cmp::Reverse((new.cooling_until_us(), slot)));
        }
        self.records.replace(slot, old.as_ref(), new);
    }
}
