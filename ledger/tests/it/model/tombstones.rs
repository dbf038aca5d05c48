//! Who knows which DEL found nothing: the database knows all of them, a replica its own, and the
//! rest when the database refuses what it would append.

use super::script::{Interface, Token};

/// How long a tombstone stands, in microseconds.
const BURIED_US: i64 = 600_000_000;

#[derive(Clone, Copy)]
struct Tombstone {
    interface: Interface,
    token: Option<Token>,
    until: i64,
}

#[derive(Clone, Default)]
pub(crate) struct Tombstones {
    stored: Vec<Tombstone>,
    known: [Vec<Tombstone>; 2],
    /// Allocated at the other replica, and not followed yet.
    allocated: [Vec<Interface>; 2],
    here: usize,
}

fn find(tombstones: &[Tombstone], interface: Interface, now: i64) -> Option<&Tombstone> {
    let mut tombstones = tombstones.iter();
    tombstones.find(|tombstone| tombstone.interface == interface && tombstone.until > now)
}

fn remove(tombstones: &mut Vec<Tombstone>, interface: Interface) {
    tombstones.retain(|tombstone| tombstone.interface != interface);
}

impl Tombstones {
    pub(crate) fn bury(&mut self, interface: Interface, token: Option<Token>, now: i64) {
        for tombstones in [&mut self.stored, &mut self.known[self.here]] {
            remove(tombstones, interface);
            tombstones.push(Tombstone {
                interface,
                token,
                until: now + BURIED_US,
            });
        }
    }

    /// The token of the DEL, if this replica knows of one that stands.
    pub(crate) fn known(&self, interface: Interface, now: i64) -> Option<Option<Token>> {
        find(&self.known[self.here], interface, now).map(|tombstone| tombstone.token)
    }

    /// The database is asked when something is appended: whether that tells this replica of a
    /// tombstone that it did not know. Then it knows all.
    pub(crate) fn learn(&mut self, interface: Interface, now: i64) -> bool {
        let known = &self.known[self.here];
        let is_known = known.iter().any(|known| known.interface == interface);
        let is_new = !is_known && find(&self.stored, interface, now).is_some();
        if is_new {
            self.restart();
        }
        is_new
    }

    /// An allocate came after the DEL.
    pub(crate) fn unbury(&mut self, interface: Interface) {
        remove(&mut self.stored, interface);
        remove(&mut self.known[self.here], interface);
        self.allocated[1 - self.here].push(interface);
    }

    pub(crate) fn restart(&mut self) {
        self.known[self.here].clone_from(&self.stored);
    }

    /// Go on at the other replica, which follows the ledger first.
    pub(crate) fn switch(&mut self) {
        self.here = 1 - self.here;
        for interface in std::mem::take(&mut self.allocated[self.here]) {
            remove(&mut self.known[self.here], interface);
        }
    }
}
