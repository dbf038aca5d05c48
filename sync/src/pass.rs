//! One pass: who answers, which holds there are, what their pods and nodes show, and what follows.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use ipledger_client::asynchronous::Client;
use jiff::Timestamp;
use uuid::Uuid;

use crate::clock::SharedClock;
use crate::diff::{
    Absence, Corrections, Hold, HoldKey, KeepReason, Observations, PodName, PodRead, Read,
    Settings, WaitReason, diff,
};
use crate::holds::Holds;
use crate::identity::{FirstContact, Identity};
use crate::observe::{DirectReader, Health, NodeMemory, PodIndex, Shown, Suspect};
use crate::obstacle::Obstacle;
use crate::window::Window;

/// How many holds that are shown alive are read while a watch fails.
const MANY_OTHERS: usize = 256;

/// Makes the ids of passes.
pub type PassIds = Arc<dyn Fn() -> Uuid + Send + Sync>;

/// What passes of one process take from outside.
#[derive(Clone)]
pub struct Outside {
    /// The ledger.
    pub ledger: Arc<Client>,
    /// The cluster, past all caches.
    pub reader: Arc<DirectReader>,
    /// Tells the time.
    pub clock: SharedClock,
    /// Makes the ids of passes.
    pub ids: PassIds,
}

/// Looks at the holds of one cluster, pass after pass, and remembers what the next one needs.
/// The memory lives no longer than this: a restart begins every grace anew.
pub struct Looker {
    outside: Outside,
    settings: Settings,
    identity: Identity,
    holds: Holds,
    nodes: NodeMemory,
    absences: BTreeMap<HoldKey, Absence>,
}

/// Which holds a pass looks at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Focus {
    /// All.
    All,
    /// Those in these windows: somebody waits for one of their addresses.
    Windows(Vec<Window>),
}

/// When to look again after a pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Outlook {
    /// At once, since what it would have freed was unusually much.
    pub second_look: bool,
    /// When time alone may change something first.
    pub due: Option<Timestamp>,
}

/// What a pass came to.
#[derive(Debug)]
pub struct Look {
    /// Id of the pass.
    pub id: String,
    /// When it judged.
    pub at: Timestamp,
    /// What follows from what it saw.
    pub corrections: Corrections,
}

impl Looker {
    /// For this cluster, with nothing remembered.
    #[must_use]
    pub fn new(
        cluster: &str,
        first_contact: FirstContact,
        settings: Settings,
        outside: Outside,
    ) -> Self {
        Self {
            identity: Identity::new(cluster, first_contact),
            holds: Holds::new(cluster, Arc::clone(&outside.clock)),
            outside,
            settings,
            nodes: NodeMemory::default(),
            absences: BTreeMap::new(),
        }
    }

    /// Makes a pass.
    ///
    /// # Errors
    /// Nothing can be judged now; what is remembered stays.
    pub async fn look(
        &mut self,
        focus: &Focus,
        index: &PodIndex,
        health: &Health,
    ) -> Result<Look, Obstacle> {
        let Outside {
            ledger,
            reader,
            clock,
            ids,
        } = self.outside.clone();
        // First the holds, then everything else: only what is read later says anything of them.
        self.holds.refresh(&ledger).await?;
        let cluster = self.identity.prove(&reader, &ledger).await?;
        if !health.is_listed() {
            return Err(Obstacle::PodsNotListed(health.error()));
        }
        let suspects = self.suspects(focus, index, health);
        let pods = reader.pods(grouped(&suspects)).await;
        let pods: BTreeMap<PodName, PodRead> = pods.into_iter().collect();
        let nodes = nodes_of(&suspects, &pods);
        let nodes = reader.nodes(nodes, &mut self.nodes).await;
        let id = ids().to_string();
        let observations = Observations {
            pass: id.clone(),
            cluster,
            pods,
            nodes: nodes.into_iter().collect(),
            absences: std::mem::take(&mut self.absences),
        };
        let at = clock.now();
        let corrections = diff(self.holds.all().values(), &observations, &self.settings, at);
        self.absences.clone_from(&corrections.absences);
        let watched = self.watched_nodes();
        self.nodes.keep(|name| watched.contains(name));
        Ok(Look {
            id,
            at,
            corrections,
        })
    }

    /// Holds that are worth a direct read: those whose pod is not shown alive, and those whose
    /// pod was gone before, which only a read can contradict.
    fn suspects(&self, focus: &Focus, index: &PodIndex, health: &Health) -> Vec<&Hold> {
        let in_focus = |hold: &&Hold| match focus {
            Focus::All => true,
            Focus::Windows(windows) => windows.iter().any(|window| window.has(&hold.key)),
        };
        let is_suspect = |hold: &&Hold| match index.shows(hold) {
            Shown::NoOwner => false,
            Shown::Otherwise => true,
            Shown::Alive => self.absences.contains_key(&hold.key),
        };
        let holds = self.holds.all().values().filter(in_focus);
        let mut suspects: Vec<&Hold> = holds.clone().filter(is_suspect).collect();
        // While a watch fails, what it shows as alive may be gone: somebody waits for these.
        if *focus != Focus::All && health.error().is_some() {
            let others = holds.filter(|hold| index.shows(hold) == Shown::Alive);
            suspects.extend(others.take(MANY_OTHERS));
        }
        suspects
    }

