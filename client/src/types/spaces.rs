use serde::{Deserialize, Serialize};

use super::RangeRequest;

/// The set within which an address is unique.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Space {
    /// The name used everywhere: `prod` (default space of the cluster `prod`), `prod/blue`
    /// (its network name `blue`), `prod/blue#10.0.0.0/24` (private to one CIDR), or
    /// `shared:vlan7`.
    pub name: String,
    /// Position of its last event; 0 when it has none.
    pub seq: u64,
    /// Hash of its last event, in hex.
    pub hash: String,
    /// When its last event was recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recorded_at: Option<String>,
    /// Which cluster and network name reach it.
    pub members: Vec<SpaceMember>,
    /// The one CIDR of a private space.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub private_cidr: Option<String>,
}

/// A cluster's network name that resolves to a space.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct SpaceMember {
    /// Name of the cluster.
    pub cluster: String,
    /// whereabouts' `network_name`; absent: the cluster's default space.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network_name: Option<String>,
}

/// A page of spaces.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SpacePage {
    /// In order of name.
    pub spaces: Vec<Space>,
    /// Give it back as `cursor` for the next page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// Body of `POST /v1/spaces`: declare a space that several clusters share.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct DeclareSpaceRequest {
    /// A DNS label; the space is called `shared:<name>`.
    pub name: String,
    /// The members. Each must not have used a space of its own yet.
    pub members: Vec<SpaceMember>,
}

/// Body of `POST /v1/clusters/{cluster}/bind`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct BindClusterRequest {
    /// UID of the cluster's `kube-system` namespace.
    pub uid: String,
}

/// A cluster and the UID that its name is bound to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Cluster {
    /// Its configured name.
    pub name: String,
    /// UID of its `kube-system` namespace, once known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uid: Option<String>,
}

/// One CIDR in a space.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Pool {
    /// Name of the space.
    pub space: String,
    /// The CIDR.
    pub cidr: String,
    /// Its recorded windows.
    pub windows: Vec<Window>,
}

/// A page of pools.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct PoolPage {
    /// In order of space and CIDR.
    pub pools: Vec<Pool>,
    /// The positions that the counts belong to, by space.
    pub as_of: std::collections::BTreeMap<String, u64>,
    /// Give it back as `cursor` for the next page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// The part of a pool that a definition hands out, and its counts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Window {
    /// Name of the space.
    pub space: String,
    /// CIDR of the pool.
    pub pool: String,
    /// First address of the window.
    pub start: String,
    /// Last address of the window.
    pub end: String,
    /// Excluded parts, as merged `first-last` ranges or single addresses.
    pub exclude: Vec<String>,
    /// How full it is.
    pub counts: WindowCounts,
}

/// `held + cooling + reserved + free = capacity`, always. Decimal text, because an IPv6 window
/// does not fit a JSON number.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct WindowCounts {
    /// Addresses of the window that are not excluded.
    pub capacity: String,
    /// Held by an attachment.
    pub held: String,
    /// Released and resting.
    pub cooling: String,
    /// Set aside by hand.
    pub reserved: String,
    /// Can be handed out now.
    pub free: String,
}

/// A page of windows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct WindowPage {
    /// In order of space, pool and start.
    pub windows: Vec<Window>,
    /// The positions that the counts belong to, by space.
    pub as_of: std::collections::BTreeMap<String, u64>,
    /// Give it back as `cursor` for the next page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// Body of `POST /v1/ranges/check`: would these ranges serve an allocate now? For CNI STATUS.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct CheckRangesRequest {
    /// Name of the cluster.
    pub cluster: String,
    /// whereabouts' `network_name`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network_name: Option<String>,
    /// whereabouts' `enable_overlapping_ranges`.
    #[serde(default = "default_true")]
    pub enable_overlapping_ranges: bool,
    /// The ranges to look at.
    pub ranges: Vec<RangeRequest>,
}

/// Answer of `POST /v1/ranges/check`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct CheckRangesResponse {
    /// Counts per range, in the order of the request.
    pub windows: Vec<Window>,
    /// Every range has a free address.
    pub servable: bool,
}

fn default_true() -> bool {
    true
}
