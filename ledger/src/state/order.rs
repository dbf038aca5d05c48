use std::collections::{HashMap, VecDeque};
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
    /// The boot, or the one after all known boots if it was never seen.
    pub boot: BootIndex,
    /// Time since boot, in nanoseconds.
    pub boottime_ns: u64,
}

/// An attachment whose DEL found nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tombstone {
    /// Order of the DEL, if it had one.
    pub stamp: Option<Stamp>,
    /// Until when it counts, in microseconds.
    pub expires_us: i64,
}

/// How long a release is remembered against a delayed ADD that it overtook, in microseconds: far
/// beyond the time that any caller waits for an answer.
const RECENT_US: i64 = 300_000_000;
/// And how many releases at most, so that a storm of them cannot fill the memory.
const RECENT_MAX: usize = 131_072;

#[derive(Debug)]
struct Boot {
    cluster: String,
    node: String,
    index: BootIndex,
    persisted: bool,
}

impl Boot {
    fn is_on(&self, cluster: &str, node: &str) -> bool {
        self.cluster == cluster && self.node == node
    }
}

/// Which call came last, for pods and attachments that may hold nothing any more.
#[derive(Debug, Default)]
pub struct Order {
    boots: HashMap<Uuid, Vec<Boot>>,
    boot_count: u32,
    recent: HashMap<Key, Stamp>,
    recent_queue: VecDeque<(i64, Key, Stamp)>,
    tombstones: HashMap<Key, Tombstone>,
}

impl Order {
    /// Learn of a boot, in the order of first sight.
    pub fn add_boot(
        &mut self,
        cluster: &str,
        node: &str,
        boot_id: Uuid,
        persisted: bool,
    ) -> BootIndex {
        let next = self.next_boot();
        let boots = self.boots.entry(boot_id).or_default();
        if let Some(known) = boots.iter_mut().find(|boot| boot.is_on(cluster, node)) {
            known.persisted |= persisted;
            return known.index;
        }
        boots.push(Boot {
            cluster: cluster.to_owned(),
            node: node.to_owned(),
            index: next,
            persisted,
        });
        self.boot_count += 1;
        next
    }

    /// Whether the database knows this boot.
    #[must_use]
    pub fn is_boot_persisted(&self, cluster: &str, node: &str, boot_id: Uuid) -> bool {
        self.find_boot(cluster, node, boot_id)
            .is_some_and(|boot| boot.persisted)
    }

    /// A token as something that can be compared.
    #[must_use]
    pub fn stamp(&self, cluster: &str, node: &str, token: &OrderToken) -> Stamp {
        let boot = self
            .find_boot(cluster, node, token.boot_id)
            .map_or_else(|| self.next_boot(), |boot| boot.index);
        Stamp {
            boot,
            boottime_ns: token.boottime_ns,
        }
    }

    fn find_boot(&self, cluster: &str, node: &str, boot_id: Uuid) -> Option<&Boot> {
        self.boots
            .get(&boot_id)?
            .iter()
            .find(|boot| boot.is_on(cluster, node))
    }

    fn next_boot(&self) -> BootIndex {
        let next = self.boot_count.checked_add(1).and_then(NonZeroU32::new);
        BootIndex(next.expect("fewer than 2^32 boots were seen"))
    }

    /// Remember the last applied call of a pod's interface or an attachment.
    pub fn remember(&mut self, key: Key, stamp: Stamp, now_us: i64) {
        let last = self.recent.entry(key).or_insert(stamp);
        *last = stamp.max(*last);
        self.recent_queue.push_back((now_us, key, stamp));
        while self.recent_queue.len() > RECENT_MAX
            || self
                .recent_queue
                .front()
                .is_some_and(|(at, ..)| now_us - at > RECENT_US)
        {
            let Some((_, key, stamp)) = self.recent_queue.pop_front() else {
                return;
            };
            if self.recent.get(&key) == Some(&stamp) {
                self.recent.remove(&key);
            }
        }
    }

    /// The last remembered call for a key.
    #[must_use]
    pub fn last(&self, key: Key) -> Option<Stamp> {
        self.recent.get(&key).copied()
    }

    /// How far back `remember` reaches, in microseconds.
    #[must_use]
    pub fn horizon_us() -> i64 {
        RECENT_US
    }

    /// Replace what is known of tombstones by what the database has.
    pub fn set_tombstones(&mut self, all: impl IntoIterator<Item = (Key, Tombstone)>) {
        self.tombstones = all.into_iter().collect();
    }

    /// Learn of one tombstone.
    pub fn bury(&mut self, key: Key, tombstone: Tombstone) {
        self.tombstones.insert(key, tombstone);
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
        self.tombstones.remove(&key);
    }
}
