use std::net::IpAddr;

use ipnet::IpNet;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::event::encoding::{canonical_json, fingerprint_of};
use crate::model::{Actor, Attachment, OrderToken, Owner, Provenance};

/// What an event says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// An address is held from here on; even step.
    Allocated,
    /// An address is free from here on; odd step.
    Released,
    /// An address is set aside by hand from here on; even step.
    Reserved,
    /// A cluster's name was bound to the UID of its kube-system namespace; no address.
    ClusterBound,
    /// An operator declared a space that clusters share; no address.
    SpaceDeclared,
    /// From here on a cluster gets no address; no address.
    GateClosed,
    /// From here on it does again; no address.
    GateOpened,
    /// History may have been shortened before this point; no address.
    EpochBegun,
}

impl Kind {
    /// The word in the database and on the wire.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Kind::Allocated => "allocated",
            Kind::Released => "released",
            Kind::Reserved => "reserved",
            Kind::ClusterBound => "cluster_bound",
            Kind::SpaceDeclared => "space_declared",
            Kind::GateClosed => "gate_closed",
            Kind::GateOpened => "gate_opened",
            Kind::EpochBegun => "epoch_begun",
        }
    }
}

/// Everything about an event that the guard row does not say. Fields are listed in byte order,
/// because that is the canonical order of the keys.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Payload {
    /// Who acted.
    pub actor: Actor,
    /// Whose hold begins, or whose call ends one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attachment: Option<Attachment>,
    /// When the actor says that it happened, in microseconds since 1970-01-01T00:00:00Z.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claimed_at_us: Option<i64>,
    /// Start of the SHA-256 of what was asked for, in hex: tells a repeat from another request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
    /// How long the address rests after its release, in seconds; from the allocate. A reservation
    /// has what was left of the rest that it began in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cooldown_seconds: Option<u32>,
    /// How the address was chosen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision: Option<Decision>,
    /// For a release by anyone but the holder: whose hold ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<Ended>,
    /// For a release: the position of the allocate event that it ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ends_seq: Option<u64>,
    /// What a release by anyone but the holder rests on, or where an import was read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evidence: Option<Map<String, Value>>,
    /// Fields that the source did not state, and that were inferred or are stood in for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub inferred: Vec<String>,
    /// What the event says.
    pub kind: Kind,
    /// The pod.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<Owner>,
    /// Why: `add`, `del`, `takeover`, `import`, or the words of an administrative release.
    pub reason: String,
    /// For correlation with logs only.
    pub request_id: String,
    /// How long the address is kept for the pod of the same name after its release, in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sticky_seconds: Option<u32>,
    /// Order among the calls for the same pod and interface.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<OrderToken>,
}

impl Payload {
    /// A payload with what every event has.
    #[must_use]
    pub fn new(kind: Kind, reason: &str, provenance: &Provenance) -> Payload {
        Payload {
            actor: provenance.actor.clone(),
            attachment: None,
            claimed_at_us: provenance.claimed_at.map(jiff::Timestamp::as_microsecond),
            content: None,
            cooldown_seconds: None,
            decision: None,
            ended: None,
            ends_seq: None,
            evidence: None,
            inferred: Vec::new(),
            kind,
            owner: None,
            reason: reason.to_owned(),
            request_id: provenance.request_id.clone(),
            sticky_seconds: None,
            token: None,
        }
    }

    /// How long the address gets to nobody else after its release, in seconds.
    #[must_use]
    pub fn rest_seconds(&self) -> u32 {
        let (cooldown, sticky) = (self.cooldown_seconds, self.sticky_seconds);
        cooldown.max(sticky).unwrap_or(0)
    }

    /// The canonical bytes, encoding version 1.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        canonical_json(self)
    }
}

/// Whose hold ends, as its allocate said.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ended {
    /// The holder.
    pub attachment: Attachment,
    /// The pod behind it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<Owner>,
}

/// How an address was chosen: enough to judge the choice later.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decision {
    /// Addresses of the window, less the excluded ones; decimal text.
    pub capacity: String,
    /// How many of them were resting.
    pub cooling: u64,
    /// How many of them were held.
    pub held: u64,
    /// Fixed addresses of the whole request.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ips: Vec<IpAddr>,
    /// Which range of the request, from 0.
    pub position: u16,
    /// How many ranges the request had.
    pub ranges: u16,
    /// How many addresses of the window were set aside by hand.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub reserved: u64,
    /// What made it this address.
    pub rule: DecisionRule,
    /// The window.
    pub window: WindowRecord,
}

/// What made it this address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DecisionRule {
    /// The lowest address of the window that was free.
    LowestFree,
    /// The owner asked for this one.
    Requested,
    /// The owner's older sandbox held it.
    Takeover,
    /// Another address manager had given it out.
    Import,
    /// The one that nobody had for the longest time.
    LongestIdle,
    /// It was kept for the pod of this name.
    Sticky,
    /// A person set it aside.
    Reservation,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde asks with a reference"
)]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// A window as it is recorded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WindowRecord {
    /// CIDR of the pool.
    pub cidr: IpNet,
    /// Excluded parts, merged. Long lists stand only in the first event of a window.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub exclude: Vec<String>,
    /// Start of the SHA-256 of the excluded parts, in hex, when there are any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exclude_digest: Option<String>,
    /// First address.
    pub first: IpAddr,
    /// Last address.
    pub last: IpAddr,
}

/// Longer lists of exclusions are written out once per window, not in every event.
const EXCLUDE_INLINE: usize = 16;

impl WindowRecord {
    /// The record of a window. `full` writes a long list of exclusions out.
    #[must_use]
    pub fn new(window: &address::Window, full: bool) -> WindowRecord {
        let excluded = window.exclude_text();
        let exclude_digest = (!excluded.is_empty()).then(|| {
            let parts: Vec<&str> = excluded.iter().map(String::as_str).collect();
            format!("{:016x}", fingerprint_of(&parts))
        });
        let inline = full || excluded.len() <= EXCLUDE_INLINE;
        WindowRecord {
            cidr: window.cidr(),
            exclude: if inline { excluded } else { Vec::new() },
            exclude_digest,
            first: window.start(),
            last: window.end(),
        }
    }

    /// Whether the list of exclusions is written out here.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.exclude_digest.is_none() || !self.exclude.is_empty()
    }
}
