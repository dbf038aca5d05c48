//! When the next pass is made, and for what.

use std::time::Duration;

use tokio::time::Instant;

use crate::clock::Clock;
use crate::pass::Outlook;

/// Passes that events ask for take at most this part of the time: one in ten.
const REST_FACTOR: u32 = 9;
/// After a pass that somebody waited for, the next one is made after this many times its length
/// at the earliest: a pool that stays full must not keep a large cluster's sync busy.
const WAKEUP_REST_FACTOR: u32 = 3;
/// How soon it is tried again when nothing could be judged.
const RETRY: Duration = Duration::from_secs(5);
/// And never after more than this, however long reads took.
const LONGEST_WAKEUP_REST: Duration = Duration::from_secs(1);
/// So that a moment that was just missed is not met again and again.
const LEAST_PAUSE: Duration = Duration::from_millis(50);

/// What a pass is made for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Why {
    Start,
    Period,
    Event,
    Due,
    Heartbeat,
    Wakeup,
    SecondLook,
}

impl Why {
    pub(super) fn word(self) -> &'static str {
        match self {
            Why::Start => "start",
            Why::Period => "period",
            Why::Event => "event",
            Why::Due => "due",
            Why::Heartbeat => "heartbeat",
            Why::Wakeup => "wakeup",
            Why::SecondLook => "second_look",
        }
    }
}

/// The moments that are waited for.
#[derive(Debug)]
pub(super) struct Agenda {
    period: Duration,
    settle: Duration,
    next_period: Instant,
    event: Option<Instant>,
    due: Option<Instant>,
    second_look: Option<Instant>,
    /// Before this no pass is made for events.
    rested: Instant,
    /// Before this none is made for wake-ups.
    wakeups_from: Instant,
}

impl Agenda {
    pub(super) fn new(period: Duration, settle: Duration, now: Instant) -> Self {
        Self {
            period,
            settle,
            next_period: now,
            event: None,
            due: None,
            second_look: None,
            rested: now,
            wakeups_from: now,
        }
    }

    /// From when on wake-ups are taken.
    pub(super) fn wakeups_from(&self) -> Instant {
        self.wakeups_from
    }

    /// The next moment, and what it is for.
    pub(super) fn next(&self) -> (Instant, Why) {
        if let Some(at) = self.second_look {
            return (at, Why::SecondLook);
        }
        let mut next = (self.next_period, Why::Period);
        let event = self.event.map(|at| (at.max(self.rested), Why::Event));
        for (at, why) in [self.due.map(|at| (at, Why::Due)), event]
            .into_iter()
            .flatten()
        {
            if at < next.0 {
                next = (at, why);
            }
        }
        next
    }

    /// Something happened in the cluster.
    pub(super) fn note_event(&mut self, now: Instant) {
        self.event.get_or_insert(now + self.settle);
    }

    /// A pass over all holds ended, with this outlook if it could judge.
    pub(super) fn passed_all(&mut self, outlook: Option<Outlook>, times: Times<'_>) {
        self.event = None;
        self.due = None;
        self.second_look = None;
        let pause = outlook.map_or(RETRY.min(self.period), |_| self.period);
        self.next_period = times.ended + pause;
        self.passed(outlook, times);
    }

    /// A pass over some holds ended: what the others wait for stays.
    pub(super) fn passed(&mut self, outlook: Option<Outlook>, times: Times<'_>) {
        let now = times.ended;
        let took = now - times.began;
        self.rested = now + (took * REST_FACTOR).min(self.period);
        self.wakeups_from = now + (took * WAKEUP_REST_FACTOR).min(LONGEST_WAKEUP_REST);
        let outlook = outlook.unwrap_or_default();
        self.second_look = self.second_look.or(outlook.second_look.then_some(now));
        let due = outlook.due.map(|due| {
            let left = due.duration_since(times.clock.now());
            now + LEAST_PAUSE + Duration::try_from(left).unwrap_or(Duration::ZERO)
        });
        self.due = match (self.due, due) {
            (Some(before), Some(due)) => Some(before.min(due)),
            (before, due) => before.or(due),
        };
    }
}

/// When a pass was made.
#[derive(Clone, Copy)]
pub(super) struct Times<'a> {
    pub(super) began: Instant,
    pub(super) ended: Instant,
    /// The clock of the moments that holds wait for.
    pub(super) clock: &'a dyn Clock,
}

#[cfg(test)]
#[path = "agenda/tests.rs"]
mod tests;
