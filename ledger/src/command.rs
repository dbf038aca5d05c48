//! What can be asked of the ledger.

use std::net::IpAddr;

use address::Window;
use ipnet::IpNet;
use serde_json::{Map, Value};

use crate::model::{Attachment, Boot, OrderToken, Owner, Provenance};

/// One request for the writer lane.
#[derive(Debug, Clone)]
pub enum Command {
    /// One address out of each range, all or none.
    Allocate(Box<Allocate>),
    /// Free what an attachment holds.
    Release(Box<Release>),
    /// End one hold, named by address and step.
    ReleaseHold(Box<ReleaseHold>),
    /// Record a hold that another address manager made.
    Import(Box<Import>),
    /// Bind a cluster's name to the UID of its kube-system namespace.
    BindCluster(Box<BindCluster>),
    /// Declare a space that clusters share.
    DeclareSpace(Box<DeclareSpace>),
    /// Set an address aside by hand.
    Reserve(Box<Reserve>),
    /// Give back an address that was set aside.
    GiveBack(Box<GiveBack>),
    /// Close or open a cluster's gate.
    SetGate(Box<SetGate>),
    /// Count windows; writes nothing.
    Count(Box<Count>),
    /// Make sure that a boot is known: a call came from it that asks for nothing else here.
    SeeBoot(Box<Boot>),
}

impl Command {
    /// The boot that this is a call of. A dry run is none: it writes nothing.
    #[must_use]
    pub fn boot(&self) -> Option<Boot> {
        match self {
            Command::Allocate(allocate) => allocate.boot(),
            Command::Release(release) => release.boot(),
            Command::SeeBoot(boot) => Some(boot.as_ref().clone()),
            _ => None,
        }
    }
}

/// Which space a request means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpaceSelector {
    /// Name of the cluster.
    pub cluster: String,
    /// whereabouts' `network_name`; empty for the cluster's default space.
    pub network_name: String,
    /// whereabouts' `enable_overlapping_ranges`.
    pub overlapping: bool,
}

/// See [`Command::Allocate`].
#[derive(Debug, Clone)]
pub struct Allocate {
    /// Who asks; the idempotency key.
    pub attachment: Attachment,
    /// The pod.
    pub owner: Option<Owner>,
    /// UID of the cluster's kube-system namespace, when the caller knows it.
    pub cluster_uid: Option<String>,
    /// Order among the calls for the same pod and interface.
    pub token: Option<OrderToken>,
    /// The space.
    pub space: SpaceSelector,
    /// The ranges, in order.
    pub ranges: Vec<Window>,
    /// Fixed addresses, each in one of the ranges.
    pub ips: Vec<IpAddr>,
    /// Which of the free addresses.
    pub order: AddressOrder,
    /// How long the addresses rest after their release, in seconds.
    pub cooldown_seconds: u32,
    /// How long they are kept for the pod of the same name after their release, in seconds; 0 for
    /// not at all. Only for names that come back: see [`Owner::name_key`].
    pub sticky_seconds: u32,
    /// Decide and answer, but write nothing.
    pub dry_run: bool,
    /// Where the command comes from.
    pub provenance: Provenance,
}

/// Which of several free addresses is handed out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum AddressOrder {
    /// The lowest one.
    #[default]
    LowestFree,
    /// The one that nobody had for the longest time: never used ones first, the lowest before the
    /// others, then the one that was released first.
    LongestIdle,
}

impl Allocate {
    /// The boot that this is a call of; none of a dry run.
    pub(crate) fn boot(&self) -> Option<Boot> {
        let token = self.token.filter(|_| !self.dry_run);
        boot_of(&self.attachment, self.owner.as_ref(), token)
    }
}

/// See [`Command::Release`].
#[derive(Debug, Clone)]
pub struct Release {
    /// Whose addresses end.
    pub attachment: Attachment,
    /// The pod as the caller knows it; for the record.
    pub owner: Option<Owner>,
    /// UID of the cluster's kube-system namespace, when the caller knows it.
    pub cluster_uid: Option<String>,
    /// Order among the calls for the same pod and interface.
    pub token: Option<OrderToken>,
    /// Where the command comes from.
    pub provenance: Provenance,
}

