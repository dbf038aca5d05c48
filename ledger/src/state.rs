//! What the writer lane knows: every address ever used, in a compact form, at known heads.
//!
//! It is fed by the ledger's own stream and is only a hint: `append` compares the heads and the
//! guard decides. Changes are made at once and can be rolled back until the batch is committed.

mod gates;
mod idle;
mod kept;
mod order;
mod pools;
mod records;
mod resting;
mod spaces;

use std::collections::{BTreeSet, HashMap, VecDeque};

use address::Family;
use ipnet::IpNet;

pub use gates::{Gate, Gates};
pub use kept::Keep;
pub use order::{BootIndex, Order, Stamp, Tombstone};
pub use pools::{PoolIndex, Pools, Taken, WindowState};
pub use records::{Class, Record, Slot};
pub use spaces::{Space, SpaceIndex, Spaces};

use crate::event::encoding::Key;
use gates::Told;
use idle::Idle;
use kept::Kept;
use order::LastCall;
use records::Records;
use resting::{Rest, Resting};

/// See the module.
#[derive(Debug, Default)]
pub struct State {
    /// Spaces, what resolves to them, and their heads.
    pub spaces: Spaces,
    /// Pools and windows, with counts.
    pub pools: Pools,
    /// Which clusters get no address.
    pub gates: Gates,
    /// Boots, tombstones and the order of recent calls.
    pub order: Order,
    /// Epoch of the ledger.
    pub epoch: u32,
    records: Records,
    resting: Resting,
    kept: Kept,
    idle: Idle,
    /// By space and number: few, and none in most ledgers.
    reserved: BTreeSet<(SpaceIndex, Family, u128)>,
    journal: VecDeque<Undo>,
}

