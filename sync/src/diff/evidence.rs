use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::cluster::BoundCluster;
use super::hold::{Absence, Hold};
use super::judge::{Judgement, judge};
use super::read::{Node, PodRead, Read};
use super::settings::Settings;

/// Version of the rules that this code applies, and of the form of [`Evidence`]. It rises with
/// either; docs/freeing.md says what each version means.
pub const RULES: u32 = 2;

/// All that a pass knows about one hold.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Observation {
    /// Id of the pass that made the reads.
    pub pass: String,
    /// The cluster that answered.
    pub cluster: BoundCluster,
    /// The pod under the name of the owner.
    pub pod: PodRead,
    /// The node of the owner.
    pub node: Read<Node>,
    /// What earlier passes remember.
    pub absence: Option<Absence>,
}

/// What a release rests on: everything that the rules looked at, and what they made of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Evidence {
    /// Version of the rules, [`RULES`].
    pub rules: u32,
    /// When it was judged.
    pub judged_at: Timestamp,
    /// The hold, with its step.
    pub hold: Hold,
    /// Pass, cluster, reads, times, resource versions.
    pub observation: Observation,
    /// The settings at that time.
    pub settings: Settings,
    /// How it was seen that the pod is gone.
    pub pod_gone: PodGone,
    /// When that was first seen.
    pub absent_since: Timestamp,
    /// Every proof that its containers are gone too; at least one.
    pub containers_gone: Vec<ContainersGone>,
    /// The unreachable time-out is the only proof, so the address is to be handed out last.
    pub timed_out_only: bool,
}

/// How it was seen that a pod is gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PodGone {
    /// No pod has the name.
    NotFound,
    /// The name belongs to a pod with another UID.
    AnotherUid,
    /// The hold has no UID, and the name belongs to a pod of another node that was created after
    /// the hold.
    CreatedAfterHold,
    /// It ended, and every container was seen terminated.
    Finished,
    /// It is past its grace to terminate on a node out of service, and the settings allow it.
    TerminatingOnOutOfService,
}

/// A proof that the containers of a pod are gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ContainersGone {
    /// The pod was seen with all containers terminated.
    Terminated,
    /// The node was heard for a whole grace after the pod's absence was seen.
    NodeHeartbeat,
    /// The Node object is deleted.
    NodeDeleted,
    /// The Node object has another UID than before.
    NodeReplaced,
    /// The node carries the out-of-service taint.
    NodeOutOfService,
    /// The node has been unreachable for longer than the time-out.
    NodeUnreachable,
}

impl Evidence {
    /// Whether the stored reads lead to exactly this evidence, when they are judged again by code
    /// of the same version of the rules.
    #[must_use]
    pub fn follows_from_its_reads(&self) -> bool {
        let again = judge(
            &self.hold,
            &self.observation,
            &self.settings,
            self.judged_at,
        );
        matches!(again, Judgement::Free(evidence) if *evidence == *self)
    }
}
