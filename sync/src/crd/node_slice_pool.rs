//! One range cut into slices, one for each node.

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One range cut into slices of one size, each for one node.
#[derive(
    CustomResource, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema,
)]
#[kube(
    group = "whereabouts.cni.cncf.io",
    version = "v1alpha1",
    kind = "NodeSlicePool",
    plural = "nodeslicepools",
    singular = "nodeslicepool",
    namespaced,
    status = "NodeSlicePoolStatus",
    derive = "PartialEq",
    doc = "One range cut into slices of one size, each for one node."
)]
#[serde(rename_all = "camelCase")]
pub struct NodeSlicePoolSpec {
    /// The whole range as CIDR.
    pub range: String,
    /// Length of a slice's prefix, such as `/26`; the slash may be left out.
    pub slice_size: String,
}

/// Which slice is whose. It is written with the object itself: there is no status subresource.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NodeSlicePoolStatus {
    /// Every slice of the range, in order.
    pub allocations: Vec<SliceAllocation>,
}

/// One slice.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SliceAllocation {
    /// The node that the slice is for; empty if it is free.
    pub node_name: String,
    /// The slice as CIDR.
    pub slice_range: String,
}
