//! A node's heartbeats, and what a reader that watches them can say.

use crate::time::SECOND;

/// How often a kubelet renews its Lease.
const PERIOD: i64 = 10 * SECOND;
/// A longer silence is a gap.
const GAP: i64 = 20 * SECOND;
/// After this silence the node controller calls the node unreachable.
const UNREACHABLE: i64 = 40 * SECOND;

/// The Lease of one node. Renewals come at `from` and every [`PERIOD`] after it.
pub(crate) struct Beats {
    alive: bool,
    from: i64,
    /// The last one before `from` while alive, or else the last one of all.
    last: i64,
    before_last: i64,
    unbroken_since: i64,
}

/// Since when a process has watched, and what it still believes while its watch is dropped.
#[derive(Default)]
pub(crate) struct Watch {
    pub(crate) since: i64,
    pub(crate) dropped_until: i64,
    pub(crate) believed: Vec<Option<Heard>>,
}

/// What a reader knows of the heartbeats, by its own clock.
#[derive(Clone, Copy)]
pub(crate) struct Heard {
    pub(crate) unbroken_since: i64,
    pub(crate) later_than: i64,
}

impl Beats {
    pub(crate) fn new() -> Beats {
        Beats {
            alive: true,
            from: 0,
            last: 0,
            before_last: 0,
            unbroken_since: 0,
        }
    }

    /// The kubelet reaches the API server again, and renews at once.
    pub(crate) fn begin(&mut self, now: i64) {
        if now - self.last > GAP {
            self.unbroken_since = now;
        }
        (self.alive, self.from) = (true, now);
    }

    pub(crate) fn end(&mut self, now: i64) {
        (self.last, self.before_last) = self.last_two(now);
        self.alive = false;
    }

    fn last_two(&self, now: i64) -> (i64, i64) {
        if !self.alive {
            return (self.last, self.before_last);
        }
        let last = self.from + (now - self.from) / PERIOD * PERIOD;
        let before_last = if last == self.from {
            self.last
        } else {
            last - PERIOD
        };
        (last, before_last)
    }

    /// When the Ready condition became `Unknown`, if it is.
    pub(crate) fn unreachable_since(&self, now: i64) -> Option<i64> {
        let since = self.last_two(now).0 + UNREACHABLE;
        (!self.alive && now >= since).then_some(since)
    }

    /// The last renewal that was made up to a moment, at the latest in the last silence.
    pub(crate) fn last_up_to(&self, at: i64) -> i64 {
        if at >= self.from {
            self.last_two(at).0
        } else {
            self.last.min(at)
        }
    }

    /// Two different renewals must have been read.
    pub(crate) fn heard(&self, watching_since: i64, now: i64) -> Option<Heard> {
        let (last, before_last) = self.last_two(now);
        let starts = self.unbroken_since - watching_since;
        // The reader cannot know how old the first one is that it reads.
        let unbroken_since = if starts <= GAP {
            watching_since
        } else {
            self.unbroken_since
        };
        (last > watching_since).then_some(Heard {
            unbroken_since,
            later_than: before_last.max(watching_since),
        })
    }
}
