use serde::{Deserialize, Serialize};

/// Whether a cluster may get addresses. It may not while another address manager still serves a
/// part of its nodes: addresses would be given out twice.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Gate {
    /// While closed, every new allocate of the cluster is refused with `gated`.
    pub closed: bool,
    /// Why it was closed or opened last; absent if it never was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Since when; absent if it never was closed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<String>,
    /// Position of the event in the cluster's default space; absent if it never was closed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seq: Option<u64>,
}

/// One cluster as the ledger knows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ClusterState {
    /// Its configured name.
    pub name: String,
    /// UID of its `kube-system` namespace, once known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uid: Option<String>,
    /// When the name was bound to the UID.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bound_at: Option<String>,
    /// Its gate.
    pub gate: Gate,
    /// How many addresses it holds, in all spaces.
    pub holds: u64,
}

/// A page of clusters.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ClusterPage {
    /// In order of name.
    pub clusters: Vec<ClusterState>,
    /// Give it back as `cursor` for the next page; absent on the last one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// Body of `POST /v1/clusters/{cluster}/gate`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct GateRequest {
    /// Close it, or open it.
    pub closed: bool,
    /// Why, in a few words; shown to whoever is refused.
    pub reason: String,
    /// UID of the cluster's `kube-system` namespace, when known. Another UID than the bound one
    /// is refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster_uid: Option<String>,
}

/// Answer of `POST /v1/clusters/{cluster}/gate`. No replica gives an address to the cluster after
/// it, until the gate is opened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct GateResponse {
    /// Name of the cluster.
    pub cluster: String,
    /// The gate as it is now.
    pub gate: Gate,
    /// It was so before: reason and time are those of the first request.
    pub repeated: bool,
}

/// Body of `POST /v1/clusters/{cluster}/release`: end everything that a cluster holds which does
/// not exist any more.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct ReleaseClusterRequest {
    /// Why, in a few words; recorded with every release.
    pub reason: String,
    /// The UID that the cluster's name is bound to, so that nobody ends the holds of another
    /// cluster by a slip. Left out only for a name that was never bound.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uid: Option<String>,
    /// Count, but write nothing.
    #[serde(default)]
    pub dry_run: bool,
    /// How long the caller still waits, in milliseconds from the arrival of the request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline_ms: Option<u64>,
}

/// Answer of `POST /v1/clusters/{cluster}/release`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ReleaseClusterResponse {
    /// Name of the cluster.
    pub cluster: String,
    /// Holds that this call ended; 0 in a dry run.
    pub released: u64,
    /// Holds that are left: all in a dry run, else what the time did not suffice for. Send the
    /// same request again until it is 0.
    pub remaining: u64,
    /// Nothing was written (the request said `dry_run`).
    pub dry_run: bool,
}
