mod windows;

use std::collections::{BTreeSet, HashMap};
use std::net::IpAddr;

use address::Window;
use ipnet::IpNet;

use super::{Class, SpaceIndex};
use crate::event::WindowRecord;
use windows::Windows;

/// Index of a pool in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct PoolIndex(pub u32);

/// A recorded window and its counts.
#[derive(Debug)]
pub struct WindowState {
    /// The window.
    pub window: Window,
    /// How it is written into events.
    pub record: WindowRecord,
    /// How many of its addresses cannot be handed out.
    pub taken: Taken,
    /// The database knows it.
    pub persisted: bool,
}

/// How many addresses cannot be handed out, and why.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Taken {
    /// Held by an attachment.
    pub held: u128,
    /// Resting after their release.
    pub cooling: u128,
    /// Set aside by hand.
    pub reserved: u128,
}

impl Taken {
    /// All of them.
    #[must_use]
    pub fn sum(self) -> u128 {
        self.held + self.cooling + self.reserved
    }

    fn of(&mut self, class: Class) -> Option<&mut u128> {
        match class {
            Class::Free => None,
            Class::Held => Some(&mut self.held),
            Class::Cooling => Some(&mut self.cooling),
            Class::Reserved => Some(&mut self.reserved),
        }
    }
}

#[derive(Debug)]
struct Pool {
    space: SpaceIndex,
    cidr: IpNet,
    windows: Windows,
}

/// Pools in order of first use. Counts are kept per window, so neither a decision nor a metric
/// has to count addresses.
#[derive(Debug, Default)]
pub struct Pools {
    all: Vec<Pool>,
    by_cidr: HashMap<(SpaceIndex, IpNet), PoolIndex>,
    /// Prefix lengths in use, per space and family: how an address finds its pools.
    lengths: HashMap<(SpaceIndex, bool), BTreeSet<u8>>,
}

impl Pools {
    /// The CIDR of a pool.
    #[must_use]
    pub fn cidr(&self, pool: PoolIndex) -> IpNet {
        self.all[pool.0 as usize].cidr
    }

    /// The pool of a CIDR.
    #[must_use]
    pub fn find(&self, space: SpaceIndex, cidr: IpNet) -> Option<PoolIndex> {
        self.by_cidr.get(&(space, cidr)).copied()
    }

    /// All recorded windows with their space, in order of first use.
    pub fn windows(&self) -> impl Iterator<Item = (SpaceIndex, &WindowState)> {
        self.all
            .iter()
            .flat_map(|pool| pool.windows.iter().map(|window| (pool.space, window)))
    }

    /// A recorded window.
    #[must_use]
    pub fn find_window(&self, space: SpaceIndex, window: &Window) -> Option<&WindowState> {
        let pool = self.by_cidr.get(&(space, window.cidr()))?;
        self.all[pool.0 as usize].windows.find(window)
    }

    /// Say that the database knows every window: true whenever no change waits.
    pub fn set_all_persisted(&mut self) {
        for pool in &mut self.all {
            pool.windows.set_all_persisted();
        }
    }

    /// Say that the database knows this window.
    pub fn set_persisted(&mut self, space: SpaceIndex, window: &Window) {
        if let Some(pool) = self.by_cidr.get(&(space, window.cidr())) {
            self.all[pool.0 as usize].windows.set_persisted(window);
        }
    }

    /// The pool of a window; tells whether the pool and the window are new.
    pub(super) fn record(&mut self, space: SpaceIndex, window: &Window) -> (PoolIndex, bool, bool) {
        let cidr = window.cidr();
        let next = PoolIndex(u32::try_from(self.all.len()).expect("fewer than 2^32 pools exist"));
        let pool = *self.by_cidr.entry((space, cidr)).or_insert(next);
        let new_pool = pool == next;
        if new_pool {
            self.all.push(Pool {
                space,
                cidr,
                windows: Windows::default(),
            });
            self.lengths
                .entry((space, cidr.addr().is_ipv4()))
                .or_default()
                .insert(cidr.prefix_len());
        }
        let new_window = self.all[pool.0 as usize].windows.add(window);
        (pool, new_pool, new_window)
    }

    pub(super) fn set_counts(&mut self, pool: PoolIndex, window: &Window, taken: Taken) {
        if let Some(known) = self.all[pool.0 as usize].windows.find_mut(window) {
            known.taken = taken;
        }
    }

    /// Take the newest pool back.
    pub(super) fn remove_pool(&mut self) {
        if let Some(pool) = self.all.pop() {
            self.by_cidr.remove(&(pool.space, pool.cidr));
        }
    }

    /// Take the newest window of a pool back.
    pub(super) fn remove_window(&mut self, pool: PoolIndex) {
        self.all[pool.0 as usize].windows.remove_newest();
    }

    /// An address went from one class to another: adjust every window that has it.
    pub(super) fn count(&mut self, space: SpaceIndex, ip: IpAddr, before: Class, after: Class) {
        let Some(lengths) = self.lengths.get(&(space, ip.is_ipv4())) else {
            return;
        };
        for &length in lengths {
            let net = IpNet::new(ip, length)
                .expect("the length is one of this family")
                .trunc();
            let Some(pool) = self.by_cidr.get(&(space, net)) else {
                continue;
            };
            let windows = &mut self.all[pool.0 as usize].windows;
            windows.for_each_with(ip, |known| known.shift(before, after));
        }
    }
}

impl WindowState {
    fn shift(&mut self, before: Class, after: Class) {
        if let Some(count) = self.taken.of(before) {
            *count -= 1;
        }
        if let Some(count) = self.taken.of(after) {
            *count += 1;
        }
    }
}
