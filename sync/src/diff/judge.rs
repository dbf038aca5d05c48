use jiff::Timestamp;
use serde::Serialize;

use super::evidence::{ContainersGone, Evidence, Observation, PodGone, RULES};
use super::hold::{Absence, FinishedPod, Hold, Owner};
use super::read::{Blind, NameList, Node, Pod, Read};
use super::settings::{Settings, after};

/// What to do with a hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Judgement {
    /// Nothing.
    Keep(KeepReason),
    /// Time alone may change the judgement, at this moment at the earliest.
    Wait(Timestamp, WaitReason),
    /// Release it.
    Free(Box<Evidence>),
}

/// Why a hold stays.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum KeepReason {
    /// It belongs to another cluster.
    OtherCluster,
    /// Two different holds were shown under its address and step.
    ShownTwice,
    /// The ledger does not know its pod.
    NoOwner,
    /// The GET of the pod says nothing.
    PodUnseen(Blind),
    /// No LIST by name stands beside the GET.
    NotListed,
    /// The LIST by name does not show what the GET did.
    ListDisagrees,
    /// The pod is there.
    PodLives,
    /// The hold has no UID, and the pod under its name may be its own.
    MayBeItsPod,
    /// The pod has ended by its phase, but not every container was seen terminated.
    ContainersNotTerminated,
    /// The pod is gone; where its containers ran is not known.
    NodeUnknown,
    /// The pod is gone; the GET of its node says nothing.
    NodeUnseen(Blind),
    /// The pod is gone; nothing shows that its containers are. Heartbeats for a whole grace would
    /// (not for a static pod), and the deletion of the node or its out-of-service taint.
    ContainersMayRun,
}

/// What a hold waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum WaitReason {
    /// The grace since the absence was first seen.
    Grace,
    /// The time-out of an unreachable node.
    NodeTimeout,
    /// A second, independent look, since the pass would free unusually many.
    SecondLook,
}

/// Judges one hold. A read counts for the time at which it was made, so a stale one never ripens.
#[must_use]
pub fn judge(hold: &Hold, seen: &Observation, settings: &Settings, now: Timestamp) -> Judgement {
    Case::open(hold, seen, settings)
        .and_then(|case| case.judge(now))
        .unwrap_or_else(Judgement::Keep)
}

/// What the next pass must know about this hold. A pass that could not see changes nothing; one
/// that saw the pod forgets.
pub(super) fn remember(hold: &Hold, seen: &Observation, settings: &Settings) -> Option<Absence> {
    use KeepReason::{ContainersNotTerminated, MayBeItsPod, PodLives};
    let found = Case::open(hold, seen, settings).and_then(|case| Ok((case.find_gone()?, case)));
    match found {
        Ok(((how, since), case)) => Some(case.absence(how, since)),
        Err(PodLives | MayBeItsPod | ContainersNotTerminated) => None,
        Err(_) => seen.absence.clone(),
    }
}

/// A hold of the cluster that was read.
struct Case<'a> {
    hold: &'a Hold,
    owner: &'a Owner,
    seen: &'a Observation,
    settings: &'a Settings,
}

