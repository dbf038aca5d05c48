//! One held address of a network, whatever range it came from.

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One held address of a network, whatever range it came from. The name of the object is the
/// address.
#[derive(
    CustomResource, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema,
)]
#[kube(
    group = "whereabouts.cni.cncf.io",
    version = "v1alpha1",
    kind = "OverlappingRangeIPReservation",
    root = "OverlappingRangeIpReservation",
    plural = "overlappingrangeipreservations",
    singular = "overlappingrangeipreservation",
    namespaced,
    derive = "PartialEq",
    doc = "One held address of a network, whatever range it came from. The name of the object is \
           the address."
)]
pub struct OverlappingRangeIpReservationSpec {
    /// Container id of the pod's sandbox. whereabouts has not written it since 0.7.
    #[serde(
        rename = "containerid",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(with = "String")]
    pub container_id: Option<String>,
    /// The pod as `namespace/name`.
    #[serde(rename = "podref")]
    pub pod_ref: String,
    /// Name of the interface inside the pod. Objects from before whereabouts 0.8 have none.
    #[serde(rename = "ifname", default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub if_name: Option<String>,
}