#[derive(Debug)]
enum Undo {
    Record(Slot, Option<Record>),
    Head(SpaceIndex, u64, i64),
    Pool(SpaceIndex, IpNet),
    Window(PoolIndex),
    Recent(Key, Option<LastCall>),
    Binding(String),
    Member(String, String),
    Gate(Box<Told>),
    Keep(Slot, Option<Keep>),
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
        self.next_to_wake(space, window).map(|(until, _)| until)
    }

    /// The same, and which address that is.
    #[must_use]
    pub fn next_to_wake(
        &self,
        space: SpaceIndex,
        window: &address::Window,
    ) -> Option<(i64, std::net::IpAddr)> {
        let (until, number) = self.resting.next_wake(space, window)?;
        Some((until, address::from_number(window.family(), number)))
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

    /// Give a hold the order token of its last call. Undone by `roll_back`.
    pub fn set_stamp(
        &mut self,
        space: SpaceIndex,
        ip: std::net::IpAddr,
        step: u32,
        stamp: Option<Stamp>,
    ) {
        let record = self.record_of(space, ip).copied();
        if let Some(record) = record.filter(|record| record.step == step) {
            self.put(Record {
                boot: stamp.map(|stamp| stamp.boot),
                boottime_ns: stamp.map_or(0, |stamp| stamp.boottime_ns),
                ..record
            });
        }
    }

    /// How many changes wait for their commit.
    #[must_use]
    pub fn pending_changes(&self) -> usize {
        self.journal.len()
    }

    /// The oldest changes are in the ledger, with these times of record by space (there were only
    /// estimates before). Later ones still wait.
    pub fn commit_first(&mut self, changes: usize, times_us: &HashMap<SpaceIndex, i64>) {
        let mut before: HashMap<Slot, Option<u64>> = HashMap::new();
        let mut gates: Vec<Told> = Vec::new();
        for undo in self.journal.drain(..changes) {
            match undo {
                Undo::Record(slot, old) => {
                    before.entry(slot).or_insert(old.map(|old| old.seq));
                }
                Undo::Gate(told) => gates.push(*told),
                _ => {}
            }
        }
        self.settle(&before, times_us);
        for (&space, &at_us) in times_us {
            self.spaces.set_time(space, at_us);
        }
        self.settle_gates(&gates, times_us);
        self.order.forget_excess();
    }

    /// Give the last committed event of each address its time of record: in the record, unless a
    /// later event waits, and in whatever a waiting change would go back to. `before` has the
    /// position that each of them had before: waking is a change, but no event.
    fn settle(&mut self, before: &HashMap<Slot, Option<u64>>, times_us: &HashMap<SpaceIndex, i64>) {
        let mut committed: HashMap<Slot, u64> = before
            .keys()
            .map(|&slot| (slot, self.records.get(slot).seq))
            .collect();
        for undo in self.journal.iter().rev() {
            if let Undo::Record(slot, Some(old)) = undo
                && let Some(seq) = committed.get_mut(slot)
            {
                *seq = old.seq;
            }
        }
        committed.retain(|slot, seq| before[slot] != Some(*seq));
        for undo in &mut self.journal {
            if let Undo::Record(slot, Some(old)) = undo
                && committed.get(slot) == Some(&old.seq)
                && let Some(&at_us) = times_us.get(&old.space)
            {
                old.at_us = at_us;
            }
        }
        for (slot, seq) in committed {
            let record = self.records.get(slot);
            if record.seq == seq
                && let Some(&at_us) = times_us.get(&record.space)
            {
                self.set_time(slot, at_us);
            }
        }
    }

    fn set_time(&mut self, slot: Slot, at_us: i64) {
        let record = self.records.get_mut(slot);
        let estimate = rest_of(slot, record);
        record.at_us = at_us;
        let exact = rest_of(slot, record);
        if self.resting.remove(estimate) {
            self.resting.insert(exact);
        }
    }

    /// Remember the last applied call of a pod's interface or an attachment. Undone by
    /// `roll_back`.
    pub fn remember(&mut self, key: Key, stamp: Stamp, at_us: i64) {
        let old = self.order.remember(key, stamp, at_us);
        self.journal.push_back(Undo::Recent(key, old));
    }

    /// Bind a cluster's name, unless it is bound already. Undone by `roll_back`.
    pub fn bind_cluster(&mut self, cluster: &str, uid: &str) {
        if self.spaces.bound_uid(cluster).is_none() {
            self.spaces.bind(cluster, uid);
            self.journal.push_back(Undo::Binding(cluster.to_owned()));
        }
    }

    /// Let a cluster's network name resolve to a space, unless it resolves already. Undone by
    /// `roll_back`.
    pub fn join_space(&mut self, cluster: &str, network_name: &str, space: SpaceIndex) {
        if self.spaces.resolve(cluster, network_name).is_none() {
            self.spaces.add_member(cluster, network_name, space);
            let undo = Undo::Member(cluster.to_owned(), network_name.to_owned());
            self.journal.push_back(undo);
        }
    }

    /// Take in what the stream of a space says about a cluster's gate; `is_first` in the cluster's
    /// default space, where it is said first. Undone by `roll_back`.
    pub fn tell_gate(&mut self, space: SpaceIndex, cluster: &str, gate: Gate, is_first: bool) {
        let told = self.gates.tell(space, cluster, gate, is_first);
        self.journal.push_back(Undo::Gate(Box::new(told)));
    }

    /// Give gates that were set by committed events their time of record, also where a waiting
    /// change would go back to one.
    fn settle_gates(&mut self, committed: &[Told], times_us: &HashMap<SpaceIndex, i64>) {
        for told in committed.iter().filter(|told| told.is_first) {
            let Some(&at_us) = times_us.get(&told.space) else {
                continue;
            };
            self.gates.set_time(&told.cluster, told.seq, at_us);
            for undo in &mut self.journal {
                if let Undo::Gate(later) = undo {
                    later.set_time(&told.cluster, told.seq, at_us);
                }
            }
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
            let taken = self.count(space, window);
            self.pools.set_counts(pool, window, taken);
            self.journal.push_back(Undo::Window(pool));
        }
        pool
    }

    /// How many addresses of a window are taken; it may be recorded or not.
    #[must_use]
    pub fn counts(&self, space: SpaceIndex, window: &address::Window) -> Taken {
        match self.pools.find_window(space, window) {
            Some(known) => known.taken,
            None => self.count(space, window),
        }
    }

    fn count(&self, space: SpaceIndex, window: &address::Window) -> Taken {
        let family = window.family();
        let all = address::count_in_window(window, self.spaces.taken(space, family));
        let cooling = self.resting.count(space, window);
        let (first, last) = (window.first(), window.last());
        let reserved = self
            .reserved
            .range((space, family, first)..=(space, family, last))
            .filter(|(_, _, number)| window.contains(address::from_number(family, *number)))
            .count() as u128;
        Taken {
            held: all - cooling - reserved,
            cooling,
            reserved,
        }
    }

    /// Free what has rested long enough. Undone by `roll_back`, like any change. Calls that nobody
    /// can overtake any more are forgotten for good.
    pub fn wake(&mut self, now_us: i64) {
        self.order.forget_before(now_us);
        while let Some((until, slot)) = self.resting.first()
            && until <= now_us
        {
            let old = *self.records.get(slot);
            let free = Record {
                class: Class::Free,
                ..old
            };
            self.replace(slot, Some(old), Some(free));
            self.journal.push_back(Undo::Record(slot, Some(old)));
        }
    }

    /// Every change is in the ledger.
    pub fn commit(&mut self) {
        self.journal.clear();
        self.order.forget_excess();
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
                Undo::Recent(key, old) => self.order.unremember(key, old),
                Undo::Binding(cluster) => self.spaces.unbind(&cluster),
                Undo::Gate(told) => self.gates.untell(*told),
                Undo::Keep(slot, old) => {
                    self.kept.set(slot, old);
                }
                Undo::Member(cluster, name) => self.spaces.remove_member(&cluster, &name),
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
        let resting = |record: &&Record| record.class == Class::Cooling;
        if let Some(old) = old.as_ref().filter(resting) {
            self.resting.remove(rest_of(slot, old));
        }
        if let Some(new) = new.as_ref().filter(resting) {
            self.resting.insert(rest_of(slot, new));
        }
        self.reserve_or_give_back(old.as_ref(), new.as_ref());
        if !self.idle.is_empty() {
            self.idle.shift(old.as_ref(), new.as_ref());
        }
        self.records.replace(slot, old.as_ref(), new);
    }

    fn reserve_or_give_back(&mut self, old: Option<&Record>, new: Option<&Record>) {
        let place = |record: &Record| (record.space, record.family, record.number);
        let is_reserved = |record: &&Record| record.class == Class::Reserved;
        if let Some(old) = old.filter(is_reserved) {
            self.reserved.remove(&place(old));
        }
        if let Some(new) = new.filter(is_reserved) {
            self.reserved.insert(place(new));
        }
    }
}

fn rest_of(slot: Slot, record: &Record) -> Rest {
    Rest {
        slot,
        space: record.space,
        family: record.family,
        number: record.number,
        until_us: record.cooling_until_us(),
    }
}
