//! One range and who holds which of its addresses.

use std::collections::BTreeMap;

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One range of addresses and the interfaces that hold some of them.
#[derive(
    CustomResource, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema,
)]
#[kube(
    group = "whereabouts.cni.cncf.io",
    version = "v1alpha1",
    kind = "IPPool",
    root = "IpPool",
    plural = "ippools",
    singular = "ippool",
    namespaced,
    derive = "PartialEq",
    doc = "One range of addresses and the interfaces that hold some of them."
)]
pub struct IpPoolSpec {
    /// The range as CIDR. Keys of `allocations` count from its address part.
    pub range: String,
    /// Held addresses. A key is the distance of the address from the start of the range, as a
    /// decimal number: `"30"` in `10.10.3.0/24` is 10.10.3.30.
    pub allocations: BTreeMap<String, IpAllocation>,
}

/// The interface that holds an address.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct IpAllocation {
    /// Container id of the pod's sandbox.
    pub id: String,
    /// The pod as `namespace/name`.
    #[serde(rename = "podref")]
    pub pod_ref: String,
    /// Name of the interface inside the pod. Entries from before whereabouts 0.8 have none.
    #[serde(rename = "ifname", default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub if_name: Option<String>,
}
