//! The catalogue of refusals. `docs/outcomes.md` gives their order of precedence.

use std::net::IpAddr;

use address::Window;
use ipnet::IpNet;
use jiff::Timestamp;

use crate::state::Taken;

/// Why a command changed nothing. The text names the key and the value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// A key of the request cannot be meant.
    #[error("{key}: {problem}: {value:?}")]
    Invalid {
        /// The key, as the caller wrote it.
        key: String,
        /// The value.
        value: String,
        /// What is wrong with it.
        problem: String,
    },
    /// The space of the request does not exist.
    #[error("space: there is no space {0:?}")]
    NoSuchSpace(String),
    /// Nothing was ever heard of the cluster.
    #[error("cluster: there is no cluster {0:?}")]
    NoSuchCluster(String),
    /// The cluster's name is bound to another UID.
    #[error(
        "cluster {cluster:?} is bound to the kube-system UID {bound}, and the request came with \
         {given}: this is another cluster under the same name"
    )]
    ClusterMismatch {
        /// The name.
        cluster: String,
        /// UID it is bound to.
        bound: String,
        /// UID of the request.
        given: String,
    },
    /// A later call for this pod and interface was applied before.
    #[error("token: a later call for this pod and interface ({ifname}) was applied before")]
    Stale {
        /// The interface.
        ifname: String,
    },
    /// The attachment was deleted before this allocate arrived.
    #[error("attachment: {container_id} {ifname} was deleted before this allocate arrived")]
    Deleted {
        /// The sandbox.
        container_id: String,
        /// The interface.
        ifname: String,
    },
    /// The cluster's gate is closed: another address manager may still serve a part of it.
    #[error("cluster {cluster:?} gets no address since {since}: {reason}")]
    Gated {
        /// The name.
        cluster: String,
        /// Why the gate was closed.
        reason: String,
        /// Since when.
        since: Timestamp,
    },
    /// The attachment holds addresses of another request.
    #[error("{key}: the attachment holds addresses of another request, which differs in {key}")]
    AttachmentConflict {
        /// The field that differs.
        key: String,
        /// Where the hold is, to look the field up.
        hold: HoldRef,
    },
    /// The range belongs to another space.
    #[error(
        "enable_overlapping_ranges: {cidr} is private to the space {private:?}, because it was \
         first used with enable_overlapping_ranges: false; use the same value, or another range \
         or network_name"
    )]
    SpaceConflict {
        /// The range.
        cidr: IpNet,
        /// The private space.
        private: String,
    },
    /// A fixed address lies in no range of the request, or is excluded there.
    #[error("ips: {ip} lies in no range of the request, or is excluded there")]
    AddressOutsideWindow {
        /// The address.
        ip: IpAddr,
    },
    /// A fixed address is held by another.
    #[error("ips: {ip} is held ({hold})")]
    AddressTaken {
        /// The address.
        ip: IpAddr,
        /// The hold in the way.
        hold: HoldRef,
    },
    /// An address is set aside by hand.
    #[error("address: {ip} is reserved ({hold})")]
    AddressReserved {
        /// The address.
        ip: IpAddr,
        /// The reservation.
        hold: HoldRef,
    },
    /// A fixed address is kept for the pod of the name that had it.
    #[error("ips: {ip} is kept for the pod of its last holder's name until {until} ({hold})")]
    AddressKept {
        /// The address.
        ip: IpAddr,
        /// Its last hold.
        hold: HoldRef,
        /// When others may have it.
        until: Timestamp,
    },
    /// A fixed address is resting.
    #[error("ips: {ip} is resting after its release until {until}")]
    AddressCooling {
        /// The address.
        ip: IpAddr,
        /// When it is free again.
        until: Timestamp,
    },
    /// No address of the window is free.
    #[error("{}", full_text(.window, .taken))]
    Exhausted {
        /// Which range of the request, from 0.
        position: usize,
        /// Name of the space.
        space: String,
        /// The window.
        window: Box<Window>,
        /// What its addresses are.
        taken: Box<Taken>,
    },
    /// No address of the window is free, and the first that will be is kept for a name until then.
    #[error(
        "{}; the next one is kept for the pod of its last holder's name, and free at {until}",
        full_text(.window, .taken)
    )]
    Kept {
        /// Which range of the request, from 0.
        position: usize,
        /// Name of the space.
        space: String,
        /// The window.
        window: Box<Window>,
        /// What its addresses are.
        taken: Box<Taken>,
        /// When the first of them is free.
        until: Timestamp,
    },
    /// No address of the window is free, but some are resting.
    #[error("{}; the next one is free at {until}", full_text(.window, .taken))]
    Cooling {
        /// Which range of the request, from 0.
        position: usize,
        /// Name of the space.
        space: String,
        /// The window.
        window: Box<Window>,
        /// What its addresses are.
        taken: Box<Taken>,
        /// When the first of them is free.
        until: Timestamp,
    },
    /// The address is not at the step that the caller looked at.
    #[error("step: {ip} is at step {actual}, not at {expected}")]
    StepMismatch {
        /// The address.
        ip: IpAddr,
        /// The caller's step.
        expected: u32,
        /// The step now; `none` was ever made.
        actual: StepText,
    },
    /// A member of the new space has used a space of its own.
    #[error("members: {cluster:?} {network_name:?} resolves to the space {space:?} already")]
    MemberTaken {
        /// Name of the cluster.
        cluster: String,
        /// whereabouts' `network_name`.
        network_name: String,
        /// What it resolves to.
        space: String,
    },
}

