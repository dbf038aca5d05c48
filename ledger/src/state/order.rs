use std::collections::{BTreeSet, HashMap, VecDeque};
use std::num::NonZeroU32;

use uuid::Uuid;

use crate::event::encoding::Key;
use crate::model::OrderToken;

/// Index of a boot, in the order boots were first seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BootIndex(pub NonZeroU32);

/// An order token that can be compared: the boot first seen later is the later.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Stamp {
    /// The boot; in a dry run the one after all known boots if it was never seen.
    pub boot: BootIndex,
    /// Time since boot, in nanoseconds.
    pub boottime_ns: u64,
}

/// An attachment whose DEL found nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tombstone {
    /// Order of the DEL, if it had one.
    pub token: Option<OrderToken>,
    /// Until when it counts, in microseconds.
    pub expires_us: i64,
}

/// How long a release is remembered against a delayed ADD that it overtook, in microseconds: far
/// beyond the time that any caller waits for an answer.
const RECENT_US: i64 = 300_000_000;
/// And how many releases at most, so that a storm of them cannot fill the memory.
const RECENT_MAX: usize = 131_072;

/// The last applied call, and when it was applied, in microseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LastCall {
    stamp: Stamp,
    at_us: i64,
}

/// Which call came last, for pods and attachments that may hold nothing any more.
#[derive(Debug, Default)]
pub struct Order {
    /// By boot id alone: the kernel draws it anew at every start, and a caller that does not know
    /// its node's name is still a caller of that boot.
    boots: HashMap<Uuid, BootIndex>,
    /// The last boot that was read of the database, and its number there.
    last_recorded: Option<(i32, Uuid)>,
    recent: HashMap<Key, LastCall>,
    /// Every `remember`, by its time: which of them may be forgotten.
    recent_queue: VecDeque<(i64, Key)>,
    tombstones: HashMap<Key, Tombstone>,
    /// The same by their ends, in microseconds.
    ends: BTreeSet<(i64, Key)>,
}

impl Order {
    /// Learn of a boot that the database has under this number, in their order there. For good: a
    /// boot that was seen is not unseen.
    pub fn add_boot(&mut self, number: i32, boot_id: Uuid) {
        let next = self.next_boot();
        self.boots.entry(boot_id).or_insert(next);
        self.last_recorded = Some((number, boot_id));
    }

    /// The last boot that was read of the database, and its number there.
    #[must_use]
    pub fn last_recorded_boot(&self) -> Option<(i32, Uuid)> {
        self.last_recorded
    }

    /// Whether memory knows this boot.
    #[must_use]
    pub fn is_boot_known(&self, boot_id: Uuid) -> bool {
        self.boots.contains_key(&boot_id)
    }

    /// The token of an applied call. Its boot was recorded before it was decided; where that is not
    /// so (events that are played without the table of boots), it is first seen now.
    pub fn see(&mut self, token: &OrderToken) -> Stamp {
        let next = self.next_boot();
        Stamp {
            boot: *self.boots.entry(token.boot_id).or_insert(next),
            boottime_ns: token.boottime_ns,
        }
    }

    /// A token as something that can be compared.
    #[must_use]
    pub fn stamp(&self, token: &OrderToken) -> Stamp {
        let known = self.boots.get(&token.boot_id).copied();
        Stamp {
            boot: known.unwrap_or_else(|| self.next_boot()),
            boottime_ns: token.boottime_ns,
        }
    }

    /// Whether a call is provably later than another: both boots were seen, or it is the same one.
    #[must_use]
    pub fn is_later(&self, token: &OrderToken, than: &OrderToken) -> bool {
        let same = token.boot_id == than.boot_id;
        let both = [token, than].map(|token| self.is_boot_known(token.boot_id));
        match same {
            true => token.boottime_ns > than.boottime_ns,
            false => both == [true, true] && self.stamp(token) > self.stamp(than),
        }
    }

    fn next_boot(&self) -> BootIndex {
        let next = u32::try_from(self.boots.len() + 1).ok();
        let next = next.and_then(NonZeroU32::new);
        BootIndex(next.expect("fewer than 2^32 boots were seen"))
    }

    /// Remember the last applied call of a pod's interface or an attachment; gives back what was
    /// remembered before.
    pub(super) fn remember(&mut self, key: Key, stamp: Stamp, at_us: i64) -> Option<LastCall> {
        let old = self.recent.get(&key).copied();
        let stamp = old.map_or(stamp, |old| old.stamp.max(stamp));
        self.recent.insert(key, LastCall { stamp, at_us });
        self.recent_queue.push_back((at_us, key));
        old
    }

    /// Take the newest `remember` back. What was before it may have been forgotten meanwhile.
    pub(super) fn unremember(&mut self, key: Key, old: Option<LastCall>) {
        self.recent_queue.pop_back();
        let first = self.recent_queue.front().map_or(i64::MAX, |&(at, _)| at);
        match old.filter(|old| old.at_us >= first) {
            Some(old) => self.recent.insert(key, old),
            None => self.recent.remove(&key),
        };
    }