    /// The hold of a key, with its owner.
    #[must_use]
    pub fn hold(&self, key: &HoldKey) -> Option<&Hold> {
        self.holds.all().get(key)
    }

    /// The names of pods that hold addresses.
    pub fn holders(&self) -> impl Iterator<Item = &PodName> {
        let owners = self
            .holds
            .all()
            .values()
            .filter_map(|hold| hold.owner.as_ref());
        owners.map(|owner| &owner.pod)
    }

    /// The nodes whose heartbeats are needed: those of absent pods.
    fn watched_nodes(&self) -> BTreeSet<String> {
        let absent = self.absences.keys().filter_map(|key| self.hold(key));
        absent
            .filter_map(|hold| hold.owner.as_ref()?.node.clone())
            .collect()
    }

    /// A hold is over: what was remembered about it goes.
    pub fn forget(&mut self, key: &HoldKey) {
        self.absences.remove(key);
    }

    /// Whether anything waits for heartbeats.
    #[must_use]
    pub fn wants_heartbeats(&self) -> bool {
        !self.absences.is_empty()
    }

    /// Reads the heartbeats of the nodes that absent pods ran on. Says whether a hold may be
    /// free by them now.
    pub async fn hear(&mut self) -> bool {
        let names = self.watched_nodes().into_iter().collect();
        let reader = Arc::clone(&self.outside.reader);
        reader.heartbeats(names, &mut self.nodes).await;
        let grace = self.settings.grace_seconds;
        self.absences.iter().any(|(key, absence)| {
            let owner = self.hold(key).and_then(|hold| hold.owner.as_ref());
            let node = owner.and_then(|owner| owner.node.as_ref());
            let heard = node.and_then(|name| self.nodes.heartbeats(name));
            heard.is_some_and(|heard| heard.cover(absence.since, grace))
        })
    }
}

/// One read for each name, whichever of the holds asks for it.
fn grouped<'a>(suspects: &[&'a Hold]) -> Vec<Suspect<'a>> {
    let mut by_name: BTreeMap<&PodName, Vec<Option<&str>>> = BTreeMap::new();
    for owner in suspects.iter().filter_map(|hold| hold.owner.as_ref()) {
        let uids = by_name.entry(&owner.pod).or_default();
        uids.push(owner.uid.as_deref());
    }
    let suspect = |(name, uids)| Suspect { name, uids };
    by_name.into_iter().map(suspect).collect()
}

/// The nodes of those whose pod was not found to be there and running.
fn nodes_of(suspects: &[&Hold], pods: &BTreeMap<PodName, PodRead>) -> Vec<String> {
    let mut nodes = BTreeSet::new();
    for owner in suspects.iter().filter_map(|hold| hold.owner.as_ref()) {
        let lives = match pods.get(&owner.pod).map(|read| &read.get) {
            Some(Read::Found(_, pod)) => {
                let is_own = owner.uid.as_deref().is_none_or(|uid| pod.is(uid));
                is_own && !pod.is_finished() && pod.terminating_until.is_none()
            }
            Some(Read::Blind(_)) | None => true,
            Some(Read::NotFound(_)) => false,
        };
        if let (false, Some(node)) = (lives, &owner.node) {
            nodes.insert(node.clone());
        }
    }
    nodes.into_iter().collect()
}

impl Look {
    /// Why holds with absent or unseen pods stay, which are worth telling; the living and those
    /// that nobody looked at are not.
    pub fn kept(&self) -> impl Iterator<Item = (&HoldKey, KeepReason)> {
        let kept = self.corrections.kept.iter();
        kept.map(|(key, reason)| (key, *reason))
            .filter(|(_, reason)| !is_quiet(*reason))
    }

    /// When to look again.
    #[must_use]
    pub fn outlook(&self) -> Outlook {
        let waiting = self.corrections.waiting.values();
        let by_time = waiting.filter(|(_, reason)| *reason != WaitReason::SecondLook);
        Outlook {
            second_look: !self.corrections.withheld.is_empty(),
            due: by_time.map(|(until, _)| *until).min(),
        }
    }

    /// Whether everything is as it should be: no pod behind a hold is gone.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        let Corrections {
            releases,
            waiting,
            absences,
            ..
        } = &self.corrections;
        releases.is_empty() && waiting.is_empty() && absences.is_empty()
    }
}

fn is_quiet(reason: KeepReason) -> bool {
    use crate::diff::Blind::NotRead;
    matches!(
        reason,
        KeepReason::PodLives | KeepReason::OtherCluster | KeepReason::PodUnseen(NotRead)
    )
}
