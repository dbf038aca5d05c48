//! Time as a parameter: one clock that never jumps.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use rustix::time::{ClockId, clock_gettime};

/// Tells the time. It never runs backwards and never jumps, whatever is done to the machine's
/// own clock, since the rules compare moments that are minutes apart.
pub trait Clock: Send + Sync + 'static {
    /// The time now.
    fn now(&self) -> Timestamp;
}

/// A shared clock.
pub type SharedClock = Arc<dyn Clock>;

/// A clock that was set once and goes on by the time since boot, which counts the time that a
/// machine sleeps too.
#[derive(Debug, Clone, Copy)]
pub struct SteadyClock {
    set_to: Timestamp,
    set_at: SignedDuration,
}

impl SteadyClock {
    /// A clock that shows `now` now.
    #[must_use]
    pub fn set_to(now: Timestamp) -> Self {
        Self {
            set_to: now,
            set_at: since_boot(),
        }
    }
}

impl Clock for SteadyClock {
    fn now(&self) -> Timestamp {
        let passed = since_boot() - self.set_at;
        self.set_to.checked_add(passed).unwrap_or(Timestamp::MAX)
    }
}

fn since_boot() -> SignedDuration {
    let time = clock_gettime(ClockId::Boottime);
    let nanoseconds = i32::try_from(time.tv_nsec).unwrap_or(0);
    SignedDuration::new(time.tv_sec, nanoseconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_goes_on_from_where_it_was_set() {
        let start = Timestamp::from_second(1_000).unwrap();
        let clock = SteadyClock::set_to(start);
        let first = clock.now();
        std::thread::sleep(std::time::Duration::from_millis(2));
        let second = clock.now();
        assert!(start <= first && first < second);
        assert!(second < start + SignedDuration::from_secs(60));
    }
}
