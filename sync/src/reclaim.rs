//! Whether holds can be judged, and if not why: as a metric, annotations on the Lease, a
//! Kubernetes Event, and one line in the log.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use jiff::Timestamp;

use crate::diff::{Blind, KeepReason};
use crate::metrics::{Metrics, ReasonLabels};
use crate::observe::blind_word;
use crate::obstacle::Obstacle;
use crate::pass::Look;

/// Prefix of the annotations.
const PREFIX: &str = "ipledger.io/reclaim";

/// Whether the holds of dead pods can be freed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reclaim {
    /// No pass was made yet.
    Starting,
    /// Every hold could be judged.
    Active,
    /// Nothing, or not everything, can be judged.
    OnHold {
        /// A fixed word.
        reason: &'static str,
        /// What is wrong, and what it concerns.
        message: String,
        /// Since when.
        since: Timestamp,
    },
}

/// What a pass says about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trouble {
    /// A fixed word.
    pub reason: &'static str,
    /// In words.
    pub message: String,
}

impl Trouble {
    /// Why nothing could be judged.
    #[must_use]
    pub fn of_obstacle(obstacle: &Obstacle) -> Self {
        Self {
            reason: obstacle.kind(),
            message: format!("nothing is freed: {obstacle}"),
        }
    }

    /// Why some holds could not be judged; `None` if all could.
    #[must_use]
    pub fn of_look(look: &Look) -> Option<Self> {
        let mut counts: BTreeMap<&'static str, usize> = BTreeMap::new();
        for (_, reason) in look.kept() {
            if let Some(word) = failed_read(reason) {
                *counts.entry(word).or_default() += 1;
            }
        }
        let all: usize = counts.values().sum();
        let (reason, _) = counts.iter().max_by_key(|(_, count)| **count)?;
        let parts = counts
            .iter()
            .map(|(word, count)| format!("{word} {count}"))
            .collect::<Vec<_>>()
            .join(", ");
        let holds = look.corrections.cluster_holds;
        Some(Self {
            reason,
            message: format!("{all} of {holds} holds cannot be judged, reads fail: {parts}"),
        })
    }
}

/// A read that should have said something, and did not.
fn failed_read(reason: KeepReason) -> Option<&'static str> {
    match reason {
        KeepReason::PodUnseen(Blind::NotRead | Blind::BeforeHold)
        | KeepReason::NodeUnseen(Blind::NotRead | Blind::BeforeHold) => None,
        KeepReason::PodUnseen(blind) | KeepReason::NodeUnseen(blind) => Some(blind_word(blind)),
        KeepReason::NotListed => Some("not_listed"),
        KeepReason::ListDisagrees => Some("list_disagrees"),
        _ => None,
    }
}

/// What changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// Reclaim is on hold, or for another reason than before.
    Held(Trouble),
    /// It goes on.
    Resumed,
}

/// The present state, shared with those who show it.
#[derive(Debug, Clone)]
pub struct ReclaimState {
    state: Arc<Mutex<Reclaim>>,
    metrics: Metrics,
}

impl ReclaimState {
    /// Before the first pass.
    #[must_use]
    pub fn new(metrics: Metrics) -> Self {
        Self {
            state: Arc::new(Mutex::new(Reclaim::Starting)),
            metrics,
        }
    }

    /// The state now.
    #[must_use]
    pub fn get(&self) -> Reclaim {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.clone()
    }

    /// Takes in what a pass says. Answers with what is worth telling, once.
    pub fn update(&self, trouble: Option<Trouble>, now: Timestamp) -> Option<Change> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let (before, since) = match &*state {
            Reclaim::OnHold { reason, since, .. } => (Some(*reason), *since),
            Reclaim::Starting | Reclaim::Active => (None, now),
        };
        let Some(trouble) = trouble else {
            *state = Reclaim::Active;
            self.gauge(before, 0);
            return before.map(|_| Change::Resumed);
        };
        *state = Reclaim::OnHold {
            reason: trouble.reason,
            message: trouble.message.clone(),
            since,
        };
        let is_new = before != Some(trouble.reason);
        if is_new {
            self.gauge(before, 0);
            self.gauge(Some(trouble.reason), 1);
        }
        is_new.then_some(Change::Held(trouble))
    }

    fn gauge(&self, reason: Option<&'static str>, value: i64) {
        if let Some(reason) = reason {
            let labels = ReasonLabels { reason };
            self.metrics.on_hold.get_or_create(&labels).set(value);
        }
    }

    /// As annotations: the same names in every state, so that no old one stays.
    #[must_use]
    pub fn annotations(&self) -> BTreeMap<String, Option<String>> {
        let (word, reason, message, since) = match self.get() {
            Reclaim::Starting => ("starting", None, None, None),
            Reclaim::Active => ("active", None, None, None),
            Reclaim::OnHold {
                reason,
                message,
                since,
            } => (
                "on-hold",
                Some(reason.to_owned()),
                Some(message),
                Some(since.to_string()),
            ),
        };
        BTreeMap::from([
            (PREFIX.to_owned(), Some(word.to_owned())),
            (format!("{PREFIX}-reason"), reason),
            (format!("{PREFIX}-message"), message),
            (format!("{PREFIX}-since"), since),
        ])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trouble(reason: &'static str) -> Trouble {
        Trouble {
            reason,
            message: format!("because of {reason}"),
        }
    }

    #[test]
    fn each_change_is_told_once_and_the_beginning_stays() {
        let t = |second| Timestamp::from_second(second).unwrap();
        let state = ReclaimState::new(Metrics::new());
        assert_eq!(state.update(None, t(1)), None);
        let held = Some(Change::Held(trouble("forbidden")));
        assert_eq!(state.update(Some(trouble("forbidden")), t(2)), held);
        assert_eq!(state.update(Some(trouble("forbidden")), t(3)), None);
        let other = Some(Change::Held(trouble("timed_out")));
        assert_eq!(state.update(Some(trouble("timed_out")), t(4)), other);
        let annotations = state.annotations();
        assert_eq!(
            annotations["ipledger.io/reclaim"].as_deref(),
            Some("on-hold")
        );
        assert_eq!(
            annotations["ipledger.io/reclaim-since"].as_deref(),
            Some("1970-01-01T00:00:02Z")
        );
        assert_eq!(state.update(None, t(5)), Some(Change::Resumed));
        assert_eq!(state.update(None, t(6)), None);
        assert_eq!(state.annotations()["ipledger.io/reclaim-reason"], None);
        let text = state.metrics.encode().unwrap();
        assert!(text.contains(r#"ipledger_sync_reclaim_on_hold{reason="timed_out"} 0"#));
    }
}
