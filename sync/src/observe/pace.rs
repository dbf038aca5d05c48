//! How many reads a second are sent to the API server.

use std::time::Duration;

use tokio::sync::Mutex;
use tokio::time::Instant;

/// Lets `per_second` callers a second through, and a second's worth of them at once after a rest.
#[derive(Debug)]
pub(crate) struct Pace {
    gap: Duration,
    /// When the next caller may go, if all had come one by one.
    next: Mutex<Option<Instant>>,
}

/// What may be saved up.
const BURST: Duration = Duration::from_secs(1);

impl Pace {
    pub(crate) fn new(per_second: u32) -> Self {
        Self {
            gap: Duration::from_secs(1) / per_second.max(1),
            next: Mutex::new(None),
        }
    }

    /// Waits for the turn.
    pub(crate) async fn turn(&self) {
        let turn = {
            let mut next = self.next.lock().await;
            let now = Instant::now();
            let earliest = now.checked_sub(BURST).unwrap_or(now);
            let turn = next.unwrap_or(earliest).max(earliest);
            *next = Some(turn + self.gap);
            turn
        };
        tokio::time::sleep_until(turn).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_burst_passes_and_the_rest_is_spread() {
        let pace = Pace::new(200);
        let start = Instant::now();
        for _ in 0..200 {
            pace.turn().await;
        }
        assert!(start.elapsed() < Duration::from_millis(900));
        for _ in 0..40 {
            pace.turn().await;
        }
        assert!(start.elapsed() >= Duration::from_millis(180));
    }
}