impl Release {
    /// The boot that this is a call of.
    pub(crate) fn boot(&self) -> Option<Boot> {
        boot_of(&self.attachment, self.owner.as_ref(), self.token)
    }
}

fn boot_of(
    attachment: &Attachment,
    owner: Option<&Owner>,
    token: Option<OrderToken>,
) -> Option<Boot> {
    let node = owner.and_then(|owner| owner.node.clone());
    Some(Boot {
        cluster: attachment.cluster.clone(),
        node: node.unwrap_or_default(),
        boot_id: token?.boot_id,
    })
}

/// See [`Command::ReleaseHold`].
#[derive(Debug, Clone)]
pub struct ReleaseHold {
    /// Name of the space.
    pub space: String,
    /// The address.
    pub ip: IpAddr,
    /// The even step that the caller looked at.
    pub step: u32,
    /// Why.
    pub reason: String,
    /// What it rests on; only integers among its numbers.
    pub evidence: Map<String, Value>,
    /// Where the command comes from.
    pub provenance: Provenance,
}

/// See [`Command::Import`].
#[derive(Debug, Clone)]
pub struct Import {
    /// The space.
    pub space: SpaceSelector,
    /// UID of the cluster's kube-system namespace, when the caller knows it.
    pub cluster_uid: Option<String>,
    /// CIDR of the pool.
    pub pool: IpNet,
    /// The address.
    pub ip: IpAddr,
    /// The sandbox.
    pub container_id: String,
    /// The interface, when known.
    pub ifname: Option<String>,
    /// The pod, when known.
    pub owner: Option<Owner>,
    /// Where it was read.
    pub evidence: Map<String, Value>,
    /// This very hold was imported before and has ended (looked up in the history).
    pub ended_before: Option<(u32, u64)>,
    /// Where the command comes from.
    pub provenance: Provenance,
}

/// See [`Command::Reserve`].
#[derive(Debug, Clone)]
pub struct Reserve {
    /// The space.
    pub space: SpaceSelector,
    /// CIDR of the pool.
    pub pool: IpNet,
    /// The address.
    pub ip: IpAddr,
    /// Why.
    pub reason: String,
    /// Where the command comes from.
    pub provenance: Provenance,
}

/// See [`Command::GiveBack`].
#[derive(Debug, Clone)]
pub struct GiveBack {
    /// Name of the space.
    pub space: String,
    /// The address.
    pub ip: IpAddr,
    /// The even step of the reservation.
    pub step: u32,
    /// Why.
    pub reason: String,
    /// Where the command comes from.
    pub provenance: Provenance,
}

/// See [`Command::BindCluster`].
#[derive(Debug, Clone)]
pub struct BindCluster {
    /// Name of the cluster.
    pub cluster: String,
    /// UID of its kube-system namespace.
    pub uid: String,
    /// Where the command comes from.
    pub provenance: Provenance,
}

/// See [`Command::DeclareSpace`].
#[derive(Debug, Clone)]
pub struct DeclareSpace {
    /// Full name, with the prefix `shared:`.
    pub name: String,
    /// (cluster, network name) of each member.
    pub members: Vec<(String, String)>,
    /// Where the command comes from.
    pub provenance: Provenance,
}

/// See [`Command::SetGate`]. What was read of the database beforehand comes with it, since
/// memory alone cannot tell that no space is missing.
#[derive(Debug, Clone)]
pub struct SetGate {
    /// Name of the cluster.
    pub cluster: String,
    /// UID of its kube-system namespace, when the caller knows it.
    pub cluster_uid: Option<String>,
    /// Close it, or open it.
    pub closed: bool,
    /// Why.
    pub reason: String,
    /// Names of all spaces that must tell it (see [`crate::state::Gates`]), as they were read.
    pub spaces: Vec<String>,
    /// Position of the cluster's default space in the same reading; 0 if there was none.
    pub read_at: u64,
    /// Where the command comes from.
    pub provenance: Provenance,
}

/// See [`Command::Count`].
#[derive(Debug, Clone)]
pub enum Count {
    /// These windows, whether recorded or not.
    Ranges(SpaceSelector, Vec<Window>),
    /// The recorded windows of one space, or of all.
    Recorded(Option<String>),
}
