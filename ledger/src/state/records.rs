use std::net::IpAddr;

use address::Family;
use hashbrown::HashTable;

use super::{BootIndex, PoolIndex, SpaceIndex};
use crate::event::encoding::Key;

/// Index of a record.
pub type Slot = u32;

/// What an address is now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Class {
    /// Can be handed out.
    Free,
    /// Even step.
    Held,
    /// Odd step, resting.
    Cooling,
    /// Even step, set aside by hand.
    Reserved,
}

/// One address that was ever used: about 100 bytes, whatever its holder is called.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Record {
    /// The address as a number.
    pub number: u128,
    /// Attachment of the holder, or of the last one.
    pub attachment: Key,
    /// Pod and interface of the holder, or of the last one; 0 for none.
    pub owner: Key,
    /// Order token: time since boot of the last applied call, in nanoseconds.
    pub boottime_ns: u64,
    /// Position of the event that made this step.
    pub seq: u64,
    /// Position of the allocate event of the holder, or of the last one.
    pub allocated_seq: u64,
    /// Time of record of the event that made this step, in microseconds.
    pub at_us: i64,
    /// Fingerprint of what was asked for.
    pub content: u64,
    /// Order token: boot of the last applied call; `None` without a token.
    pub boot: Option<BootIndex>,
    /// Space.
    pub space: SpaceIndex,
    /// Pool.
    pub pool: PoolIndex,
    /// Position in the life of the address.
    pub step: u32,
    /// How long it rests after its release, in seconds.
    pub cooldown_seconds: u32,
    /// Which range of the request.
    pub position: u16,
    /// Family of the address.
    pub family: Family,
    /// What the address is now.
    pub class: Class,
}

impl Record {
    /// The address.
    #[must_use]
    pub fn ip(&self) -> IpAddr {
        address::from_number(self.family, self.number)
    }

    /// The address as a number.
    #[must_use]
    pub fn number(&self) -> u128 {
        self.number
    }

    /// Whether an attachment holds it.
    #[must_use]
    pub fn is_held(&self) -> bool {
        self.class == Class::Held
    }

    /// Order of the last applied call.
    #[must_use]
    pub fn stamp(&self) -> Option<super::Stamp> {
        self.boot.map(|boot| super::Stamp {
            boot,
            boottime_ns: self.boottime_ns,
        })
    }

    /// When it has rested, in microseconds; for odd steps.
    #[must_use]
    pub fn cooling_until_us(&self) -> i64 {
        self.at_us + i64::from(self.cooldown_seconds) * 1_000_000
    }
}

/// Records never move; growing adds a chunk instead of copying all.
const CHUNK: usize = 8192;

/// A slab of records with three indexes of four bytes per entry.
#[derive(Debug, Default)]
pub(super) struct Records {
    chunks: Vec<Vec<Record>>,
    by_address: HashTable<Slot>,
    by_attachment: HashTable<Slot>,
    by_owner: HashTable<Slot>,
}

impl Records {
    pub(super) fn len(&self) -> usize {
        self.chunks
            .last()
            .map_or(0, |last| (self.chunks.len() - 1) * CHUNK + last.len())
    }

    pub(super) fn next_slot(&self) -> Slot {
        Slot::try_from(self.len()).expect("fewer than 2^32 addresses were ever used")
    }

    pub(super) fn get(&self, slot: Slot) -> &Record {
        get(&self.chunks, slot)
    }

    /// For fields that no index is made of.
    pub(super) fn get_mut(&mut self, slot: Slot) -> &mut Record {
        &mut self.chunks[slot as usize / CHUNK][slot as usize % CHUNK]
    }

    pub(super) fn find_address(&self, space: SpaceIndex, ip: IpAddr) -> Option<Slot> {
        let (family, number) = (address::family(ip), address::to_number(ip));
        self.by_address
            .find(hash_address(space, number), |&slot| {
                let record = self.get(slot);
                record.number == number && record.space == space && record.family == family
            })
            .copied()
    }

