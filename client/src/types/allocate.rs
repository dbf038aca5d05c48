use serde::{Deserialize, Serialize};

use super::{Attachment, OrderToken, Owner};

/// Body of `POST /v1/allocate`: one address out of each range, all or none.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct AllocateRequest {
    /// Who asks. A repeat with the same attachment gets the same answer.
    pub attachment: Attachment,
    /// The pod. Without it no takeover by a newer sandbox is possible.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<Owner>,
    /// UID of the cluster's `kube-system` namespace, when known. Another UID than the bound
    /// one is refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster_uid: Option<String>,
    /// Order of this call among the calls for the same pod and interface.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<OrderToken>,
    /// whereabouts' `network_name`: selects the space. Absent: the cluster's default space.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network_name: Option<String>,
    /// whereabouts' `enable_overlapping_ranges`. `false` makes (network name, CIDR) a space of
    /// its own if nobody used the CIDR in the network's space before.
    #[serde(default = "default_true")]
    pub enable_overlapping_ranges: bool,
    /// The ranges, in order; the answer has one address for each. At most 16.
    pub ranges: Vec<RangeRequest>,
    /// Fixed addresses. Each must lie in one of the ranges, and replaces the search in it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ips: Vec<String>,
    /// Which of the free addresses; absent: the lowest one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub order: Option<AddressOrder>,
    /// How long the addresses rest after their release, in seconds. At most 31 days.
    #[serde(default)]
    pub cooldown_seconds: u32,
    /// How long the addresses are kept for the pod of the same namespace and name after their
    /// release, in seconds; only for names that end in an ordinal, as in a StatefulSet. At most 31
    /// days.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub sticky_seconds: u32,
    /// Decide and answer, but write nothing.
    #[serde(default)]
    pub dry_run: bool,
    /// How long the caller still waits, in milliseconds from the arrival of the request. A
    /// request that was not decided by then is not applied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline_ms: Option<u64>,
    /// When the actor says that this happened. The ledger's own time stands beside it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claimed_at: Option<String>,
}

/// Which of several free addresses is handed out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum AddressOrder {
    /// The lowest one.
    LowestFree,
    /// The one that nobody had for the longest time: never used ones first, then the one that was
    /// released first.
    LongestIdle,
}

/// One range of a request, in whereabouts' words.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct RangeRequest {
    /// A CIDR (`10.10.3.0/24`) or `first-last/len` (`10.10.3.5-10.10.3.9/24`).
    pub range: String,
    /// First address that may be handed out. Default: the first usable one of the CIDR.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub range_start: Option<String>,
    /// Last address that may be handed out. Default: the last usable one of the CIDR.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub range_end: Option<String>,
    /// Addresses never handed out: CIDRs, single addresses, or `first-last`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub exclude: Vec<String>,
}

/// Answer of `POST /v1/allocate`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct AllocateResponse {
    /// One address per range, in the order of the request.
    pub addresses: Vec<AllocatedAddress>,
    /// The attachment held these addresses before; nothing was appended.
    pub repeated: bool,
    /// Nothing was written (the request said `dry_run`).
    pub dry_run: bool,
    /// Epoch of the ledger at the time of the answer.
    pub epoch: u32,
}

/// One address in an answer, and its receipt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct AllocatedAddress {
    /// Canonical text, without prefix length.
    pub address: String,
    /// Prefix length of the range's CIDR.
    pub prefix_length: u8,
    /// Name of the space.
    pub space: String,
    /// CIDR of the pool.
    pub pool: String,
    /// Position in the life of the address; even. Absent in a dry run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<u32>,
    /// Position of the event in the space. Absent in a dry run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seq: Option<u64>,
    /// When the ledger recorded the event. Absent in a dry run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recorded_at: Option<String>,
}

fn default_true() -> bool {
    true
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde asks with a reference"
)]
fn is_zero(seconds: &u32) -> bool {
    *seconds == 0
}
