//! The two questions asked of a window and a set of taken addresses.

use crate::runs::cursor::{RunCursor, SliceCursor};
use crate::{RunSet, Window};

#[cfg(test)]
mod tests;

/// The lowest address of the window that is neither excluded nor in `taken`, at or above `from`
/// (a number of the window's family; anything below the window means its first address).
///
/// It hops over whole runs and whole exclusions, so the cost is that of the hops, each
/// O(log n) at worst, and never depends on how many addresses are taken.
///
/// ```
/// use address::{RunSet, Window, WindowText, lowest_free, to_number};
///
/// let text = WindowText { range: "10.0.0.0/8", range_start: None, range_end: None, exclude: &[] };
/// let window = Window::parse(&text)?;
/// let mut taken = RunSet::default();
/// taken.insert(window.first());
/// assert_eq!(lowest_free(&window, &taken, 0), Some(to_number("10.0.0.2".parse()?)));
/// assert_eq!(lowest_free(&window, &taken, window.last() + 1), None);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn lowest_free(window: &Window, taken: &RunSet, from: u128) -> Option<u128> {
    Search::new(window, taken, from).run()
}

/// How many addresses of the window are in `set`, excluded ones not counted. Costs one step per
/// run of the set inside the window and O(log runs) per exclusion.
pub fn count_in_window(window: &Window, set: &RunSet) -> u128 {
    let excluded: u128 = window
        .excluded()
        .iter()
        .map(|&(first, last)| set.count_within(first, last))
        .sum();
    set.count_within(window.first(), window.last()) - excluded
}

/// A search with what it cost.
struct Search<'a> {
    candidate: u128,
    last: u128,
    excluded: SliceCursor<'a>,
    taken: RunCursor<'a>,
}

impl<'a> Search<'a> {
    fn new(window: &'a Window, taken: &'a RunSet, from: u128) -> Self {
        let candidate = from.max(window.first());
        Self {
            candidate,
            last: window.last(),
            excluded: SliceCursor::at(window.excluded(), candidate),
            taken: RunCursor::at(taken, candidate),
        }
    }

    fn run(&mut self) -> Option<u128> {
        while self.candidate <= self.last {
            let Some(end) = self.obstacle_end() else {
                return Some(self.candidate);
            };
            // No number follows the last one of IPv6, so nothing is free behind it.
            self.candidate = end.checked_add(1)?;
        }
        None
    }

    /// Where the exclusion or the run of taken addresses ends that holds the candidate.
    fn obstacle_end(&mut self) -> Option<u128> {
        let excluded = self.excluded.end_of_run_holding(self.candidate);
        excluded.or_else(|| self.taken.end_of_run_holding(self.candidate))
    }
}