    /// Every address that was ever used.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Record> {
        self.chunks.iter().flatten()
    }

    pub(super) fn held_by_attachment(&self, key: Key) -> Vec<Record> {
        self.matching(&self.by_attachment, key, |record| record.attachment == key)
    }

    pub(super) fn of_owner(&self, key: Key) -> Vec<Record> {
        self.matching(&self.by_owner, key, |record| record.owner == key)
    }

    fn matching(
        &self,
        table: &HashTable<Slot>,
        key: Key,
        eq: impl Fn(&Record) -> bool,
    ) -> Vec<Record> {
        let mut found: Vec<Record> = table
            .iter_hash(hash_key(key))
            .map(|&s| *self.get(s))
            .filter(|r| eq(r))
            .collect();
        found.sort_unstable_by_key(|record| (record.position, record.number));
        found
    }

    /// Write or take back one record and keep the indexes in step.
    pub(super) fn replace(&mut self, slot: Slot, old: Option<&Record>, new: Option<Record>) {
        if let Some(old) = old {
            if old.is_held() {
                remove(&mut self.by_attachment, hash_key(old.attachment), slot);
            }
            if old.class != Class::Free && old.owner != 0 {
                remove(&mut self.by_owner, hash_key(old.owner), slot);
            }
        }
        match new {
            Some(record) => self.write(slot, old.is_none(), record),
            None => self.take_back(slot),
        }
    }

    fn write(&mut self, slot: Slot, is_new: bool, record: Record) {
        if is_new {
            if self.chunks.last().is_none_or(|last| last.len() == CHUNK) {
                self.chunks.push(Vec::with_capacity(CHUNK));
            }
            self.chunks
                .last_mut()
                .expect("a chunk was just made sure of")
                .push(record);
        } else {
            self.chunks[slot as usize / CHUNK][slot as usize % CHUNK] = record;
        }
        let Records {
            chunks,
            by_address,
            by_attachment,
            by_owner,
        } = self;
        if is_new {
            by_address.insert_unique(hash_address(record.space, record.number), slot, |&s| {
                let r = get(chunks, s);
                hash_address(r.space, r.number)
            });
        }
        if record.is_held() {
            by_attachment.insert_unique(hash_key(record.attachment), slot, |&s| {
                hash_key(get(chunks, s).attachment)
            });
        }
        if record.class != Class::Free && record.owner != 0 {
            by_owner.insert_unique(hash_key(record.owner), slot, |&s| {
                hash_key(get(chunks, s).owner)
            });
        }
    }

    /// Only the newest record can be taken back: a roll-back goes in reverse order.
    fn take_back(&mut self, slot: Slot) {
        debug_assert_eq!(
            slot + 1,
            self.next_slot(),
            "a roll-back goes in reverse order"
        );
        let record = *self.get(slot);
        remove(
            &mut self.by_address,
            hash_address(record.space, record.number),
            slot,
        );
        if let Some(last) = self.chunks.last_mut() {
            last.pop();
            if last.is_empty() {
                self.chunks.pop();
            }
        }
    }
}

fn get(chunks: &[Vec<Record>], slot: Slot) -> &Record {
    &chunks[slot as usize / CHUNK][slot as usize % CHUNK]
}

fn remove(table: &mut HashTable<Slot>, hash: u64, slot: Slot) {
    if let Ok(entry) = table.find_entry(hash, |&s| s == slot) {
        entry.remove();
    }
}

/// Keys are SHA-256 prefixes: any 64 bits of them are as good as a hash.
#[expect(clippy::cast_possible_truncation, reason = "the low half is wanted")]
fn hash_key(key: Key) -> u64 {
    key as u64
}

/// The finaliser of splitmix64 over address and space.
#[expect(clippy::cast_possible_truncation, reason = "both halves are mixed in")]
fn hash_address(space: SpaceIndex, number: u128) -> u64 {
    let mut x = (number as u64)
        ^ ((number >> 64) as u64).rotate_left(29)
        ^ u64::from(space.0).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}
