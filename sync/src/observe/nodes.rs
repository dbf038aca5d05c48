//! Node objects and their heartbeats as the rules see them.

use std::collections::HashMap;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1 as core;

use crate::diff::{HeartbeatSource, Heartbeats, Node};
use crate::kube_time::{of_micro_time, of_time};

const OUT_OF_SERVICE: &str = "node.kubernetes.io/out-of-service";
/// The longest time between two heartbeats without a gap, whatever a Lease says.
const LONGEST_BEAT: SignedDuration = SignedDuration::from_secs(40);

/// What matters of a Node object at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NodeObject {
    uid: String,
    resource_version: String,
    out_of_service: bool,
    /// Ready is `Unknown` since then, by the clock of the node controller.
    unknown_since: Option<Timestamp>,
}

/// `None` if it is not the node that was asked for, or not whole.
pub(crate) fn node(asked: &str, object: core::Node) -> Option<NodeObject> {
    let metadata = object.metadata;
    let is_asked = metadata.name.as_deref() == Some(asked);
    let spec = object.spec.unwrap_or_default();
    let conditions = object.status?.conditions.unwrap_or_default();
    let ready = conditions
        .into_iter()
        .find(|condition| condition.type_ == "Ready");
    let unknown = ready.filter(|condition| condition.status == "Unknown");
    Some(NodeObject {
        uid: metadata.uid.filter(|uid| is_asked && !uid.is_empty())?,
        resource_version: metadata.resource_version?,
        out_of_service: spec
            .taints
            .unwrap_or_default()
            .iter()
            .any(|taint| taint.key == OUT_OF_SERVICE),
        unknown_since: match unknown {
            None => None,
            Some(condition) => Some(of_time(&condition.last_transition_time?)),
        },
    })
}

/// A renewal of a node's Lease, as it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Renewal {
    renewed_at: Timestamp,
    longest_beat: SignedDuration,
}

/// `None` if the node does not renew it.
pub(crate) fn renewal(asked: &str, object: Lease) -> Option<Renewal> {
    let spec = object.spec?;
    let holder = spec.holder_identity.as_deref();
    let seconds = spec.lease_duration_seconds.unwrap_or(40);
    let named = object.metadata.name.as_deref() == Some(asked);
    (named && holder.is_none_or(|holder| holder == asked)).then_some(())?;
    Some(Renewal {
        renewed_at: of_micro_time(&spec.renew_time?),
        longest_beat: SignedDuration::from_secs(seconds.max(1).into()).min(LONGEST_BEAT),
    })
}

/// What is remembered about the nodes that are looked at, timed by this process.
#[derive(Debug, Default)]
pub struct NodeMemory {
    nodes: HashMap<String, Remembered>,
}

#[derive(Debug, Default)]
struct Remembered {
    /// Of the object that the rest belongs to.
    uid: Option<String>,
    /// When Ready was first read as `Unknown`.
    unknown_seen: Option<Timestamp>,
    beats: Option<Beats>,
}

/// A row of renewals without a gap.
#[derive(Debug)]
struct Beats {
    latest: Timestamp,
    /// When a read that showed the latest one was sent first, and last.
    shown_first: Timestamp,
    shown_last: Timestamp,
    /// Of the second renewal that was read after the last gap: the first may be old.
    unbroken_since: Option<Timestamp>,
    /// The one before the latest was still the latest then.
    later_than: Option<Timestamp>,
}

impl NodeMemory {
    /// Takes in a read of a Lease that was sent and answered at these moments.
    pub(crate) fn heard(
        &mut self,
        name: &str,
        read: Option<Renewal>,
        sent_at: Timestamp,
        answered_at: Timestamp,
    ) {
        let node = self.nodes.entry(name.to_owned()).or_default();
        let Some(renewal) = read else {
            node.beats = None;
            return;
        };
        let first = Beats {
            latest: renewal.renewed_at,
            shown_first: sent_at,
            shown_last: sent_at,
            unbroken_since: None,
            later_than: None,
        };
        node.beats = Some(match node.beats.take() {
            None => first,
            Some(beats) if beats.latest == renewal.renewed_at => Beats {
                shown_last: sent_at,
                ..beats
            },
            // It may have been silent in between.
            Some(beats) if answered_at > beats.shown_first + renewal.longest_beat => first,
            Some(beats) => Beats {
                later_than: Some(beats.shown_last),
                unbroken_since: Some(beats.unbroken_since.unwrap_or(answered_at)),
                ..first
            },
        });
    }

    /// Takes in a read of the object, and says what is known about the node.
    pub(crate) fn seen(&mut self, name: &str, object: NodeObject, read_at: Timestamp) -> Node {
        let node = self.nodes.entry(name.to_owned()).or_default();
        if node.uid.as_ref().is_some_and(|uid| *uid != object.uid) {
            *node = Remembered::default();
        }
        node.uid = Some(object.uid.clone());
        node.unknown_seen = object
            .unknown_since
            .map(|_| node.unknown_seen.unwrap_or(read_at));
        Node {
            uid: object.uid,
            resource_version: object.resource_version,
            heartbeats: node.heartbeats(),
            out_of_service: object.out_of_service,
            unreachable_since: object.unknown_since.max(node.unknown_seen),
        }
    }

    /// The object is gone, and with it what was known.
    pub(crate) fn gone(&mut self, name: &str) {
        self.nodes.remove(name);
    }

    /// The heartbeats of a node, if two different ones were read without a gap.
    #[must_use]
    pub fn heartbeats(&self, name: &str) -> Option<Heartbeats> {
        self.nodes.get(name)?.heartbeats()
    }

    /// Forgets all nodes but these.
    pub fn keep(&mut self, wanted: impl Fn(&str) -> bool) {
        self.nodes.retain(|name, _| wanted(name));
    }
}

impl Remembered {
    fn heartbeats(&self) -> Option<Heartbeats> {
        let beats = self.beats.as_ref()?;
        Some(Heartbeats {
            source: HeartbeatSource::Lease,
            written_at: beats.latest,
            unbroken_since: beats.unbroken_since?,
            later_than: beats.later_than?,
        })
    }
}

#[cfg(test)]
#[path = "nodes/tests.rs"]
mod tests;
