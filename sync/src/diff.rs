//! Which holds may be freed: a pure function from holds, direct reads and a time to corrections.
//!
//! [`judge`] answers for one hold, [`diff`] for a whole pass. A hold is freed when all of this is
//! shown, and all of it is stored in the [`Evidence`]: the pod is gone ([`PodGone`]); its
//! containers are gone too ([`ContainersGone`]), because a force-deleted pod on a node that is
//! cut off may still answer for its address; the grace has passed since the absence was first
//! seen ([`Absence`]); the reads were made after the hold was seen, in the cluster that the
//! ledger has bound ([`BoundCluster`]).
//!
//! Whatever else a cluster says is no evidence. Lists of many pods, caches and status annotations
//! have no place in [`Observations`]; a refused or failed read is a [`Blind`] one and frees
//! nothing. A release names address and step ([`HoldKey`]), never a pod.
//!
//! All times but [`Hold::allocated_at`] and those that objects carry are by the clock of the
//! process that reads. It must not jump: take it from a monotonic clock that was set once.

mod cluster;
mod evidence;
mod hold;
mod judge;
mod pass;
mod read;
mod settings;

pub use cluster::{BoundCluster, ClusterError};
pub use evidence::{ContainersGone, Evidence, Observation, PodGone, RULES};
pub use hold::{Absence, FinishedPod, Hold, HoldKey, Look, Owner, PodName};
pub use judge::{Judgement, KeepReason, WaitReason, judge};
pub use pass::{Corrections, Observations, diff};
pub use read::{
    Blind, ContainerState, HeartbeatSource, Heartbeats, NameList, Node, Phase, Pod, PodRead, Read,
};
pub use settings::Settings;
