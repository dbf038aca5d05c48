//! Forward-only positions in sorted runs, as [`lowest_free`](crate::lowest_free) needs them.
//!
//! A cursor that is near its aim walks, which costs a few nanoseconds a run; one that is far
//! seeks, so runs that another hop has already covered are skipped and not walked.

use std::collections::btree_map;

use super::RunSet;

/// Runs walked before a seek is cheaper.
const NEAR_RUNS: usize = 4;

/// A position in a [`RunSet`].
pub(crate) struct RunCursor<'a> {
    set: &'a RunSet,
    ahead: btree_map::Range<'a, u128, u128>,
    current: Option<(u128, u128)>,
    moves: usize,
}

impl<'a> RunCursor<'a> {
    /// At the first run that ends at or after `n`.
    pub(crate) fn at(set: &'a RunSet, n: u128) -> Self {
        let mut cursor = Self {
            set,
            ahead: set.runs.range(n..),
            current: None,
            moves: 0,
        };
        cursor.seek(n);
        cursor
    }

    /// The last number of the run that holds `n`. `n` must not be below an earlier call's.
    pub(crate) fn end_of_run_holding(&mut self, n: u128) -> Option<u128> {
        let mut walked = 0;
        while let Some((_, end)) = self.current
            && end < n
        {
            if walked == NEAR_RUNS {
                self.seek(n);
                break;
            }
            self.step();
            walked += 1;
        }
        self.current
            .filter(|&(start, _)| start <= n)
            .map(|(_, end)| end)
    }

    /// How often the cursor moved: what a search costs.
    #[cfg(test)]
    pub(crate) fn moves(&self) -> usize {
        self.moves
    }

    fn step(&mut self) {
        self.moves += 1;
        self.current = self.ahead.next().map(|(&start, &end)| (start, end));
    }

    fn seek(&mut self, n: u128) {
        let start = self.set.run_containing(n).map_or(n, |(start, _)| start);
        self.ahead = self.set.runs.range(start..);
        self.step();
    }
}

/// A position in sorted, merged runs that lie in a slice.
pub(crate) struct SliceCursor<'a> {
    ahead: &'a [(u128, u128)],
    moves: usize,
}

impl<'a> SliceCursor<'a> {
    /// At the first run that ends at or after `n`.
    pub(crate) fn at(runs: &'a [(u128, u128)], n: u128) -> Self {
        let mut cursor = Self {
            ahead: runs,
            moves: 0,
        };
        cursor.seek(n);
        cursor
    }

    /// The last number of the run that holds `n`. `n` must not be below an earlier call's.
    pub(crate) fn end_of_run_holding(&mut self, n: u128) -> Option<u128> {
        let mut walked = 0;
        while let Some((&(_, end), rest)) = self.ahead.split_first()
            && end < n
        {
            if walked == NEAR_RUNS {
                self.seek(n);
                break;
            }
            self.moves += 1;
            self.ahead = rest;
            walked += 1;
        }
        self.ahead
            .first()
            .filter(|&&(start, _)| start <= n)
            .map(|&(_, end)| end)
    }

    /// How often the cursor moved: what a search costs.
    #[cfg(test)]
    pub(crate) fn moves(&self) -> usize {
        self.moves
    }

    fn seek(&mut self, n: u128) {
        self.moves += 1;
        self.ahead = &self.ahead[self.ahead.partition_point(|&(_, end)| end < n)..];
    }
}
