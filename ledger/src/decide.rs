//! Deciding: what is known + a command -> events, or one refusal. No I/O, no clock.
//!
//! The order of the checks is the order of the headings in `docs/outcomes.md`.

mod allocate;
mod apply;
mod choose;
mod cluster;
mod hold;
mod release;
mod resolve;

use std::net::IpAddr;

use address::Window;
use ipnet::IpNet;

pub(crate) use allocate::timestamp;
pub use apply::{apply, apply_recorded};
pub(crate) use apply::{parse_window, recorded_payload, remember_release};

use crate::answer::{Answer, Counted, WindowCounts};
use crate::command::{Command, Count};
use crate::event::Payload;
use crate::event::encoding::Key;
use crate::model::OrderToken;
use crate::refusal::Refusal;
use crate::state::{SpaceIndex, State};

/// What a command comes to.
#[derive(Debug)]
pub enum Verdict {
    /// Append these, then answer.
    Append(Vec<NewEvent>, Draft),
    /// Nothing to append; the answer holds as long as the heads do.
    Answer(Answer, Vec<SpaceIndex>),
    /// Nothing to append; the refusal holds as long as the heads do.
    Refuse(Refusal, Vec<SpaceIndex>),
    /// Spaces must exist first; then decide again.
    Open(Vec<OpenSpace>),
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
    /// Held from here on.
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
    /// Cool-down after release, in seconds.
    pub cooldown_seconds: u32,
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
    /// The UID.
    ClusterBound(String),
    /// The name.
    SpaceDeclared(String),
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
    /// Where the DEL came from: boots are counted per cluster and node.
    pub cluster: String,
    /// Node, or empty.
    pub node: String,
}

/// Decide one command. `now_us` is the database's time, in microseconds.
#[must_use]
pub fn decide(state: &State, command: &Command, now_us: i64) -> Verdict {
    match command {
        Command::Allocate(allocate) => allocate::decide(state, allocate, now_us),
        Command::Release(release) => release::decide(state, release),
        Command::ReleaseHold(release) => hold::release(state, release),
        Command::Import(import) => hold::import(state, import),
        Command::BindCluster(bind) => cluster::bind(state, bind),
        Command::DeclareSpace(declare) => cluster::declare(state, declare),
        Command::Count(count) => decide_count(state, count),
    }
}

fn decide_count(state: &State, count: &Count) -> Verdict {
    let mut counted = Counted {
        windows: Vec::new(),
        as_of: std::collections::BTreeMap::new(),
    };
    let add = |counted: &mut Counted, space: SpaceIndex, window: &Window, (held, cooling)| {
        let known = state.spaces.get(space);
        counted.as_of.insert(known.name.clone(), known.seq);
        let space = known.name.clone();
        counted.windows.push(WindowCounts {
            space,
            window: window.clone(),
            held,
            cooling,
        });
    };
    match count {
        Count::Recorded(only) => {
            for (space, known) in state.pools.windows() {
                let name = &state.spaces.get(space).name;
                if only.as_ref().is_none_or(|only| only == name) {
                    add(
                        &mut counted,
                        space,
                        &known.window,
                        (known.held, known.cooling),
                    );
                }
            }
        }
        Count::Ranges(selector, windows) => {
            for window in windows {
                match resolve::resolve(state, selector, window.cidr()) {
                    Ok(space) => {
                        add(&mut counted, space, window, state.counts(space, window));
                    }
                    // A space that does not exist yet is empty; nothing opens it for a look.
                    Err(resolve::Unresolved::Open(open)) => counted.windows.push(WindowCounts {
                        space: open
                            .last()
                            .map(|open| open.name.clone())
                            .unwrap_or_default(),
                        window: window.clone(),
                        held: 0,
                        cooling: 0,
                    }),
                    Err(resolve::Unresolved::Refused(refusal, seen)) => {
                        return Verdict::Refuse(refusal, seen);
                    }
                }
            }
        }
    }
    Verdict::Answer(Answer::Counted(counted), Vec::new())
}
