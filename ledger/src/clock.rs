//! Time as a parameter.

use std::sync::Arc;

use jiff::Timestamp;

/// Tells the time. The database's own clock decides what is recorded; this one only bounds
/// waiting and estimates the database's clock between two answers.
pub trait Clock: Send + Sync + 'static {
    /// The time now.
    fn now(&self) -> Timestamp;
}

/// The system's clock.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[expect(
        clippy::disallowed_methods,
        reason = "the one place that asks the system"
    )]
    fn now(&self) -> Timestamp {
        Timestamp::now()
    }
}

/// A shared clock.
pub type SharedClock = Arc<dyn Clock>;
