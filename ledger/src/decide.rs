//! Deciding: what is known + a command -> events, or one refusal. No I/O, no clock.
//!
//! The order of the checks is the order of the headings in `docs/outcomes.md`.

mod allocate;
mod apply;
mod choose;
mod cluster;
mod count;
mod gate;
mod hold;
mod release;
mod repeat;
mod reserve;
mod resolve;

use std::net::IpAddr;

use address::Window;
use ipnet::IpNet;

pub(crate) use allocate::timestamp;
pub use apply::{apply, apply_calls, apply_recorded};
pub(crate) use apply::{
    apply_gate, bound_cluster, declared_members, parse_window, recorded_payload, remember_release,
};
pub(crate) use cluster::SHARED;

use crate::answer::{Answer, GateSet};
use crate::command::Command;
use crate::event::Payload;
use crate::event::encoding::Key;
use crate::model::{Boot, OrderToken};
use crate::refusal::Refusal;
use crate::state::{Keep, SpaceIndex, State};

/// What a command comes to.
#[derive(Debug)]
pub enum Verdict {
    /// Append these, then answer.
    Append(Vec<NewEvent>, Draft),
    /// Nothing to append; the answer holds as long as the heads do.
    Answer(Answer, Vec<SpaceIndex>),
    /// The same call again, but later: nothing to append; its order token counts from now on.
    Repeat(Box<Repeat>),
    /// Nothing to append; the refusal holds as long as the heads do.
    Refuse(Refusal, Vec<SpaceIndex>),
    /// Spaces must exist first; then decide again. None of them: they exist, and memory is behind.
    Open(Vec<OpenSpace>),
    /// The first call of a boot: it must be recorded first, whatever the call comes to; then decide
    /// again. Until then nobody can tell which calls are later.
    See(Boot),
    /// A release found nothing: leave a tombstone, unless the database knows better.
    Bury(Burial),
}

/// An event before it has a position.
#[derive(Debug, Clone)]
pub struct NewEvent {
    /// The space.
    pub space: SpaceIndex,
    /// Address and step, or neither.
    pub target: Option<(IpAddr, u32)>,
    /// What it does to the address.
    pub change: Change,
    /// Everything else.
    pub payload: Payload,
}

/// What an event does to an address.
#[derive(Debug, Clone)]
pub enum Change {
    /// Held, or set aside, from here on.
    Hold(Box<HoldChange>),
    /// Free from here on.
    Free,
    /// No address.
    None,
}

/// The facts of a new hold that memory keeps.
#[derive(Debug, Clone)]
pub struct HoldChange {
    /// The window it was chosen from.
    pub window: Window,
    /// Key of the attachment.
    pub attachment: Key,
    /// Key of the owner.
    pub owner: Option<Key>,
    /// Order token.
    pub token: Option<OrderToken>,
    /// Fingerprint of what was asked for.
    pub content: u64,
    /// How long it gets to nobody else after release, in seconds: cool-down, or time that it is
    /// kept.
    pub rest_seconds: u32,
    /// For which name it is kept after release.
    pub keep: Option<Keep>,
    /// Which range.
    pub position: u16,
}

/// An answer that waits for its receipts. Numbers index the events.
#[derive(Debug, Clone)]
pub enum Draft {
    /// (index of the event, CIDR of the pool), one per range.
    Allocated(Vec<(usize, IpNet)>),
    /// Every event is a release of this answer.
    Released,
    /// The only event is the release.
    HoldReleased,
    /// The only event is the hold.
    Imported,
    /// The only event is the reservation, in the pool of this CIDR.
    Reserved(IpNet),
    /// The UID.
    ClusterBound(String),
    /// The name.
    SpaceDeclared(String),
    /// The gate as these events tell it.
    GateSet(GateSet),
}

/// A space to be opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenSpace {
    /// Name.
    pub name: String,
    /// The space it is split from, by key in the database, and its CIDR.
    pub private: Option<(i32, IpNet)>,
    /// (cluster, network name) that resolve to it.
    pub members: Vec<(String, String)>,
}

/// A release that found nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Burial {
    /// Key of the attachment.
    pub attachment: Key,
    /// Order of the DEL.
    pub token: Option<OrderToken>,
    /// Where the DEL came from.
    pub cluster: String,
    /// Node, or empty.
    pub node: String,
}

/// See [`Verdict::Repeat`].
#[derive(Debug)]
pub struct Repeat {
    /// What was answered before.
    pub answer: Answer,
    /// It holds as long as the heads of these do.
    pub seen: Vec<SpaceIndex>,
    /// What is to be noted before the answer is given.
    pub calls: Vec<LaterCall>,
}

/// A repeated ADD that came later than the last call for a hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LaterCall {
    /// Space of the hold.
    pub space: SpaceIndex,
    /// Its address.
    pub ip: IpAddr,
    /// Its even step.
    pub step: u32,
    /// Order of the repeat.
    pub token: OrderToken,
}

/// Decide one command. `now_us` is the database's time, in microseconds.
#[must_use]
pub fn decide(state: &State, command: &Command, now_us: i64) -> Verdict {
    match command {
        Command::Allocate(allocate) => allocate::decide(state, allocate, now_us),
        Command::Release(release) => release::decide(state, release),
        Command::ReleaseHold(release) => hold::release(state, release),
        Command::Import(import) => hold::import(state, import, now_us),
        Command::Reserve(reserve) => reserve::reserve(state, reserve, now_us),
        Command::GiveBack(give_back) => reserve::give_back(state, give_back),
        Command::BindCluster(bind) => cluster::bind(state, bind),
        Command::DeclareSpace(declare) => cluster::declare(state, declare),
        Command::SetGate(set) => gate::set(state, set, now_us),
        Command::Count(count) => count::decide(state, count),
        Command::SeeBoot(boot) => match first_call(state, Some(boot.as_ref().clone())) {
            Ok(()) => Verdict::Answer(Answer::BootSeen, Vec::new()),
            Err(verdict) => verdict,
        },
    }
}

/// An error if this is the first call of a boot.
fn first_call(state: &State, boot: Option<Boot>) -> Result<(), Verdict> {
    boot.filter(|boot| !state.order.is_boot_known(boot.boot_id))
        .map_or(Ok(()), |boot| Err(Verdict::See(boot)))
}
