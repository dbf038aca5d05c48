//! The windows of one pool: found by what they are, and by an address that they have.

use std::hash::{BuildHasher, RandomState};
use std::net::IpAddr;

use address::Window;
use hashbrown::HashTable;

use super::{Taken, WindowState};
use crate::event::WindowRecord;

/// In order of first use, with two indexes.
#[derive(Debug, Default)]
pub(super) struct Windows {
    all: Vec<WindowState>,
    by_window: HashTable<usize>,
    hasher: RandomState,
    /// By first address; with each the greatest last address up to there, which says when a look
    /// to the left is in vain.
    by_first: Vec<Span>,
}

#[derive(Debug, Clone, Copy)]
struct Span {
    first: u128,
    last: u128,
    greatest_last: u128,
    index: usize,
}

impl Windows {
    pub(super) fn iter(&self) -> impl Iterator<Item = &WindowState> {
        self.all.iter()
    }

    pub(super) fn find(&self, window: &Window) -> Option<&WindowState> {
        let index = self.index_of(window)?;
        Some(&self.all[index])
    }

    pub(super) fn find_mut(&mut self, window: &Window) -> Option<&mut WindowState> {
        let index = self.index_of(window)?;
        Some(&mut self.all[index])
    }

    fn index_of(&self, window: &Window) -> Option<usize> {
        let hash = self.hasher.hash_one(window);
        let is_it = |&index: &usize| self.all[index].window == *window;
        self.by_window.find(hash, is_it).copied()
    }

    pub(super) fn set_persisted(&mut self, window: &Window) {
        if let Some(known) = self.find_mut(window) {
            known.persisted = true;
        }
    }

    pub(super) fn set_all_persisted(&mut self) {
        for known in &mut self.all {
            known.persisted = true;
        }
    }

    /// Add a window, unless it is known; tells whether it was new.
    pub(super) fn add(&mut self, window: &Window) -> bool {
        if self.index_of(window).is_some() {
            return false;
        }
        let index = self.all.len();
        self.all.push(WindowState {
            window: window.clone(),
            record: WindowRecord::new(window, false),
            taken: Taken::default(),
            persisted: false,
        });
        let Windows {
            all,
            by_window,
            hasher,
            ..
        } = self;
        by_window.insert_unique(hasher.hash_one(window), index, |&index| {
            hasher.hash_one(&all[index].window)
        });
        let (first, last) = (window.first(), window.last());
        let place = self.by_first.partition_point(|span| span.first <= first);
        let span = Span {
            first,
            last,
            greatest_last: last,
            index,
        };
        self.by_first.insert(place, span);
        self.mend_from(place);
        true
    }

    /// Take the newest window back.
    pub(super) fn remove_newest(&mut self) {
        let Some(removed) = self.all.pop() else {
            return;
        };
        let index = self.all.len();
        let hash = self.hasher.hash_one(&removed.window);
        if let Ok(entry) = self.by_window.find_entry(hash, |&known| known == index) {
            entry.remove();
        }
        let place = self.by_first.iter().position(|span| span.index == index);
        if let Some(place) = place {
            self.by_first.remove(place);
            self.mend_from(place);
        }
    }

    /// Windows come rarely, changes of addresses all the time: this may take its time.
    fn mend_from(&mut self, place: usize) {
        let before = place.checked_sub(1);
        let mut greatest = before.map_or(0, |before| self.by_first[before].greatest_last);
        for span in &mut self.by_first[place..] {
            greatest = greatest.max(span.last);
            span.greatest_last = greatest;
        }
    }

    /// Every window that hands this address out.
    pub(super) fn for_each_with(&mut self, ip: IpAddr, mut act: impl FnMut(&mut WindowState)) {
        let Windows { all, by_first, .. } = self;
        spans_around(by_first, address::to_number(ip), |index| {
            if all[index].window.contains(ip) {
                act(&mut all[index]);
            }
        });
    }
}

/// From the last window that begins at or before the number, leftwards while one may reach it.
/// Every call of `look` is a step.
fn spans_around(by_first: &[Span], number: u128, mut look: impl FnMut(usize)) {
    let end = by_first.partition_point(|span| span.first <= number);
    for span in by_first[..end].iter().rev() {
        if span.greatest_last < number {
            return;
        }
        look(span.index);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window(first: u32, last: u32) -> Window {
        let ip = |number: u32| IpAddr::from(number.to_be_bytes());
        let cidr = "10.0.0.0/8".parse().expect("a CIDR");
        Window::new(cidr, ip(first), ip(last), Vec::new()).expect("a window")
    }

    /// 10.0.0.0 as a number.
    const BASE: u32 = 10 << 24;

    fn steps(windows: &Windows, number: u32) -> usize {
        let mut steps = 0;
        spans_around(&windows.by_first, number.into(), |_| steps += 1);
        steps
    }

    /// One definition per node, each with a part of the same CIDR, and one for all of it.
    #[test]
    fn an_address_finds_its_windows_among_thousands_in_a_few_steps() {
        let mut windows = Windows::default();
        for node in 0..5_000 {
            let first = BASE + 256 * node + 1;
            assert!(windows.add(&window(first, first + 253)));
            assert!(!windows.add(&window(first, first + 253)));
        }
        for node in [0, 1, 2_500, 4_999] {
            assert_eq!(steps(&windows, BASE + 256 * node + 100), 1);
            assert!(steps(&windows, BASE + 256 * node) <= 1);
        }
        // A wide one is met by every address behind it, and costs no more than itself.
        let wide = window(BASE + 2_000 * 256 + 1, BASE + 3_000 * 256);
        windows.add(&wide);
        assert_eq!(steps(&windows, BASE + 100), 1);
        assert_eq!(windows.find(&wide).map(|known| &known.window), Some(&wide));
        windows.remove_newest();
        assert!(windows.find(&wide).is_none());
        assert_eq!(steps(&windows, BASE + 256 * 2_500 + 100), 1);
    }

    #[test]
    fn every_window_with_the_address_is_found_and_no_other() {
        let all = [(1, 20), (5, 9), (9, 9), (10, 12), (12, 40), (30, 31)];
        let mut windows = Windows::default();
        for (first, last) in all {
            windows.add(&window(BASE + first, BASE + last));
        }
        for number in 1..=45 {
            let ip = IpAddr::from((BASE + number).to_be_bytes());
            windows.for_each_with(ip, |known| known.taken.held += 1);
        }
        let held: Vec<u128> = windows.iter().map(|known| known.taken.held).collect();
        let sizes: Vec<u128> = all
            .iter()
            .map(|(first, last)| u128::from(last - first + 1))
            .collect();
        assert_eq!(held, sizes);
    }
}
