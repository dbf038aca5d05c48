use serde::{Deserialize, Serialize};

use super::{Attachment, OrderToken, Owner};

/// Body of `POST /v1/release`: free exactly what this attachment holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct ReleaseRequest {
    /// Whose addresses end.
    pub attachment: Attachment,
    /// The pod as the caller knows it; kept for the record only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<Owner>,
    /// UID of the cluster's `kube-system` namespace, when known. Another UID than the bound one
    /// is refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster_uid: Option<String>,
    /// Order of this call among the calls for the same pod and interface.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<OrderToken>,
    /// How long the caller still waits, in milliseconds from the arrival of the request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline_ms: Option<u64>,
    /// When the actor says that this happened (a queued release is delivered later).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claimed_at: Option<String>,
}

/// Answer of `POST /v1/release`. An attachment without addresses is a success.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ReleaseResponse {
    /// What was freed, in the order of the ranges; empty if nothing was held.
    pub released: Vec<ReleasedAddress>,
    /// The order token was older than the last applied one, so nothing was done.
    pub stale: bool,
    /// Epoch of the ledger at the time of the answer.
    pub epoch: u32,
}

/// One release, and its receipt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ReleasedAddress {
    /// Canonical text, without prefix length.
    pub address: String,
    /// Name of the space.
    pub space: String,
    /// The step that the release took; odd.
    pub step: u32,
    /// Position of the event in the space.
    pub seq: u64,
    /// When the ledger recorded the event.
    pub recorded_at: String,
}

/// Body of `POST /v1/holds/release`: end one hold, named by address and step, with a reason
/// and the evidence for it. For `sync` and for people.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct ReleaseHoldRequest {
    /// Name of the space.
    pub space: String,
    /// The address.
    pub address: String,
    /// The hold that ends: the even step that the caller looked at.
    pub step: u32,
    /// Why, in a few words.
    pub reason: String,
    /// UID of the `kube-system` namespace of the cluster whose hold this is, when known. Another
    /// UID than the bound one is refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster_uid: Option<String>,
    /// What the release rests on; any JSON object, kept as it is.
    pub evidence: serde_json::Map<String, serde_json::Value>,
    /// How long the caller still waits, in milliseconds from the arrival of the request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline_ms: Option<u64>,
    /// When the actor says that this happened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claimed_at: Option<String>,
}

/// Answer of `POST /v1/holds/release`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ReleaseHoldResponse {
    /// The release that ended this hold.
    pub released: ReleasedAddress,
    /// The hold had ended before; nothing was appended.
    pub repeated: bool,
    /// Epoch of the ledger at the time of the answer.
    pub epoch: u32,
}

/// Body of `POST /v1/holds/import`: record a hold that another address manager made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct ImportRequest {
    /// Name of the cluster.
    pub cluster: String,
    /// UID of its `kube-system` namespace, when known. Another UID than the bound one is refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster_uid: Option<String>,
    /// whereabouts' `network_name`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network_name: Option<String>,
    /// whereabouts' `enable_overlapping_ranges`.
    #[serde(default = "default_true")]
    pub enable_overlapping_ranges: bool,
    /// CIDR of the pool that the address is in.
    pub range: String,
    /// The address.
    pub address: String,
    /// The sandbox that holds it.
    pub container_id: String,
    /// The interface, when the source knows it (whereabouts before 0.8 did not).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ifname: Option<String>,
    /// The pod, by namespace and name; UID and node are usually unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<Owner>,
    /// Where this was read: object, resource version, time.
    pub evidence: serde_json::Map<String, serde_json::Value>,
}

/// Answer of `POST /v1/holds/import`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ImportResponse {
    /// `imported`, `held` (this very hold exists), or `ended` (it was imported before and has
    /// ended since; a released hold is never revived).
    pub outcome: String,
    /// Step of the hold.
    pub step: u32,
    /// Position of its event in the space.
    pub seq: u64,
}

fn default_true() -> bool {
    true
}
