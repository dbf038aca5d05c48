use std::hash::{BuildHasher, Hasher, RandomState};
use std::time::Duration;

const FIRST: Duration = Duration::from_millis(50);
const LONGEST: Duration = Duration::from_secs(2);

/// Waiting times between rounds: doubling, capped, and each between half and all of its value, so
/// that the plugins of a whole node do not come back in step after an outage.
pub(crate) struct Backoff {
    next: Duration,
}

impl Backoff {
    pub(crate) fn new() -> Self {
        Self { next: FIRST }
    }

    /// How long to wait now; at least what the server asked for.
    pub(crate) fn wait(&mut self, asked: Option<Duration>) -> Duration {
        let full = self.next;
        self.next = (full * 2).min(LONGEST);
        let half = full / 2;
        // Every RandomState is seeded anew; that is all the randomness needed here.
        let random = RandomState::new().build_hasher().finish() % 1000;
        let share = half.mul_f64(f64::from(u32::try_from(random).unwrap_or(0)) / 1000.0);
        (half + share).max(asked.unwrap_or(Duration::ZERO).min(LONGEST))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_the_cap_and_never_fall_below_half() {
        let mut backoff = Backoff::new();
        let mut full = FIRST;
        for _ in 0..12 {
            let wait = backoff.wait(None);
            assert!(
                wait >= full / 2 && wait <= full,
                "{wait:?} against {full:?}"
            );
            full = (full * 2).min(LONGEST);
        }
        assert_eq!(full, LONGEST);
    }

    #[test]
    fn the_servers_wish_is_kept_but_capped() {
        let second = Duration::from_secs(1);
        assert!(Backoff::new().wait(Some(second)) == second);
        assert!(Backoff::new().wait(Some(Duration::from_secs(900))) == LONGEST);
    }
}
