use std::time::{Duration, Instant};

/// How long a call may take with everything that belongs to it, and how often it may go round
/// the addresses.
#[derive(Debug, Clone, Copy)]
pub struct Budget {
    deadline: Instant,
    rounds: u32,
}

impl Budget {
    /// Retry until this much time has passed.
    #[must_use]
    pub fn within(time: Duration) -> Self {
        Self {
            deadline: Instant::now() + time,
            rounds: u32::MAX,
        }
    }

    /// Ask each address at most once, inside the same time.
    #[must_use]
    pub fn one_round(self) -> Self {
        Self { rounds: 1, ..self }
    }

    /// The same, but ending no later than the given time from now.
    #[must_use]
    pub fn at_most(self, time: Duration) -> Self {
        Self {
            deadline: self.deadline.min(Instant::now() + time),
            ..self
        }
    }

    /// When it ends.
    #[must_use]
    pub fn deadline(self) -> Instant {
        self.deadline
    }

    /// What is left; zero when it is over.
    #[must_use]
    pub fn left(self) -> Duration {
        self.deadline.saturating_duration_since(Instant::now())
    }

    pub(crate) fn rounds(self) -> u32 {
        self.rounds
    }
}
