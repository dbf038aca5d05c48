use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::settings::after;

/// A direct GET by name, without resource version.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Read<T> {
    /// No answer about the object.
    Blind(Blind),
    /// 404 with a Status whose reason is `NotFound` and whose details name the object. Sent at.
    NotFound(Timestamp),
    /// The object. Sent at.
    Found(Timestamp, T),
}

/// Why a read says nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Blind {
    /// Nobody looked.
    NotRead,
    /// It was made before the hold was known.
    BeforeHold,
    /// 401 or 403.
    Forbidden,
    /// No answer in time, or the connection broke.
    TimedOut,
    /// 410, 429 or 5xx.
    ServerError,
    /// Not what was asked for: cut off, a bare 404, another kind or name.
    Unreadable,
}

impl<T> Read<T> {
    /// When the GET was sent, if it was answered.
    pub(super) fn at(&self) -> Option<Timestamp> {
        match self {
            Read::Blind(_) => None,
            Read::NotFound(at) | Read::Found(at, _) => Some(*at),
        }
    }

    /// What it says about a hold that is known since `seen_at`: when, and the object if any.
    pub(super) fn since(&self, seen_at: Timestamp) -> Result<(Timestamp, Option<&T>), Blind> {
        match self {
            Read::Blind(why) => Err(*why),
            Read::NotFound(at) | Read::Found(at, _) if *at < seen_at => Err(Blind::BeforeHold),
            Read::NotFound(at) => Ok((*at, None)),
            Read::Found(at, object) => Ok((*at, Some(object))),
        }
    }
}

/// What was read about the pod that has the name of a hold's owner.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PodRead {
    /// The GET.
    pub get: Read<Pod>,
    /// The LIST that followed. A living pod needs none; nothing is freed on the GET alone.
    pub list: Option<NameList>,
}

/// A consistent LIST: one namespace, field selector `metadata.name=`, no resource version asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NameList {
    /// When it was sent.
    pub at: Timestamp,
    /// Of the list. Empty or `0` is no state of the cluster, and proves nothing.
    pub resource_version: String,
    /// UID of the one item, if there is one.
    pub uid: Option<String>,
}

/// What matters of a pod object.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pod {
    /// `metadata.uid`.
    pub uid: String,
    /// The annotation `kubernetes.io/config.mirror`: the UID of the static pod on the node.
    pub mirror_of: Option<String>,
    /// `metadata.resourceVersion`.
    pub resource_version: String,
    /// `spec.nodeName`, once it has one; a pod never moves.
    pub node: Option<String>,
    /// `metadata.creationTimestamp`, by the API server's clock.
    pub created_at: Timestamp,
    /// `metadata.deletionTimestamp`: when the pod's own grace to terminate ends.
    pub terminating_until: Option<Timestamp>,
    /// `status.phase`.
    pub phase: Phase,
    /// Every container of the spec by name: init, regular and ephemeral ones.
    pub containers: BTreeMap<String, ContainerState>,
}

/// `status.phase`; podgc writes `Failed` for pods of lost nodes too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Phase {
    /// Accepted; not every container runs yet.
    Pending,
    /// Bound to a node; a container runs.
    Running,
    /// Every container ended well.
    Succeeded,
    /// Every container ended, one of them badly; podgc writes this on lost nodes too.
    Failed,
    /// The node cannot be asked.
    Unknown,
}

/// State of a container by its status; `Unreported` if the status does not mention it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ContainerState {
    /// Its status is missing.
    Unreported,
    /// Not started yet.
    Waiting,
    /// Running.
    Running,
    /// Seen terminated.
    Terminated,
}

impl Pod {
    /// Whether this is the pod that the runtime knows under `uid`. Either match counts, so that
    /// an annotation can never make a living pod another one.
    pub(crate) fn is(&self, uid: &str) -> bool {
        self.uid == uid || self.mirror_of.as_deref() == Some(uid)
    }

    pub(super) fn has_ended(&self) -> bool {
        matches!(self.phase, Phase::Succeeded | Phase::Failed)
    }

    /// Ended, and every container was seen terminated. The phase alone can come from podgc, and
    /// containers alone can be between two restarts.
    pub(crate) fn is_finished(&self) -> bool {
        let mut states = self.containers.values();
        let all_terminated = states.all(|state| *state == ContainerState::Terminated);
        self.has_ended() && !self.containers.is_empty() && all_terminated
    }
}

/// What matters of a node object and its Lease.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Node {
    /// `metadata.uid`.
    pub uid: String,
    /// `metadata.resourceVersion`.
    pub resource_version: String,
    /// Heartbeats, once two different ones were read.
    pub heartbeats: Option<Heartbeats>,
    /// The taint `node.kubernetes.io/out-of-service` is set.
    pub out_of_service: bool,
    /// When the Ready condition became `Unknown`, or when this process first read that, if that
    /// is later, so that no wrong clock shortens the time-out; `None` while the node reports.
    pub unreachable_since: Option<Timestamp>,
}

/// Heartbeats that came without a gap.
///
/// A heartbeat carries the node's own clock, which may be wrong, so what is compared are the
/// moments at which this process read a changed value, as Kubernetes' node controller does. And
/// a node that returns is heard before it has stopped the containers of deleted pods, so one
/// heartbeat is not enough: hence the beginning.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Heartbeats {
    /// Where they were read.
    pub source: HeartbeatSource,
    /// What the last one says, by the node's clock; for the record only.
    pub written_at: Timestamp,
    /// When the first one after the last gap was read.
    pub unbroken_since: Timestamp,
    /// The last one came after this moment: the one before it was still the latest then.
    pub later_than: Timestamp,
}

impl Heartbeats {
    /// Whether they came for a whole grace after an absence was seen, without a gap.
    #[must_use]
    pub fn cover(&self, absent_since: Timestamp, grace_seconds: u32) -> bool {
        let from = self.unbroken_since.max(absent_since);
        self.later_than >= after(from, grace_seconds)
    }
}

/// Where heartbeats come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HeartbeatSource {
    /// `renewTime` of the node's Lease.
    Lease,
    /// `lastHeartbeatTime` of the Ready condition.
    ReadyCondition,
}
