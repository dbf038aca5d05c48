//! What `/metrics` tells about the projection. Every label comes from a fixed list.

use std::sync::atomic::AtomicU64;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

use super::permission::Withheld;

/// A write: of which kind of object, and why.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct WriteLabels {
    pub(super) object: &'static str,
    pub(super) cause: &'static str,
}

/// What kind of failure or reason.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct KindLabels {
    pub(super) kind: &'static str,
}

/// Counters and gauges; clones count the same.
#[derive(Debug, Clone, Default)]
pub struct ProjectionMetrics {
    pub(super) writes: Family<WriteLabels, Counter>,
    pub(super) failures: Family<KindLabels, Counter>,
    pub(super) withheld: Family<KindLabels, Gauge>,
    pub(super) lag_seconds: Gauge<f64, AtomicU64>,
    pub(super) lag_positions: Gauge,
    pub(super) differences: Gauge,
    pub(super) objects: Gauge,
    pub(super) omitted: Gauge,
    pub(super) unprojectable: Gauge,
    pub(super) skipped: Gauge,
}

impl ProjectionMetrics {
    /// Registers everything. The registry gives the prefix `ipledger_sync`.
    pub fn register(&self, registry: &mut Registry) {
        let registry = registry.sub_registry_with_prefix("projection");
        registry.register(
            "writes",
            "Writes of objects, by kind of object and by why they were needed",
            self.writes.clone(),
        );
        registry.register(
            "failures",
            "Failed reads and writes, by what failed; each is tried again",
            self.failures.clone(),
        );
        registry.register(
            "withheld",
            "1 while nothing may be written, by reason",
            self.withheld.clone(),
        );
        self.register_gauges(registry);
    }

    fn register_gauges(&self, registry: &mut Registry) {
        registry.register(
            "lag_seconds",
            "How long ago the oldest change that is not shown yet was learned of",
            self.lag_seconds.clone(),
        );
        registry.register(
            "lag_positions",
            "How many events of the cluster's spaces are not shown yet",
            self.lag_positions.clone(),
        );
        registry.register(
            "differing_objects",
            "Objects that differed from the ledger at the last look and were not put right",
            self.differences.clone(),
        );
        registry.register(
            "objects",
            "Objects that show the holds of the cluster",
            self.objects.clone(),
        );
        registry.register(
            "omitted_holds",
            "Holds that are missing from pools because they do not fit one object",
            self.omitted.clone(),
        );
        registry.register(
            "unprojectable",
            "Pools and reservations that Kubernetes takes no object for",
            self.unprojectable.clone(),
        );
        registry.register(
            "unreadable_objects",
            "Stored objects of a foreign shape, which are left alone",
            self.skipped.clone(),
        );
    }

    /// Shows why nothing is written now, if so.
    pub(super) fn set_withheld(&self, withheld: Option<&Withheld>) {
        for kind in Withheld::KINDS {
            let is = withheld.is_some_and(|withheld| withheld.kind() == kind);
            self.withheld
                .get_or_create(&KindLabels { kind })
                .set(i64::from(is));
        }
    }

    pub(super) fn failed(&self, kind: &'static str) {
        self.failures.get_or_create(&KindLabels { kind }).inc();
    }
}

/// A gauge's value; what does not fit is shown as the most.
pub(super) fn count(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
