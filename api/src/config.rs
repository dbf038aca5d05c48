//! How a server behaves; every value has a flag and an environment variable (see `cli`).

use std::time::Duration;

/// Limits and times of a server.
#[derive(Debug, Clone)]
pub struct ServeConfig {
    /// The longest request body, in bytes. A longer one is answered with 413.
    pub body_limit_bytes: usize,
    /// How long the head of a request may take to arrive, and a connection may stay idle.
    pub header_time: Duration,
    /// How long a request may take in all, whatever its own deadline says.
    pub request_time: Duration,
    /// How long the shutdown waits for requests that were accepted.
    pub drain_time: Duration,
    /// How many requests may read from the database, or wait for a connection to do so, at a time.
    /// A further one is answered with 503.
    pub max_reading: usize,
    /// How long before a call of CNI GC a hold must have been suspect, to be freed by it.
    pub garbage_grace: Duration,
}

impl Default for ServeConfig {
    fn default() -> Self {
        Self {
            body_limit_bytes: 1024 * 1024,
            header_time: Duration::from_secs(30),
            request_time: Duration::from_secs(30),
            drain_time: Duration::from_secs(30),
            max_reading: 256,
            garbage_grace: Duration::from_secs(60),
        }
    }
}
