//! What the ledger answers.

use std::net::IpAddr;

use address::Window;
use ipnet::IpNet;
use jiff::Timestamp;

use crate::state::Taken;

/// An applied (or harmlessly repeated) command.
#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    /// To an allocate.
    Allocated(Allocated),
    /// To a release by attachment.
    Released(Released),
    /// To a release by address and step.
    HoldReleased(HoldReleased),
    /// To an import.
    Imported(Imported),
    /// To an address that was to be set aside.
    Reserved(Reserved),
    /// To a binding: the UID that the name is bound to.
    ClusterBound(String),
    /// To a declaration: the name of the space.
    SpaceDeclared(String),
    /// To a gate that was to be closed or opened.
    GateSet(GateSet),
    /// To a count.
    Counted(Counted),
    /// To a boot that is to be known: it is.
    BootSeen,
}

/// Addresses of an attachment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Allocated {
    /// One per range, in order.
    pub addresses: Vec<AllocatedAddress>,
    /// They were held before; nothing was appended.
    pub repeated: bool,
    /// Nothing was written.
    pub dry_run: bool,
    /// Epoch at the time of the answer.
    pub epoch: u32,
}

/// One address and its receipt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AllocatedAddress {
    /// The address.
    pub ip: IpAddr,
    /// Name of the space.
    pub space: String,
    /// CIDR of the pool; its prefix length goes with the address.
    pub pool: IpNet,
    /// Receipt; absent in a dry run.
    pub receipt: Option<Receipt>,
}

/// Where an event stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Receipt {
    /// Position in the life of the address.
    pub step: u32,
    /// Position in the space.
    pub seq: u64,
    /// When it was recorded.
    pub recorded_at: Timestamp,
}

/// What a release freed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Released {
    /// In the order of the ranges; empty if nothing was held.
    pub released: Vec<ReleasedAddress>,
    /// The order token was older than the last applied one.
    pub stale: bool,
    /// Epoch at the time of the answer.
    pub epoch: u32,
}

/// One release and its receipt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReleasedAddress {
    /// The address.
    pub ip: IpAddr,
    /// Name of the space.
    pub space: String,
    /// The odd step and its event.
    pub receipt: Receipt,
}

/// The end of one hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HoldReleased {
    /// The release.
    pub released: ReleasedAddress,
    /// It had ended before; nothing was appended.
    pub repeated: bool,
    /// Epoch at the time of the answer.
    pub epoch: u32,
}

/// An address that is set aside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reserved {
    /// The address.
    pub ip: IpAddr,
    /// Name of the space.
    pub space: String,
    /// CIDR of the pool.
    pub pool: IpNet,
    /// The even step and its event.
    pub receipt: Receipt,
    /// It was set aside before, for the same reason; nothing was appended.
    pub repeated: bool,
    /// Epoch at the time of the answer.
    pub epoch: u32,
}

/// Outcome of an import.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Imported {
    /// What became of it.
    pub outcome: ImportOutcome,
    /// Step of the hold.
    pub step: u32,
    /// Position of its event.
    pub seq: u64,
}

/// What became of an import.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ImportOutcome {
    /// Recorded now.
    Imported,
    /// This very hold exists.
    Held,
    /// It was imported before and has ended; a released hold is never revived.
    Ended,
}

/// Whether a cluster may get addresses, and since when.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gate {
    /// It gets none.
    pub closed: bool,
    /// Why it was closed or opened.
    pub reason: String,
    /// When that was recorded.
    pub since: Timestamp,
    /// Position of the event in the cluster's default space.
    pub seq: u64,
}

/// Outcome of closing or opening a gate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GateSet {
    /// The gate now; `None` if it never was closed.
    pub gate: Option<Gate>,
    /// It was so before.
    pub repeated: bool,
    /// The spaces were read after the gate was set, so none is missing: it holds everywhere.
    pub settled: bool,
}

/// Counts of windows at one position of each space.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Counted {
    /// In the order asked for; recorded ones by space, and in it in the order of first use.
    pub windows: Vec<WindowCounts>,
    /// Positions, by space.
    pub as_of: std::collections::BTreeMap<String, u64>,
}

/// `held + cooling + reserved + free = capacity`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WindowCounts {
    /// Name of the space.
    pub space: String,
    /// The window.
    pub window: Window,
    /// Those that cannot be handed out.
    pub taken: Taken,
}

impl WindowCounts {
    /// What can be handed out now.
    #[must_use]
    pub fn free(&self) -> u128 {
        self.window.capacity() - self.taken.sum()
    }
}