/// Where a hold is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HoldRef {
    /// Name of the space.
    pub space: String,
    /// The address.
    pub ip: IpAddr,
    /// Its step.
    pub step: u32,
    /// Position of the allocate event.
    pub seq: u64,
}

/// What is known without looking: `step 4 of space prod, event 17`.
impl std::fmt::Display for HoldRef {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let HoldRef {
            space, step, seq, ..
        } = self;
        write!(f, "step {step} of space {space}, event {seq}")
    }
}

/// A step, or none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StepText(pub Option<u32>);

impl std::fmt::Display for StepText {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            Some(step) => write!(f, "{step}"),
            None => f.write_str("none (it was never used)"),
        }
    }
}

impl Refusal {
    /// A fixed word for metrics and codes.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Refusal::Invalid { .. } => "invalid_request",
            Refusal::NoSuchSpace(_) | Refusal::NoSuchCluster(_) => "not_found",
            Refusal::ClusterMismatch { .. } => "cluster_mismatch",
            Refusal::Stale { .. } => "stale",
            Refusal::Deleted { .. } => "deleted",
            Refusal::Gated { .. } => "gated",
            Refusal::AttachmentConflict { .. } => "attachment_conflict",
            Refusal::SpaceConflict { .. } | Refusal::MemberTaken { .. } => "space_conflict",
            Refusal::AddressOutsideWindow { .. } => "address_outside_window",
            Refusal::AddressTaken { .. } => "address_taken",
            Refusal::AddressReserved { .. } => "address_reserved",
            Refusal::AddressKept { .. } => "address_kept",
            Refusal::AddressCooling { .. } => "address_cooling",
            Refusal::Exhausted { .. } => "exhausted",
            Refusal::Kept { .. } => "kept",
            Refusal::Cooling { .. } => "cooling",
            Refusal::StepMismatch { .. } => "step_mismatch",
        }
    }

    /// The hold that is in the way, when there is one.
    #[must_use]
    pub fn hold(&self) -> Option<&HoldRef> {
        match self {
            Refusal::AddressTaken { hold, .. }
            | Refusal::AddressReserved { hold, .. }
            | Refusal::AddressKept { hold, .. } => Some(hold),
            _ => None,
        }
    }
}

fn window_text(window: &Window) -> String {
    let exclude = window.exclude_text();
    let mut text = format!("{} ({} - {}", window.cidr(), window.start(), window.end());
    match exclude.as_slice() {
        [] => {}
        few if few.len() <= 4 => {
            text.push_str(", without ");
            text.push_str(&few.join(", "));
        }
        many => {
            text.push_str(&format!(", without {} excluded parts", many.len()));
        }
    }
    text.push(')');
    text
}

fn full_text(window: &Window, taken: &Taken) -> String {
    let Taken {
        held,
        cooling,
        reserved,
    } = taken;
    let mut text = format!(
        "no address is free in {}: capacity {}, held {held}, cooling {cooling}",
        window_text(window),
        window.capacity()
    );
    if *reserved > 0 {
        text.push_str(&format!(", reserved {reserved}"));
    }
    text
}
