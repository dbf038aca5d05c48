use std::collections::BTreeMap;

use jiff::Timestamp;

use super::cluster::BoundCluster;
use super::evidence::{Evidence, Observation};
use super::hold::{Absence, Hold, HoldKey, Look, PodName};
use super::judge::{Judgement, KeepReason, WaitReason, judge, remember};
use super::read::{Blind, Node, PodRead, Read};
use super::settings::Settings;

/// All that one pass has read. A pod or node that is not in here was not read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Observations {
    /// Id of the pass.
    pub pass: String,
    /// The cluster that answered, verified in this pass.
    pub cluster: BoundCluster,
    /// Direct reads of pods.
    pub pods: BTreeMap<PodName, PodRead>,
    /// Direct reads of nodes, by name.
    pub nodes: BTreeMap<String, Read<Node>>,
    /// [`Corrections::absences`] of the pass before.
    pub absences: BTreeMap<HoldKey, Absence>,
}

impl Observations {
    /// What was read that concerns this hold.
    #[must_use]
    pub fn about(&self, hold: &Hold) -> Observation {
        let owner = hold.owner.as_ref();
        let pod = owner.and_then(|owner| self.pods.get(&owner.pod));
        let node = owner.and_then(|owner| self.nodes.get(owner.node.as_ref()?));
        Observation {
            pass: self.pass.clone(),
            cluster: self.cluster.clone(),
            pod: pod.cloned().unwrap_or(PodRead {
                get: Read::Blind(Blind::NotRead),
                list: None,
            }),
            node: node.cloned().unwrap_or(Read::Blind(Blind::NotRead)),
            absence: self.absences.get(&hold.key).cloned(),
        }
    }
}

/// What a pass concludes, in the order of space, address and step.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Corrections {
    /// Release these, each by the address and step of its hold.
    pub releases: Vec<Evidence>,
    /// These would be freed, but wait for a second look; they are in `waiting` too.
    pub withheld: Vec<Evidence>,
    /// Look at these again, at this moment at the earliest.
    pub waiting: BTreeMap<HoldKey, (Timestamp, WaitReason)>,
    /// Nothing to do.
    pub kept: BTreeMap<HoldKey, KeepReason>,
    /// What the next pass must be given.
    pub absences: BTreeMap<HoldKey, Absence>,
    /// How many holds of this cluster the pass was shown.
    pub cluster_holds: usize,
}

/// Judges all holds that the ledger shows. Give it all of them, also those whose pods were not
/// read: the share that a pass would free is measured against them.
#[must_use]
pub fn diff<'a>(
    holds: impl IntoIterator<Item = &'a Hold>,
    observations: &Observations,
    settings: &Settings,
    now: Timestamp,
) -> Corrections {
    let mut corrections = Corrections::default();
    let mut free = Vec::new();
    for (key, hold) in by_key(holds) {
        let Some(hold) = hold else {
            corrections.kept.insert(key, KeepReason::ShownTwice);
            continue;
        };
        let in_cluster = hold.cluster == observations.cluster.name();
        corrections.cluster_holds += usize::from(in_cluster);
        let seen = observations.about(hold);
        if let Some(absence) = remember(hold, &seen, settings) {
            corrections.absences.insert(key.clone(), absence);
        }
        match judge(hold, &seen, settings, now) {
            Judgement::Keep(reason) => drop(corrections.kept.insert(key, reason)),
            Judgement::Wait(until, reason) => {
                corrections.waiting.insert(key, (until, reason));
            }
            Judgement::Free(evidence) => free.push(*evidence),
        }
    }
    decide_releases(&mut corrections, free, settings, now);
    corrections
}

/// Each hold once; `None` where one key stands for different contents.
fn by_key<'a>(holds: impl IntoIterator<Item = &'a Hold>) -> BTreeMap<HoldKey, Option<&'a Hold>> {
    let mut distinct = BTreeMap::new();
    for hold in holds {
        let first = distinct.entry(hold.key.clone()).or_insert(Some(hold));
        *first = first.filter(|first| *first == hold);
    }
    distinct
}

/// Releases what may go now: in an unusual pass, what an earlier pass came to as well.
fn decide_releases(
    corrections: &mut Corrections,
    free: Vec<Evidence>,
    settings: &Settings,
    now: Timestamp,
) {
    let holds = corrections.cluster_holds;
    let percent = u128::from(settings.unusual_share_percent);
    let unusual = holds >= settings.unusual_share_from_holds
        && free.len() as u128 * 100 >= holds as u128 * percent;
    for evidence in free {
        if !unusual || is_second_look(&evidence.observation) {
            corrections.releases.push(evidence);
            continue;
        }
        let key = evidence.hold.key.clone();
        if let Some(absence) = corrections.absences.get_mut(&key) {
            let pass = evidence.observation.pass.clone();
            absence.first_look.get_or_insert(Look { pass, at: now });
        }
        corrections
            .waiting
            .insert(key, (now, WaitReason::SecondLook));
        corrections.withheld.push(evidence);
    }
}

/// An earlier pass came to the same, and everything was read anew since.
fn is_second_look(seen: &Observation) -> bool {
    let first_look = seen
        .absence
        .as_ref()
        .and_then(|absence| absence.first_look.as_ref());
    first_look.is_some_and(|first| {
        let is_new = |at: Timestamp| at > first.at;
        first.pass != seen.pass
            && is_new(seen.cluster.read_at())
            && seen.pod.get.at().is_some_and(is_new)
            && seen.node.at().is_none_or(is_new)
    })
}
