//! The free addresses of a window by how long nobody had them. Made for a window when it is first
//! handed out in this order, and followed from then on; others cost nothing.

use std::collections::{BTreeSet, HashMap};
use std::net::IpAddr;

use address::{RunSet, Window};

use super::{Class, Record, SpaceIndex, State};

#[derive(Debug, Default)]
pub(super) struct Idle {
    of_space: HashMap<SpaceIndex, Vec<OfWindow>>,
}

#[derive(Debug)]
struct OfWindow {
    window: Window,
    /// Whatever somebody ever had.
    used: RunSet,
    /// Position of the release, which is the order of releases, and the address.
    free: BTreeSet<(u64, u128)>,
}

impl Idle {
    pub(super) fn is_empty(&self) -> bool {
        self.of_space.is_empty()
    }

    fn find(&self, space: SpaceIndex, window: &Window) -> Option<&OfWindow> {
        let mut windows = self.of_space.get(&space)?.iter();
        windows.find(|known| known.window == *window)
    }

    /// An address changed.
    pub(super) fn shift(&mut self, old: Option<&Record>, new: Option<&Record>) {
        let Some(record) = new.or(old) else {
            return;
        };
        let windows = self.of_space.get_mut(&record.space).into_iter().flatten();
        for known in windows.filter(|known| known.has(record)) {
            old.into_iter().for_each(|old| known.remove(old));
            new.into_iter().for_each(|new| known.add(new));
        }
    }
}

impl OfWindow {
    fn new<'a>(window: &Window, records: impl Iterator<Item = &'a Record>) -> OfWindow {
        let mut made = OfWindow {
            window: window.clone(),
            used: RunSet::default(),
            free: BTreeSet::new(),
        };
        for record in records {
            if made.has(record) {
                made.add(record);
            }
        }
        made
    }

    fn has(&self, record: &Record) -> bool {
        self.window.family() == record.family && self.window.contains(record.ip())
    }

    fn add(&mut self, record: &Record) {
        self.used.insert(record.number);
        if record.class == Class::Free {
            self.free.insert((record.seq, record.number));
        }
    }

    fn remove(&mut self, record: &Record) {
        self.used.remove(record.number);
        self.free.remove(&(record.seq, record.number));
    }

    /// The lowest one that nobody ever had; if there is none, the one that was released first.
    fn longest_idle(&self, is_spoken_for: &impl Fn(IpAddr) -> bool) -> Option<IpAddr> {
        let ip = |number| address::from_number(self.window.family(), number);
        let mut from = self.window.first();
        while let Some(number) = address::lowest_free(&self.window, &self.used, from) {
            if !is_spoken_for(ip(number)) {
                return Some(ip(number));
            }
            let Some(next) = number.checked_add(1) else {
                break;
            };
            from = next;
        }
        let mut released = self.free.iter().map(|&(_, number)| ip(number));
        released.find(|&ip| !is_spoken_for(ip))
    }
}

impl State {
    /// The free address of a window that nobody had for the longest time: never used ones first,
    /// then the one that was released first.
    #[must_use]
    pub fn longest_idle(
        &self,
        space: SpaceIndex,
        window: &Window,
        is_spoken_for: &impl Fn(IpAddr) -> bool,
    ) -> Option<IpAddr> {
        if let Some(known) = self.idle.find(space, window) {
            return known.longest_idle(is_spoken_for);
        }
        // Before a look at every record: a full window needs none.
        if self.counts(space, window).sum() == window.capacity() {
            return None;
        }
        OfWindow::new(window, self.records_of(space)).longest_idle(is_spoken_for)
    }

    /// From now on the order of a window is followed. It says only what the records say, so there
    /// is nothing to be undone.
    pub fn follow_idle(&mut self, space: SpaceIndex, window: &Window) {
        if self.idle.find(space, window).is_none() {
            let made = OfWindow::new(window, self.records_of(space));
            self.idle.of_space.entry(space).or_default().push(made);
        }
    }

    fn records_of(&self, space: SpaceIndex) -> impl Iterator<Item = &Record> {
        let of_space = move |record: &&Record| record.space == space;
        self.records.iter().filter(of_space)
    }
}