    /// Forget what no caller can wait for any more.
    pub(super) fn forget_before(&mut self, now_us: i64) {
        while let Some(&(at_us, _)) = self.recent_queue.front()
            && now_us - at_us > RECENT_US
        {
            self.forget_first();
        }
        while let Some(&(expires_us, key)) = self.ends.first()
            && expires_us <= now_us
        {
            self.ends.pop_first();
            self.tombstones.remove(&key);
        }
    }

    /// Forget the oldest beyond the bound.
    pub(super) fn forget_excess(&mut self) {
        while self.recent_queue.len() > RECENT_MAX {
            self.forget_first();
        }
    }

    fn forget_first(&mut self) {
        if let Some((at_us, key)) = self.recent_queue.pop_front()
            && self
                .recent
                .get(&key)
                .is_some_and(|last| last.at_us == at_us)
        {
            self.recent.remove(&key);
        }
    }

    /// The last remembered call for a key.
    #[must_use]
    pub fn last(&self, key: Key) -> Option<Stamp> {
        self.recent.get(&key).map(|last| last.stamp)
    }

    /// How far back `remember` reaches, in microseconds.
    #[must_use]
    pub fn horizon_us() -> i64 {
        RECENT_US
    }

    /// Replace what is known of tombstones by what the database has.
    pub fn set_tombstones(&mut self, all: impl IntoIterator<Item = (Key, Tombstone)>) {
        self.tombstones = all.into_iter().collect();
        let ends = self.tombstones.iter();
        self.ends = ends.map(|(&key, of)| (of.expires_us, key)).collect();
    }

    /// Learn of one tombstone.
    pub fn bury(&mut self, key: Key, tombstone: Tombstone) {
        self.unbury(key);
        self.tombstones.insert(key, tombstone);
        self.ends.insert((tombstone.expires_us, key));
    }

    /// How many tombstones memory has.
    #[must_use]
    pub fn tombstones(&self) -> usize {
        self.tombstones.len()
    }

    /// The tombstone of an attachment, if it still counts.
    #[must_use]
    pub fn tombstone(&self, key: Key, now_us: i64) -> Option<Tombstone> {
        self.tombstones
            .get(&key)
            .copied()
            .filter(|tombstone| tombstone.expires_us > now_us)
    }

    /// Whether an allocate has to take a tombstone away.
    #[must_use]
    pub fn is_known_tombstone(&self, key: Key) -> bool {
        self.tombstones.contains_key(&key)
    }

    /// An allocate that came after the DEL took the tombstone away.
    pub fn unbury(&mut self, key: Key) {
        if let Some(tombstone) = self.tombstones.remove(&key) {
            self.ends.remove(&(tombstone.expires_us, key));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn until(expires_us: i64) -> Tombstone {
        Tombstone {
            token: None,
            expires_us,
        }
    }

    fn at(boot: u128, boottime_ns: u64) -> OrderToken {
        OrderToken {
            boot_id: Uuid::from_u128(boot),
            boottime_ns,
        }
    }

    #[test]
    fn a_call_is_later_only_if_that_can_be_proved() {
        let mut order = Order::default();
        for (number, boot) in [(3, 7), (5, 2)] {
            order.add_boot(number, Uuid::from_u128(boot));
        }
        // Read again after a reconnection: each keeps its place.
        order.add_boot(3, Uuid::from_u128(7));
        assert!(order.is_later(&at(2, 1), &at(7, 9)));
        assert!(!order.is_later(&at(7, 9), &at(2, 1)));
        assert!(order.is_later(&at(2, 2), &at(2, 1)));
        assert!(!order.is_later(&at(2, 1), &at(2, 1)));
        // Of a boot that nobody recorded nothing is known but its own order.
        assert!(order.is_later(&at(9, 2), &at(9, 1)));
        assert!(!order.is_later(&at(9, 9), &at(7, 1)));
        assert!(!order.is_later(&at(7, 1), &at(9, 9)));
    }

    #[test]
    fn tombstones_that_expired_leave_the_memory() {
        let mut order = Order::default();
        for number in 0..100_000 {
            let now_us = i64::try_from(number).expect("small") * 1_000;
            order.forget_before(now_us);
            order.bury(number, until(now_us + 600_000));
            assert!(order.tombstones() <= 600, "{}", order.tombstones());
        }
        order.forget_before(i64::MAX);
        assert_eq!((order.tombstones(), order.ends.len()), (0, 0));
    }

    #[test]
    fn a_tombstone_that_was_renewed_stays() {
        let mut order = Order::default();
        order.bury(1, until(100));
        order.bury(1, until(200));
        order.bury(2, until(100));
        order.unbury(2);
        order.bury(3, until(300));
        order.forget_before(150);
        assert_eq!(order.tombstone(1, 150), Some(until(200)));
        order.set_tombstones([(4, until(400))]);
        order.forget_before(350);
        assert_eq!(order.tombstone(4, 350), Some(until(400)));
        assert_eq!((order.tombstones(), order.ends.len()), (1, 1));
    }
}
