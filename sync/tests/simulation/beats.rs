//! The heartbeats that a node writes into its Lease.

use crate::time::SECOND;

/// How often a kubelet renews its Lease.
const PERIOD: i64 = 10 * SECOND;
/// After this silence the node controller calls the node unreachable.
const UNREACHABLE: i64 = 40 * SECOND;

/// The Lease of one node. Renewals come at `from` and every [`PERIOD`] after it.
pub(crate) struct Beats {
    alive: bool,
    from: i64,
    /// The last one before `from` while alive, or else the last one of all.
    last: i64,
}

impl Beats {
    pub(crate) fn new() -> Beats {
        Beats {
            alive: true,
            from: 0,
            last: 0,
        }
    }

    /// The kubelet reaches the API server again, and renews at once.
    pub(crate) fn begin(&mut self, now: i64) {
        (self.alive, self.from) = (true, now);
    }

    pub(crate) fn end(&mut self, now: i64) {
        self.last = self.last_up_to(now);
        self.alive = false;
    }

    /// The last renewal that was made up to a moment, at the earliest in the last silence.
    pub(crate) fn last_up_to(&self, at: i64) -> i64 {
        if self.alive && at >= self.from {
            self.from + (at - self.from) / PERIOD * PERIOD
        } else {
            self.last.min(at)
        }
    }

    /// When the Ready condition became `Unknown`, if it is.
    pub(crate) fn unreachable_since(&self, now: i64) -> Option<i64> {
        let since = self.last_up_to(now) + UNREACHABLE;
        (!self.alive && now >= since).then_some(since)
    }
}
