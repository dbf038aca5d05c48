use serde::{Deserialize, Serialize};

/// One interface of one sandbox: the CNI key, and the only idempotency key of allocate and
/// release.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct Attachment {
    /// Name of the Kubernetes cluster, as configured; a DNS subdomain.
    pub cluster: String,
    /// `name` of the CNI network configuration (not whereabouts' `network_name`).
    pub network: String,
    /// `CNI_CONTAINERID`: the sandbox.
    pub container_id: String,
    /// `CNI_IFNAME`, for example `net1`.
    pub ifname: String,
}

/// The pod behind an attachment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct Owner {
    /// Namespace of the pod.
    pub namespace: String,
    /// Name of the pod.
    pub name: String,
    /// UID of the pod. Old runtimes do not pass it; the event then says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uid: Option<String>,
    /// Name of the node that the plugin ran on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
}

/// Orders the calls for one pod and interface, whatever order they arrive in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct OrderToken {
    /// `/proc/sys/kernel/random/boot_id` of the node: a UUID.
    pub boot_id: String,
    /// `CLOCK_BOOTTIME` at the start of the plugin, in nanoseconds.
    pub boottime_ns: u64,
}
