//! Addresses that are kept for a name: within a time after their release, the pod of that name that
//! comes back has its address again, and nobody else has it meanwhile.

use std::collections::HashMap;

use super::{Class, Record, Slot, State};
use crate::event::encoding::Key;

/// For whom an address is kept after its release, and how long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Keep {
    /// Cluster, namespace, name and interface.
    pub name: Key,
    /// Counted from the release.
    pub seconds: u32,
}

/// Beside the records: most of them have none.
#[derive(Debug, Default)]
pub(super) struct Kept {
    by_slot: HashMap<Slot, Keep>,
    by_name: HashMap<Key, Vec<Slot>>,
}

impl Kept {
    /// Gives what was there before.
    pub(super) fn set(&mut self, slot: Slot, keep: Option<Keep>) -> Option<Keep> {
        let old = match keep {
            Some(keep) => self.by_slot.insert(slot, keep),
            None => self.by_slot.remove(&slot),
        };
        if let Some(old) = old
            && let Some(slots) = self.by_name.get_mut(&old.name)
        {
            slots.retain(|&other| other != slot);
            if slots.is_empty() {
                self.by_name.remove(&old.name);
            }
        }
        if let Some(keep) = keep {
            self.by_name.entry(keep.name).or_default().push(slot);
        }
        old
    }
}

impl State {
    /// Say for whom the address of a hold is kept once it is released. Undone by `roll_back`.
    pub fn keep(&mut self, slot: Slot, keep: Option<Keep>) {
        if keep.is_none() && !self.kept.by_slot.contains_key(&slot) {
            return;
        }
        let old = self.kept.set(slot, keep);
        self.journal.push_back(super::Undo::Keep(slot, old));
    }

    /// The same for an address that was ever used.
    pub fn keep_address(&mut self, space: super::SpaceIndex, ip: std::net::IpAddr, keep: Keep) {
        if let Some(slot) = self.records.find_address(space, ip) {
            self.keep(slot, Some(keep));
        }
    }

    /// Whether anything is kept for anybody: if not, nobody needs to look.
    #[must_use]
    pub fn keeps_any(&self) -> bool {
        !self.kept.by_slot.is_empty()
    }

    /// For whom an address is kept at this time.
    #[must_use]
    pub fn kept_for(&self, record: &Record, now_us: i64) -> Option<Key> {
        if record.class != Class::Cooling || !self.keeps_any() {
            return None;
        }
        let slot = self.records.find_address(record.space, record.ip())?;
        let keep = self.kept.by_slot.get(&slot)?;
        (until_us(record, *keep) > now_us).then_some(keep.name)
    }

    /// What is kept for a name at this time, by position.
    #[must_use]
    pub fn kept_by_name(&self, name: Key, now_us: i64) -> Vec<Record> {
        let slots = self.kept.by_name.get(&name).into_iter().flatten();
        let mut kept: Vec<Record> = slots
            .map(|&slot| *self.records.get(slot))
            .filter(|record| self.kept_for(record, now_us) == Some(name))
            .collect();
        kept.sort_unstable_by_key(|record| (record.position, record.number));
        kept
    }
}

/// In microseconds.
fn until_us(record: &Record, keep: Keep) -> i64 {
    record.at_us + i64::from(keep.seconds) * 1_000_000
}