impl<'a> Case<'a> {
    fn open(
        hold: &'a Hold,
        seen: &'a Observation,
        settings: &'a Settings,
    ) -> Result<Case<'a>, KeepReason> {
        if hold.cluster != seen.cluster.name() {
            return Err(KeepReason::OtherCluster);
        }
        let owner = hold.owner.as_ref().ok_or(KeepReason::NoOwner)?;
        Ok(Case {
            hold,
            owner,
            seen,
            settings,
        })
    }

    fn judge(&self, now: Timestamp) -> Result<Judgement, KeepReason> {
        let (pod_gone, absent_since) = self.find_gone()?;
        let until = after(absent_since, self.settings.grace_seconds);
        // Seen again after the grace: a pass may stand still between its reads.
        let is_seen_again = self.seen.pod.get.at().is_some_and(|at| at >= until);
        if now < until || !is_seen_again {
            return Ok(Judgement::Wait(until, WaitReason::Grace));
        }
        let containers_gone = self.find_proofs(pod_gone, absent_since);
        if containers_gone.is_empty() {
            return self.without_proof(now);
        }
        Ok(Judgement::Free(Box::new(Evidence {
            rules: RULES,
            judged_at: now,
            hold: self.hold.clone(),
            observation: self.seen.clone(),
            settings: self.settings.clone(),
            pod_gone,
            absent_since,
            timed_out_only: containers_gone == [ContainersGone::NodeUnreachable],
            containers_gone,
        })))
    }

    /// How the pod is gone, and since when that is known.
    fn find_gone(&self) -> Result<(PodGone, Timestamp), KeepReason> {
        let read = self.seen.pod.get.since(self.hold.seen_at);
        let (at, found) = read.map_err(KeepReason::PodUnseen)?;
        let stranger = found.map_or(Some(PodGone::NotFound), |pod| self.stranger(pod));
        let how = match (stranger, found) {
            (None, Some(pod)) => self.own_pod(at, pod)?,
            (how, found) => {
                let list = self.seen.pod.list.as_ref().ok_or(KeepReason::NotListed)?;
                confirm(at, list, found)?;
                how.unwrap_or(PodGone::NotFound)
            }
        };
        let absence = self.seen.absence.as_ref();
        Ok((how, absence.map_or(at, |absence| absence.since)))
    }

    /// How the pod is known to be another one; `None` if it is or may be the owner.
    fn stranger(&self, pod: &Pod) -> Option<PodGone> {
        if let Some(uid) = &self.owner.uid {
            return (!pod.is(uid)).then_some(PodGone::AnotherUid);
        }
        // The clock alone is not enough: a database whose clock is behind, or a mirror that was
        // written anew, would make a living pod look newer than its hold. On the same node the
        // newer pod's own ADD ends the hold.
        let difference = self.settings.clock_difference_seconds;
        let is_newer = pod.created_at > after(self.hold.allocated_at, difference);
        let nodes = self.owner.node.as_ref().zip(pod.node.as_ref());
        let is_elsewhere = nodes.is_some_and(|(held_on, node)| held_on != node);
        (is_newer && is_elsewhere).then_some(PodGone::CreatedAfterHold)
    }

    /// Whether the owner, which is there, counts as gone.
    fn own_pod(&self, read_at: Timestamp, pod: &Pod) -> Result<PodGone, KeepReason> {
        let grace = self.settings.grace_seconds;
        let overdue = |end| read_at >= after(end, grace);
        let abandoned = self.settings.free_terminating_on_out_of_service
            && pod.terminating_until.is_some_and(overdue)
            && self.node().is_some_and(|(_, node)| node.out_of_service);
        if self.owner.uid.is_none() {
            // Its pod may be an older one of this name, on a node that is cut off.
            Err(KeepReason::MayBeItsPod)
        } else if pod.is_finished() {
            Ok(PodGone::Finished)
        } else if abandoned {
            Ok(PodGone::TerminatingOnOutOfService)
        } else if pod.has_ended() {
            Err(KeepReason::ContainersNotTerminated)
        } else {
            Err(KeepReason::PodLives)
        }
    }

    /// The node, if the hold names it and it was found after the hold was known.
    fn node(&self) -> Option<(Timestamp, &'a Node)> {
        self.owner.node.as_ref()?;
        let (at, node) = self.seen.node.since(self.hold.seen_at).ok()?;
        Some((at, node?))
    }

    fn find_proofs(&self, pod_gone: PodGone, absent_since: Timestamp) -> Vec<ContainersGone> {
        let node_read = self.seen.node.since(self.hold.seen_at);
        let deleted = self.owner.node.is_some() && matches!(node_read, Ok((_, None)));
        let terminated = pod_gone == PodGone::Finished || self.was_finished();
        let (read_at, node) = self.node().unzip();
        let heard = |node: &Node| self.stops_with_its_object() && self.is_heard(node, absent_since);
        let absence = self.seen.absence.as_ref();
        let before = absence.and_then(|absence| absence.node_uid.as_ref());
        let replaced = |node: &Node| before.is_some_and(|uid| *uid != node.uid);
        let timeout = node.and_then(|node| self.timeout_of(node));
        let timed_out = read_at.zip(timeout).is_some_and(|(at, end)| at > end);
        let out_of_service = node.is_some_and(|node| node.out_of_service);
        [
            (terminated, ContainersGone::Terminated),
            (node.is_some_and(heard), ContainersGone::NodeHeartbeat),
            (deleted, ContainersGone::NodeDeleted),
            (node.is_some_and(replaced), ContainersGone::NodeReplaced),
            (out_of_service, ContainersGone::NodeOutOfService),
            (timed_out, ContainersGone::NodeUnreachable),
        ]
        .into_iter()
        .filter_map(|(holds, proof)| holds.then_some(proof))
        .collect()
    }

    fn was_finished(&self) -> bool {
        let absence = self.seen.absence.as_ref();
        let finished = absence.and_then(|absence| absence.finished.as_ref());
        finished.is_some_and(|finished| {
            let own = |uid: &String| finished.pod.is(uid);
            finished.pod.is_finished() && self.owner.uid.as_ref().is_some_and(own)
        })
    }

    /// Whether a kubelet that is heard has stopped the pod. A static pod runs without its mirror,
    /// which somebody may delete and an admission rule may keep away; it has been stopped only if
    /// another static pod has taken its name on its node.
    fn stops_with_its_object(&self) -> bool {
        let successor = match &self.seen.pod.get {
            Read::Found(_, pod) if pod.mirror_of.is_some() => pod.node.as_ref(),
            _ => None,
        };
        !self.owner.is_static() || (successor.is_some() && successor == self.owner.node.as_ref())
    }

    /// For a whole grace after the absence was seen, without a gap.
    fn is_heard(&self, node: &Node, absent_since: Timestamp) -> bool {
        let heartbeats = node.heartbeats.as_ref();
        heartbeats.is_some_and(|heard| heard.cover(absent_since, self.settings.grace_seconds))
    }

    /// When the time-out of a node that is unreachable ends.
    fn timeout_of(&self, node: &Node) -> Option<Timestamp> {
        let seconds = self.settings.unreachable_node_timeout_seconds?;
        Some(after(node.unreachable_since?, seconds))
    }

    fn without_proof(&self, now: Timestamp) -> Result<Judgement, KeepReason> {
        if self.owner.node.is_none() {
            return Err(KeepReason::NodeUnknown);
        }
        let read = self.seen.node.since(self.hold.seen_at);
        let (_, node) = read.map_err(KeepReason::NodeUnseen)?;
        match node.and_then(|node| self.timeout_of(node)) {
            Some(end) if end > now => Ok(Judgement::Wait(end, WaitReason::NodeTimeout)),
            _ => Err(KeepReason::ContainersMayRun),
        }
    }

    fn absence(&self, how: PodGone, since: Timestamp) -> Absence {
        let mut absence = self.seen.absence.clone().unwrap_or(Absence {
            since,
            node_uid: None,
            finished: None,
            first_look: None,
        });
        if let (None, Some((_, node))) = (&absence.node_uid, self.node()) {
            absence.node_uid = Some(node.uid.clone());
        }
        if let (PodGone::Finished, Read::Found(at, pod)) = (how, &self.seen.pod.get) {
            let (at, pod) = (*at, pod.clone());
            absence.finished.get_or_insert(FinishedPod { at, pod });
        }
        absence
    }
}

/// The LIST is a consistent one, came after the GET and shows the same.
fn confirm(get_at: Timestamp, list: &NameList, found: Option<&Pod>) -> Result<(), KeepReason> {
    let consistent = !matches!(list.resource_version.as_str(), "" | "0");
    let same = list.uid.as_ref() == found.map(|pod| &pod.uid);
    if consistent && list.at >= get_at && same {
        Ok(())
    } else {
        Err(KeepReason::ListDisagrees)
    }
}
