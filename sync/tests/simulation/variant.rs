//! What a pass decides with and what it comes to: the product, or what differs from it.

use std::collections::BTreeMap;

use ipledger_sync::diff::{
    Absence, Evidence, Hold, HoldKey, Observations, PodName, Settings, WaitReason, diff,
};
use jiff::Timestamp;

/// What a pass has when it decides.
pub(crate) struct View {
    pub(crate) holds: Vec<Hold>,
    pub(crate) seen: Observations,
    pub(crate) settings: Settings,
    pub(crate) now: Timestamp,
    /// The holds, read once more and in another order.
    pub(crate) again: Vec<Hold>,
    /// UID by name, as a cache of all pods has them.
    pub(crate) cached: BTreeMap<PodName, String>,
}

/// What a pass sends and remembers.
pub(crate) struct Decision {
    pub(crate) releases: Vec<Freed>,
    pub(crate) absences: BTreeMap<HoldKey, Absence>,
    pub(crate) wants_second_look: bool,
}

/// A release on its way to the ledger.
#[derive(Clone)]
pub(crate) struct Freed {
    pub(crate) key: HoldKey,
    /// Whatever step the address has when it arrives.
    pub(crate) any_step: bool,
    pub(crate) evidence: Option<Box<Evidence>>,
}

/// How a mutant must fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fails {
    Never,
    Living,
    Stuck,
}

/// The product, or what differs from it.
pub(crate) struct Variant {
    pub(crate) name: &'static str,
    pub(crate) decide: fn(&View) -> Decision,
    pub(crate) checks_identity: bool,
    pub(crate) sends_tokens: bool,
    pub(crate) notes_boots_with_events: bool,
    pub(crate) fails: Fails,
}

impl Variant {
    pub(crate) const fn wrong(name: &'static str, decide: fn(&View) -> Decision) -> Variant {
        Variant {
            name,
            decide,
            checks_identity: true,
            sends_tokens: true,
            notes_boots_with_events: false,
            fails: Fails::Living,
        }
    }

    pub(crate) fn is_mutant(&self) -> bool {
        self.fails != Fails::Never
    }
}

pub(crate) static PRODUCT: Variant = Variant {
    fails: Fails::Never,
    ..Variant::wrong("the product", by_evidence)
};

pub(crate) fn by_evidence(view: &View) -> Decision {
    decide(&view.holds, &view.seen, &view.settings, view.now)
}

pub(crate) fn decide(
    holds: &[Hold],
    seen: &Observations,
    settings: &Settings,
    now: Timestamp,
) -> Decision {
    let corrections = diff(holds, seen, settings, now);
    let is_look = |(_, reason): &(Timestamp, WaitReason)| *reason == WaitReason::SecondLook;
    let freed = |evidence: Evidence| Freed {
        key: evidence.hold.key.clone(),
        any_step: false,
        evidence: Some(Box::new(evidence)),
    };
    Decision {
        wants_second_look: corrections.waiting.values().any(is_look),
        releases: corrections.releases.into_iter().map(freed).collect(),
        absences: corrections.absences,
    }
}
