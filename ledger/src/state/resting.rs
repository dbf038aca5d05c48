//! Addresses that rest after their release, and when they have rested.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use address::{Family, Window};

use super::{Slot, SpaceIndex};

/// Of all spaces by time, and of each space by time and by number.
#[derive(Debug, Default)]
pub(super) struct Resting {
    by_time: BTreeSet<(i64, Slot)>,
    of_space: HashMap<SpaceIndex, OfSpace>,
}

#[derive(Debug, Default)]
struct OfSpace {
    /// Microseconds, and the address.
    by_time: BTreeSet<(i64, Family, u128)>,
    by_number: BTreeMap<(Family, u128), i64>,
}

/// One address that rests.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rest {
    pub(super) slot: Slot,
    pub(super) space: SpaceIndex,
    pub(super) family: Family,
    pub(super) number: u128,
    /// Microseconds.
    pub(super) until_us: i64,
}

impl Resting {
    pub(super) fn insert(&mut self, rest: Rest) {
        self.by_time.insert((rest.until_us, rest.slot));
        let space = self.of_space.entry(rest.space).or_default();
        space
            .by_time
            .insert((rest.until_us, rest.family, rest.number));
        space
            .by_number
            .insert((rest.family, rest.number), rest.until_us);
    }

    /// Tells whether it rested.
    pub(super) fn remove(&mut self, rest: Rest) -> bool {
        if let Some(space) = self.of_space.get_mut(&rest.space) {
            space
                .by_time
                .remove(&(rest.until_us, rest.family, rest.number));
            space.by_number.remove(&(rest.family, rest.number));
        }
        self.by_time.remove(&(rest.until_us, rest.slot))
    }

    /// The one that has rested first.
    pub(super) fn first(&self) -> Option<(i64, Slot)> {
        self.by_time.first().copied()
    }

    /// How many of a window rest.
    pub(super) fn count(&self, space: SpaceIndex, window: &Window) -> u128 {
        let Some(space) = self.of_space.get(&space) else {
            return 0;
        };
        space.inside(window).count() as u128
    }

    /// When the first of a window has rested, in microseconds, and which one that is.
    pub(super) fn next_wake(&self, space: SpaceIndex, window: &Window) -> Option<(i64, u128)> {
        self.of_space.get(&space)?.next_wake(window, &mut || {})
    }
}

impl OfSpace {
    fn inside(&self, window: &Window) -> impl Iterator<Item = (i64, u128)> {
        let family = window.family();
        self.by_number
            .range((family, window.first())..=(family, window.last()))
            .filter(move |((_, number), _)| window.contains(address::from_number(family, *number)))
            .map(|((_, number), until)| (*until, *number))
    }

    /// Two ways at once, step by step, until the shorter one is done: from the earliest of the
    /// space to the first that the window has, and through all of the window. `step` is called for
    /// each address that is looked at.
    fn next_wake(&self, window: &Window, step: &mut impl FnMut()) -> Option<(i64, u128)> {
        let family = window.family();
        let mut by_time = self.by_time.iter();
        let mut inside = self.inside(window);
        let mut earliest: Option<(i64, u128)> = None;
        loop {
            step();
            let &(until, of, number) = by_time.next()?;
            if of == family && window.contains(address::from_number(family, number)) {
                return Some((until, number));
            }
            step();
            match inside.next() {
                Some(next) => earliest = Some(earliest.map_or(next, |known| known.min(next))),
                None => return earliest,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window(first: u32, last: u32) -> Window {
        let ip = |number: u32| std::net::IpAddr::from(number.to_be_bytes());
        let cidr = "10.0.0.0/8".parse().expect("a CIDR");
        Window::new(cidr, ip(first), ip(last), Vec::new()).expect("a window")
    }

    const BASE: u32 = 10 << 24;
    const COUNT: u32 = 100_000;

    /// Address n of one space rests until n; another space has as many.
    fn resting() -> Resting {
        let mut resting = Resting::default();
        for number in 1..=COUNT {
            for space in 0..2 {
                resting.insert(Rest {
                    slot: number * 2 + space,
                    space: SpaceIndex(space),
                    family: Family::V4,
                    number: (BASE + number).into(),
                    until_us: number.into(),
                });
            }
        }
        resting
    }

    fn steps(resting: &Resting, window: &Window) -> (Option<i64>, usize) {
        let mut steps = 0;
        let space = &resting.of_space[&SpaceIndex(1)];
        let wakes = space.next_wake(window, &mut || steps += 1);
        (wakes.map(|(until, _)| until), steps)
    }

    #[test]
    fn the_next_wake_takes_few_steps_in_a_narrow_window_and_in_a_wide_one() {
        let resting = resting();
        let last = window(BASE + COUNT - 1, BASE + COUNT);
        assert_eq!(steps(&resting, &last), (Some(i64::from(COUNT) - 1), 6));
        let all = window(BASE + 1, BASE + COUNT);
        assert_eq!(steps(&resting, &all), (Some(1), 1));
        let beside = window(BASE + COUNT + 1, BASE + COUNT + 9);
        assert_eq!(steps(&resting, &beside), (None, 2));
    }

    #[test]
    fn what_was_removed_rests_no_more() {
        let mut resting = resting();
        let rest = Rest {
            slot: 3,
            space: SpaceIndex(1),
            family: Family::V4,
            number: (BASE + 1).into(),
            until_us: 1,
        };
        assert!(resting.remove(rest));
        assert!(!resting.remove(rest));
        let some = window(BASE + 1, BASE + 5);
        assert_eq!(resting.count(SpaceIndex(1), &some), 4);
        assert_eq!(
            resting.next_wake(SpaceIndex(1), &some),
            Some((2, u128::from(BASE + 2)))
        );
        assert_eq!(
            resting.next_wake(SpaceIndex(0), &some),
            Some((1, u128::from(BASE + 1)))
        );
        assert_eq!(resting.first(), Some((1, 2)));
    }
}
