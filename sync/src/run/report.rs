//! What is told of a pass: metrics, one line, and whether reclaim is on hold.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;

use super::agenda::Why;
use crate::metrics::{Metrics, PassLabels, ReasonLabels};
use crate::obstacle::Obstacle;
use crate::pass::Look;
use crate::reclaim::{ReclaimState, Trouble};
use crate::telling::Teller;
use crate::words;

/// Tells of passes.
pub(super) struct Report {
    pub(super) metrics: Metrics,
    pub(super) reclaim: ReclaimState,
    pub(super) teller: Teller,
}

/// A pass that was made.
pub(super) struct Passed {
    pub(super) why: Why,
    /// Over all holds.
    pub(super) is_whole: bool,
    pub(super) freed: usize,
    pub(super) took: Duration,
    pub(super) now: Timestamp,
}

impl Report {
    pub(super) fn tell(&self, passed: &Passed, result: &Result<Look, Obstacle>) {
        let trouble = match result {
            Ok(look) => Trouble::of_look(look),
            Err(obstacle) => Some(Trouble::of_obstacle(obstacle)),
        };
        // A pass over some holds may find trouble, but not its end.
        if (trouble.is_some() || passed.is_whole)
            && let Some(change) = self.reclaim.update(trouble, passed.now)
        {
            self.teller.tell(change);
        }
        self.metrics.pass_seconds.observe(passed.took.as_secs_f64());
        let outcome = result.as_ref().map_or_else(Obstacle::kind, |_| "judged");
        let why = passed.why.word();
        let labels = PassLabels { why, outcome };
        self.metrics.passes.get_or_create(&labels).inc();
        let Ok(look) = result else {
            return;
        };
        let since_epoch = passed.now.duration_since(Timestamp::UNIX_EPOCH);
        self.metrics.last_good_pass.set(since_epoch.as_secs_f64());
        if passed.is_whole {
            self.count(look);
        }
        log(look, passed);
    }

    fn count(&self, look: &Look) {
        let corrections = &look.corrections;
        let holds = i64::try_from(corrections.cluster_holds).unwrap_or(i64::MAX);
        self.metrics.holds.set(holds);
        let kept = look.kept().map(|(_, reason)| words::kept(reason));
        set_all(&self.metrics.kept, &words::KEPT, kept);
        let waiting = corrections.waiting.values();
        let waiting = waiting.map(|(_, reason)| words::waiting(*reason));
        set_all(&self.metrics.waiting, &words::WAITING, waiting);
    }
}

/// Every reason has its gauge, also at zero.
fn set_all(
    gauges: &Family<ReasonLabels, Gauge>,
    reasons: &[&'static str],
    found: impl Iterator<Item = &'static str>,
) {
    let mut counts: BTreeMap<&'static str, i64> =
        reasons.iter().map(|reason| (*reason, 0)).collect();
    for reason in found {
        *counts.entry(reason).or_default() += 1;
    }
    for (reason, count) in counts {
        gauges.get_or_create(&ReasonLabels { reason }).set(count);
    }
}

/// One line for a pass; at level info only if it did something.
fn log(look: &Look, passed: &Passed) {
    let corrections = &look.corrections;
    let duration_ms = u64::try_from(passed.took.as_millis()).unwrap_or(u64::MAX);
    let (holds, waiting) = (corrections.cluster_holds, corrections.waiting.len());
    let (withheld, kept) = (corrections.withheld.len(), look.kept().count());
    let (pass, why, freed) = (&look.id, passed.why.word(), passed.freed);
    if freed > 0 || withheld > 0 {
        tracing::info!(
            pass,
            why,
            holds,
            freed,
            waiting,
            withheld,
            kept,
            duration_ms,
            "pass"
        );
    } else {
        tracing::debug!(
            pass,
            why,
            holds,
            freed,
            waiting,
            withheld,
            kept,
            duration_ms,
            "pass"
        );
    }
}
