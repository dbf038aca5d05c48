//! What `/metrics` tells. Every label comes from a fixed list.

use std::sync::Arc;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::{encode_eof, encode_registry};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::Registry;

use crate::project::ProjectionMetrics;

/// Upper bounds of the buckets of a pass's duration, in seconds.
const BUCKETS: [f64; 12] = [
    0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0, 30.0, 120.0,
];

/// Why a pass was made.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(crate) struct PassLabels {
    pub(crate) why: &'static str,
    pub(crate) outcome: &'static str,
}

/// A direct read: what was read, and what came of it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(crate) struct ReadLabels {
    pub(crate) resource: &'static str,
    pub(crate) outcome: &'static str,
}

/// A judgement, or the reason for it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(crate) struct ReasonLabels {
    pub(crate) reason: &'static str,
}

/// What came of a release.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(crate) struct OutcomeLabels {
    pub(crate) outcome: &'static str,
}

/// Which watch.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(crate) struct WatchLabels {
    pub(crate) watch: &'static str,
}

/// What is counted here. Clones count the same.
#[derive(Debug, Clone)]
pub struct Metrics {
    registry: Arc<Registry>,
    pub(crate) passes: Family<PassLabels, Counter>,
    pub(crate) pass_seconds: Histogram,
    pub(crate) last_good_pass: Gauge<f64, std::sync::atomic::AtomicU64>,
    pub(crate) holds: Gauge,
    pub(crate) kept: Family<ReasonLabels, Gauge>,
    pub(crate) waiting: Family<ReasonLabels, Gauge>,
    pub(crate) freed: Family<ReasonLabels, Counter>,
    pub(crate) releases: Family<OutcomeLabels, Counter>,
    pub(crate) on_hold: Family<ReasonLabels, Gauge>,
    pub(crate) direct_reads: Family<ReadLabels, Counter>,
    pub(crate) watch_errors: Family<WatchLabels, Counter>,
    pub(crate) unusable_definitions: Gauge,
    pub(crate) leading: Gauge,
    pub(crate) wakeups: Counter,
    pub(crate) projection: ProjectionMetrics,
}

impl Default for Metrics {
    fn default() -> Self {
        Self::new()
    }
}

impl Metrics {
    /// All at zero.
    #[must_use]
    pub fn new() -> Self {
        Self::with(|_| {})
    }

    /// All at zero, and what `more` registers beside them, under the same prefix.
    pub fn with(more: impl FnOnce(&mut Registry)) -> Self {
        let mut all = Registry::default();
        let registry = all.sub_registry_with_prefix("ipledger_sync");
        let mut metrics = Self {
            registry: Arc::default(),
            passes: Family::default(),
            pass_seconds: Histogram::new(BUCKETS),
            last_good_pass: Gauge::default(),
            holds: Gauge::default(),
            kept: Family::default(),
            waiting: Family::default(),
            freed: Family::default(),
            releases: Family::default(),
            on_hold: Family::default(),
            direct_reads: Family::default(),
            watch_errors: Family::default(),
            unusable_definitions: Gauge::default(),
            leading: Gauge::default(),
            wakeups: Counter::default(),
            projection: ProjectionMetrics::default(),
        };
        metrics.register(registry);
        more(registry);
        metrics.registry = Arc::new(all);
        metrics
    }

    fn register(&self, registry: &mut Registry) {
        let version = [("version", env!("CARGO_PKG_VERSION"))];
        registry.register("build", "The version of this program", Info::new(version));
        self.register_passes(registry);
        self.register_reads(registry);
        self.projection.register(registry);
    }

    fn register_passes(&self, registry: &mut Registry) {
        registry.register(
            "passes",
            "Passes by what they were made for and how they ended",
            self.passes.clone(),
        );
        registry.register(
            "pass_duration_seconds",
            "Time of a pass with all its reads and releases",
            self.pass_seconds.clone(),
        );
        registry.register(
            "last_good_pass_timestamp_seconds",
            "When a pass last judged the cluster's holds",
            self.last_good_pass.clone(),
        );
        registry.register(
            "holds",
            "Holds of the cluster at the last pass",
            self.holds.clone(),
        );
        registry.register(
            "holds_kept",
            "Holds that stay although their pods were not seen alive, by reason",
            self.kept.clone(),
        );
        registry.register(
            "holds_waiting",
            "Holds that time will free, by what they wait for",
            self.waiting.clone(),
        );
        registry.register(
            "holds_freed",
            "Holds that were freed, by how their pods are gone",
            self.freed.clone(),
        );
        registry.register(
            "releases",
            "Releases that were asked of the ledger, by outcome",
            self.releases.clone(),
        );
        registry.register(
            "reclaim_on_hold",
            "1 while nothing, or not everything, can be judged, by reason",
            self.on_hold.clone(),
        );
        registry.register(
            "wakeups",
            "Wake-ups by refused allocates",
            self.wakeups.clone(),
        );
    }

    fn register_reads(&self, registry: &mut Registry) {
        registry.register(
            "direct_reads",
            "Direct reads of the API server, by what was read and what came of it",
            self.direct_reads.clone(),
        );
        registry.register(
            "watch_errors",
            "Errors of watches; each is followed by a new try",
            self.watch_errors.clone(),
        );
        registry.register(
            "definitions_unusable",
            "Network definitions that cannot be served",
            self.unusable_definitions.clone(),
        );
        registry.register(
            "leading",
            "1 while this replica has the Lease and acts",
            self.leading.clone(),
        );
    }

    /// The text of `/metrics`.
    ///
    /// # Errors
    /// Never in practice: the text goes into memory.
    pub fn encode(&self) -> Result<String, std::fmt::Error> {
        let mut text = String::new();
        encode_registry(&mut text, &self.registry)?;
        encode_eof(&mut text)?;
        Ok(text)
    }
}
