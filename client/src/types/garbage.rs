use serde::{Deserialize, Serialize};

use super::OrderToken;

/// Body of `POST /v1/gc`: the attachments that a runtime says are still valid, for one node,
/// one boot and one CNI network. Everything else it holds there becomes suspect; a second list
/// at least a grace later frees it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct GarbageRequest {
    /// Name of the cluster.
    pub cluster: String,
    /// UID of its `kube-system` namespace, when known. Another UID than the bound one is refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster_uid: Option<String>,
    /// Name of the node. The list says nothing about any other.
    pub node: String,
    /// `name` of the CNI network configuration. The list says nothing about any other.
    pub network: String,
    /// Boot and start of the call; holds that are younger are left alone.
    pub token: OrderToken,
    /// The list. An empty list means that none is valid.
    pub valid: Vec<ValidAttachment>,
    /// How long the caller still waits, in milliseconds from the arrival of the request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline_ms: Option<u64>,
}

/// One entry of `cni.dev/valid-attachments`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct ValidAttachment {
    /// The sandbox.
    pub container_id: String,
    /// The interface.
    pub ifname: String,
}

/// Answer of `POST /v1/gc`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct GarbageResponse {
    /// Addresses freed by this call.
    pub released: u32,
    /// Holds that are suspect since this call or an earlier one.
    pub suspect: u32,
    /// How much could not be done; the rest was.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub failed: u32,
    /// Why, for the first ten.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<GarbageError>,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference"
)]
fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// A part of a garbage collection that failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct GarbageError {
    /// The hold (address, space and step), or `suspects` for the notes that the next list needs.
    pub about: String,
    /// One of the codes of a problem.
    pub code: String,
    /// Why.
    pub detail: String,
}
