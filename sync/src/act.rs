//! What passes come to is done: holds are released, each by its address and step.

use std::sync::Arc;
use std::time::Duration;

use futures_util::stream::{self, StreamExt as _};
use ipledger_client::asynchronous::Client;
use ipledger_client::types::{ProblemCode, ReleaseHoldRequest};
use ipledger_client::{Budget, ClientError};
use serde::Serialize;
use serde_json::{Map, Value};

use crate::diff::{Evidence, HoldKey};
use crate::metrics::{Metrics, OutcomeLabels, ReasonLabels};
use crate::words;

/// How long one release may take with its retries.
const PATIENCE: Duration = Duration::from_secs(20);
/// How many releases are under way at once; the ledger decides those that wait together in one
/// batch.
const AT_ONCE: usize = 32;

/// What came of one release.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The hold ended by it, now or by an earlier try whose answer was lost.
    Freed,
    /// The hold had ended otherwise; nothing was done.
    EndedOtherwise,
    /// The ledger refused it. The next pass looks again.
    Refused,
    /// No answer, so it is not known. The next pass looks again.
    Unknown,
    /// The time was over before it was sent.
    NotSent,
}

impl Outcome {
    fn word(self) -> &'static str {
        match self {
            Outcome::Freed => "freed",
            Outcome::EndedOtherwise => "ended_otherwise",
            Outcome::Refused => "refused",
            Outcome::Unknown => "unknown",
            Outcome::NotSent => "not_sent",
        }
    }

    /// Whether the hold is over.
    #[must_use]
    pub fn is_over(self) -> bool {
        matches!(self, Outcome::Freed | Outcome::EndedOtherwise)
    }
}

/// Releases holds.
pub struct Releaser {
    ledger: Arc<Client>,
    metrics: Metrics,
}

impl Releaser {
    /// Through this client.
    #[must_use]
    pub fn new(ledger: Arc<Client>, metrics: Metrics) -> Self {
        Self { ledger, metrics }
    }

    /// Releases these holds. `left` tells how long this process may still act: nothing is sent
    /// after that, and what was sent is not applied after that.
    pub async fn release(
        &self,
        releases: Vec<Evidence>,
        left: impl Fn() -> Duration,
    ) -> Vec<(HoldKey, Outcome)> {
        stream::iter(releases)
            .map(|evidence| {
                let time = left().min(PATIENCE);
                async move { self.release_one(evidence, time).await }
            })
            .buffer_unordered(AT_ONCE)
            .collect()
            .await
    }

    async fn release_one(&self, evidence: Evidence, time: Duration) -> (HoldKey, Outcome) {
        let request = request(&evidence);
        let outcome = if time.is_zero() {
            Outcome::NotSent
        } else {
            let answer = self.ledger.release_hold(&request, Budget::within(time));
            self.outcome(&request, answer.await.map(drop))
        };
        let labels = OutcomeLabels {
            outcome: outcome.word(),
        };
        self.metrics.releases.get_or_create(&labels).inc();
        if outcome == Outcome::Freed {
            let reason = words::gone(evidence.pod_gone);
            self.metrics
                .freed
                .get_or_create(&ReasonLabels { reason })
                .inc();
            tell(&evidence, &request.reason);
        }
        (evidence.hold.key, outcome)
    }

    fn outcome(&self, request: &ReleaseHoldRequest, answer: Result<(), ClientError>) -> Outcome {
        let error = match answer {
            Ok(()) => return Outcome::Freed,
            Err(error) => error,
        };
        let outcome = match &error {
            ClientError::Problem(problem) if problem.code == ProblemCode::StepMismatch => {
                return Outcome::EndedOtherwise;
            }
            error if error.outcome_unknown() => Outcome::Unknown,
            ClientError::Problem(_) => Outcome::Refused,
            _ => Outcome::NotSent,
        };
        tracing::warn!(
            space = request.space,
            address = request.address,
            step = request.step,
            kind = error.kind(),
            %error,
            "a hold was not released; the next pass looks again"
        );
        outcome
    }
}

fn request(evidence: &Evidence) -> ReleaseHoldRequest {
    let key = &evidence.hold.key;
    ReleaseHoldRequest {
        space: key.space.clone(),
        address: key.address.to_string(),
        step: key.step,
        reason: reason(evidence),
        evidence: as_object(evidence),
        // Refused if the name was bound to another cluster after all.
        cluster_uid: Some(evidence.observation.cluster.uid().to_owned()),
        deadline_ms: None,
        claimed_at: None,
    }
}

/// In a few words; everything is in the evidence.
fn reason(evidence: &Evidence) -> String {
    let proofs = evidence.containers_gone.iter();
    let proofs: Vec<&str> = proofs.map(|proof| words::proof(*proof)).collect();
    let gone = words::gone(evidence.pod_gone);
    format!("sync: pod {gone}, containers {}", proofs.join("+"))
}

/// As it is judged again later.
fn as_object(evidence: &Evidence) -> Map<String, Value> {
    match serde_json::to_value(evidence) {
        Ok(Value::Object(map)) => map,
        other => unreachable!("evidence is a struct with text keys, so it is an object: {other:?}"),
    }
}

fn tell(evidence: &Evidence, reason: &str) {
    let hold = &evidence.hold;
    let owner = hold.owner.as_ref();
    let pod = owner.map(|owner| format!("{}/{}", owner.pod.namespace, owner.pod.name));
    tracing::info!(
        space = hold.key.space,
        address = %hold.key.address,
        step = hold.key.step,
        pod,
        node = owner.and_then(|owner| owner.node.as_deref()),
        pass = evidence.observation.pass,
        reason,
        "released"
    );
}
