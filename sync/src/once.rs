//! `ipledger-sync once`: looks, says what differs, and corrects it unless it is a dry run.

mod table;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use serde::Serialize;
use tokio::time::Instant;

use crate::act::{Outcome, Releaser};
use crate::config::LookConfig;
use crate::diff::{Evidence, Hold, HoldKey};
use crate::identity::FirstContact;
use crate::metrics::Metrics;
use crate::observe::Watches;
use crate::obstacle::Obstacle;
use crate::pass::{Focus, Look, Looker};
use crate::run::World;
use crate::words;

/// How `once` goes about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OnceConfig {
    /// Write nothing: neither the ledger nor the cluster is changed.
    pub dry_run: bool,
    /// How long it may go on looking while something waits: no look alone frees anything, since
    /// the grace counts from the first one.
    pub wait: Duration,
}

/// What a run of `once` came to.
#[derive(Debug, Serialize)]
pub struct Findings {
    /// The cluster's configured name.
    pub cluster: String,
    /// When it was looked last.
    pub looked_at: Timestamp,
    /// How many holds the cluster has.
    pub holds: usize,
    /// Whether anything was to be corrected, or cannot be judged.
    pub differs: bool,
    /// Nothing was written.
    pub dry_run: bool,
    /// In the order of space, address and step.
    pub corrections: Vec<Correction>,
}

/// One hold whose pod is not there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Correction {
    /// Which hold.
    #[serde(flatten)]
    pub key: HoldKey,
    /// `namespace/name` of the pod, when known.
    pub pod: Option<String>,
    /// UID of the pod, when known.
    pub pod_uid: Option<String>,
    /// The node, when known.
    pub node: Option<String>,
    /// What is done about it.
    pub action: Action,
    /// Why, in a fixed word.
    pub reason: &'static str,
    /// When time alone changes that, at the earliest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub until: Option<Timestamp>,
    /// What a release rests on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub evidence: Option<Box<Evidence>>,
}

/// What is done about a hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// It would be freed now.
    Free,
    /// It was freed.
    Freed,
    /// It was to be freed, and the ledger did not confirm it.
    NotFreed,
    /// Time will free it.
    Wait,
    /// It stays until something else is seen.
    Keep,
}

/// Looks, as often as the time allows and something waits.
///
/// # Errors
/// Nothing could be judged.
pub async fn once(
    config: LookConfig,
    once: OnceConfig,
    world: &World,
) -> Result<Findings, Obstacle> {
    let end = Instant::now() + once.wait;
    let metrics = Metrics::new();
    let watches = Watches::start(world.kube.clone(), metrics.clone());
    let patience = config.limits.timeout * 3;
    let _ = tokio::time::timeout(patience, watches.health.listed()).await;
    let first_contact = if once.dry_run {
        FirstContact::Refuse
    } else {
        FirstContact::Bind
    };
    let outside = world.outside(&config);
    let settings = config.settings.clone();
    let mut looker = Looker::new(&config.cluster, first_contact, settings, outside);
    let releaser = Releaser::new(Arc::clone(&world.ledger), metrics);
    let mut done = BTreeMap::new();
    loop {
        let look = looker
            .look(&Focus::All, &watches.index, &watches.health)
            .await?;
        let found = corrections(&look, &looker);
        if !once.dry_run {
            let releases = look.corrections.releases.clone();
            let patience = Duration::from_secs(60);
            for (key, outcome) in releaser.release(releases, || patience).await {
                if outcome.is_over() {
                    looker.forget(&key);
                }
                take_down(&mut done, &found, &key, outcome);
            }
        }
        let outlook = look.outlook();
        let is_over = look.is_clean() || (once.dry_run && !outlook.second_look && is_ready(&look));
        if is_over || !rest(&mut looker, outlook, &config, world, end).await {
            return Ok(findings(&config, once, &look, found, done));
        }
    }
}

/// A dry run has nothing to wait for once everything could be freed.
fn is_ready(look: &Look) -> bool {
    look.corrections.waiting.is_empty()
        && look.corrections.releases.len() == look.corrections.absences.len()
}

/// Waits until a look may find more; `false` if the time is over before.
async fn rest(
    looker: &mut Looker,
    outlook: crate::pass::Outlook,
    config: &LookConfig,
    world: &World,
    end: Instant,
) -> bool {
    let beat = Instant::now() + config.heartbeat_interval;
    let due = outlook.due.map(|due| {
        let left = due.duration_since(world.clock.now());
        Instant::now() + Duration::try_from(left).unwrap_or(Duration::ZERO)
    });
    let next = match (outlook.second_look, due) {
        (true, _) => Instant::now(),
        (false, Some(due)) => due.min(beat),
        (false, None) => beat,
    };
    if next >= end {
        return false;
    }
    tokio::time::sleep_until(next).await;
    looker.hear().await;
    true
}

fn take_down(
    done: &mut BTreeMap<HoldKey, Correction>,
    found: &[Correction],
    key: &HoldKey,
    outcome: Outcome,
) {
    let action = if outcome.is_over() {
        Action::Freed
    } else {
        Action::NotFreed
    };
    if let Some(correction) = found.iter().find(|correction| correction.key == *key) {
        let correction = Correction {
            action,
            ..correction.clone()
        };
        done.insert(key.clone(), correction);
    }
}

fn findings(
    config: &LookConfig,
    once: OnceConfig,
    look: &Look,
    found: Vec<Correction>,
    done: BTreeMap<HoldKey, Correction>,
) -> Findings {
    let mut all: BTreeMap<HoldKey, Correction> = found
        .into_iter()
        .map(|correction| (correction.key.clone(), correction))
        .collect();
    all.extend(done);
    Findings {
        cluster: config.cluster.clone(),
        looked_at: look.at,
        holds: look.corrections.cluster_holds,
        differs: !all.is_empty(),
        dry_run: once.dry_run,
        corrections: all.into_values().collect(),
    }
}

/// What a look says about the holds whose pods are not there, or cannot be seen.
fn corrections(look: &Look, looker: &Looker) -> Vec<Correction> {
    let of = |key: &HoldKey, action, reason| {
        let hold = looker.hold(key);
        correction(key, hold, action, reason)
    };
    let mut all = Vec::new();
    for evidence in &look.corrections.releases {
        let reason = words::gone(evidence.pod_gone);
        let mut correction = of(&evidence.hold.key, Action::Free, reason);
        correction.evidence = Some(Box::new(evidence.clone()));
        all.push(correction);
    }
    for (key, (until, reason)) in &look.corrections.waiting {
        let mut correction = of(key, Action::Wait, words::waiting(*reason));
        correction.until = Some(*until);
        all.push(correction);
    }
    for (key, reason) in look.kept() {
        all.push(of(key, Action::Keep, words::kept(reason)));
    }
    all.sort_by(|one, other| one.key.cmp(&other.key));
    all
}

fn correction(
    key: &HoldKey,
    hold: Option<&Hold>,
    action: Action,
    reason: &'static str,
) -> Correction {
    let owner = hold.and_then(|hold| hold.owner.as_ref());
    Correction {
        key: key.clone(),
        pod: owner.map(|owner| format!("{}/{}", owner.pod.namespace, owner.pod.name)),
        pod_uid: owner.and_then(|owner| owner.uid.clone()),
        node: owner.and_then(|owner| owner.node.clone()),
        action,
        reason,
        until: None,
        evidence: None,
    }
}
