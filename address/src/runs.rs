//! A set of numbers kept as maximal runs.

use std::collections::BTreeMap;

pub(crate) mod cursor;

/// A set of numbers kept as maximal runs: memory is per gap, not per number, and every operation
/// on one number costs O(log runs). A full /16 is one run.
///
/// ```
/// let mut set = address::RunSet::default();
/// for n in [5, 7, 6] {
///     assert!(set.insert(n));
/// }
/// assert_eq!(set.iter().collect::<Vec<_>>(), [(5, 7)]);
/// assert!(set.remove(6));
/// assert_eq!((set.count(), set.runs()), (2, 2));
/// ```
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct RunSet {
    /// First number of each run to its last. Runs neither overlap nor touch.
    runs: BTreeMap<u128, u128>,
    count: u128,
}

impl RunSet {
    /// Adds a number and joins the runs it touches; `false` if it was there.
    pub fn insert(&mut self, n: u128) -> bool {
        let before = self.run_at_or_before(n);
        if before.is_some_and(|(_, end)| end >= n) {
            return false;
        }
        let after = n.checked_add(1).and_then(|next| self.runs.remove(&next));
        // `end < n` was just seen, so `end + 1` cannot overflow.
        let start = before
            .filter(|&(_, end)| end + 1 == n)
            .map_or(n, |(start, _)| start);
        self.runs.insert(start, after.unwrap_or(n));
        self.count += 1;
        true
    }

    /// Takes a number out and splits its run if need be; `false` if it was not there.
    pub fn remove(&mut self, n: u128) -> bool {
        let Some((start, end)) = self.run_containing(n) else {
            return false;
        };
        if start == n {
            self.runs.remove(&start);
        } else {
            self.runs.insert(start, n - 1);
        }
        if n < end {
            self.runs.insert(n + 1, end);
        }
        self.count -= 1;
        true
    }

    /// Whether the number is in the set.
    pub fn contains(&self, n: u128) -> bool {
        self.run_containing(n).is_some()
    }

    /// First and last number of the maximal run that holds `n`.
    pub fn run_containing(&self, n: u128) -> Option<(u128, u128)> {
        self.run_at_or_before(n).filter(|&(_, end)| end >= n)
    }

    /// How many numbers are in the set, O(1).
    pub fn count(&self) -> u128 {
        self.count
    }

    /// How many maximal runs the set has: what its memory is proportional to.
    pub fn runs(&self) -> usize {
        self.runs.len()
    }

    /// The maximal runs (first, last) in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = (u128, u128)> {
        self.runs.iter().map(|(&start, &end)| (start, end))
    }

    /// How many numbers from `first` to `last`, both included, are in the set; 0 if `first` is
    /// after `last`. Costs O(log runs) and one step per run in between.
    pub fn count_within(&self, first: u128, last: u128) -> u128 {
        if first > last {
            return 0;
        }
        let reaching_in = self.run_containing(first).map_or(first, |(start, _)| start);
        let inside = self.runs.range(reaching_in..=last);
        inside
            .map(|(&start, &end)| end.min(last) - start.max(first) + 1)
            .sum()
    }

    /// A set of given runs, which neither overlap nor touch: large ones without counting up.
    #[cfg(test)]
    pub(crate) fn of_runs(runs: impl IntoIterator<Item = (u128, u128)>) -> Self {
        let runs: BTreeMap<u128, u128> = runs.into_iter().collect();
        let count = runs.iter().map(|(start, end)| end - start + 1).sum();
        Self { runs, count }
    }

    fn run_at_or_before(&self, n: u128) -> Option<(u128, u128)> {
        self.runs
            .range(..=n)
            .next_back()
            .map(|(&start, &end)| (start, end))
    }
}
