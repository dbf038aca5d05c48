//! What the lane counts. One struct for the crate; no labels that grow.

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::{Registry, Unit};

/// Counters of the writer lane.
#[derive(Debug, Clone)]
pub(super) struct Metrics {
    /// Requests that wait for the lane.
    pub(super) waiting: Gauge,
    /// Events appended.
    pub(super) events: Counter,
    /// Requests per batch.
    pub(super) batch_requests: Histogram,
    /// Duration of one `append`, in seconds.
    pub(super) append_seconds: Histogram,
    /// Batches decided again because another writer was first.
    pub(super) moved: Counter,
    /// Batches that failed and were retried request by request.
    pub(super) retried_singly: Counter,
    /// Requests answered with an unknown outcome.
    pub(super) unknown: Counter,
    /// Times that the whole memory was loaded.
    pub(super) loads: Counter,
    /// Wake-ups written.
    pub(super) wakeups: Counter,
    /// Refusals that were not taken in for a wake-up: too many at once.
    pub(super) wakeups_dropped: Counter,
    /// Writes of wake-ups that failed; they are tried again.
    pub(super) wakeups_failed: Counter,
}

impl Default for Metrics {
    fn default() -> Metrics {
        Metrics {
            waiting: Gauge::default(),
            events: Counter::default(),
            batch_requests: Histogram::new(exponential_buckets(1.0, 2.0, 9)),
            append_seconds: Histogram::new(exponential_buckets(0.0002, 2.0, 16)),
            moved: Counter::default(),
            retried_singly: Counter::default(),
            unknown: Counter::default(),
            loads: Counter::default(),
            wakeups: Counter::default(),
            wakeups_dropped: Counter::default(),
            wakeups_failed: Counter::default(),
        }
    }
}

impl Metrics {
    /// Make the counters visible under `ipledger_lane_…`.
    pub(super) fn register(&self, registry: &mut Registry) {
        let lane = registry.sub_registry_with_prefix("ipledger_lane");
        lane.register(
            "waiting_requests",
            "Requests waiting for the lane",
            self.waiting.clone(),
        );
        lane.register(
            "events",
            "Events appended to the ledger",
            self.events.clone(),
        );
        lane.register(
            "batch_requests",
            "Requests decided together",
            self.batch_requests.clone(),
        );
        lane.register_with_unit(
            "append",
            "Duration of one append call",
            Unit::Seconds,
            self.append_seconds.clone(),
        );
        lane.register(
            "moved",
            "Batches decided again because another writer was first",
            self.moved.clone(),
        );
        lane.register(
            "retried_singly",
            "Batches that failed and were retried request by request",
            self.retried_singly.clone(),
        );
        lane.register(
            "unknown_outcomes",
            "Requests answered with an unknown outcome",
            self.unknown.clone(),
        );
        lane.register(
            "loads",
            "Times that the memory was loaded whole",
            self.loads.clone(),
        );
        let wakeups = registry.sub_registry_with_prefix("ipledger_wakeups");
        wakeups.register(
            "written",
            "Refusals that sync was woken for, one a second for each window",
            self.wakeups.clone(),
        );
        wakeups.register(
            "dropped",
            "Refusals that nobody was woken for, because there were too many",
            self.wakeups_dropped.clone(),
        );
        wakeups.register(
            "failed_writes",
            "Writes of wake-ups that failed and were tried again",
            self.wakeups_failed.clone(),
        );
    }
}
