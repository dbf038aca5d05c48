//! The words of the ledger: attachment, owner, order token, and who acted.

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::event::encoding::{Key, key_of};

/// One interface of one sandbox: the CNI key, and the only idempotency key of allocate and
/// release.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Attachment {
    /// Name of the cluster.
    pub cluster: String,
    /// Sandbox.
    pub container_id: String,
    /// Interface in the sandbox.
    pub ifname: String,
    /// `name` of the CNI network; empty for a hold that was imported.
    pub network: String,
}

impl Attachment {
    /// The 16 bytes that stand for this attachment in indexes: the start of the SHA-256 of its
    /// parts, each followed by a zero byte.
    #[must_use]
    pub fn key(&self) -> Key {
        key_of(&[
            "attachment",
            &self.cluster,
            &self.network,
            &self.container_id,
            &self.ifname,
        ])
    }

    /// How an imported hold of the same sandbox may be filed, the best match first: without the
    /// network, and without the interface, which old sources did not record.
    #[must_use]
    pub fn imported_keys(&self) -> [Key; 2] {
        [&self.ifname, ""]
            .map(|ifname| key_of(&["attachment", &self.cluster, "", &self.container_id, ifname]))
    }
}

/// The pod behind an attachment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Owner {
    /// Name of the pod.
    pub name: String,
    /// Namespace of the pod.
    pub namespace: String,
    /// Node that the plugin ran on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
    /// UID of the pod; old runtimes do not pass it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uid: Option<String>,
}

impl Owner {
    /// The 16 bytes that stand for this pod's interface. Without a UID, namespace and name stand
    /// in, and only on the same node; without a node nothing does.
    #[must_use]
    pub fn key(&self, cluster: &str, ifname: &str) -> Option<Key> {
        match (&self.uid, &self.node) {
            (Some(uid), _) => Some(key_of(&["uid", cluster, uid, ifname])),
            (None, Some(node)) => Some(key_of(&[
                "name",
                cluster,
                &self.namespace,
                &self.name,
                node,
                ifname,
            ])),
            (None, None) => None,
        }
    }

    /// The 16 bytes that stand for this name's interface, whatever pod has the name: for those
    /// that come back under their name, which are the pods of a StatefulSet (`<name>-<ordinal>`).
    /// `None` for any other name, which nobody will ever have again.
    #[must_use]
    pub fn name_key(&self, cluster: &str, ifname: &str) -> Option<Key> {
        let (set, ordinal) = self.name.rsplit_once('-')?;
        let is_ordinal = !ordinal.is_empty() && ordinal.bytes().all(|byte| byte.is_ascii_digit());
        if set.is_empty() || !is_ordinal {
            return None;
        }
        Some(key_of(&[
            "sticky",
            cluster,
            &self.namespace,
            &self.name,
            ifname,
        ]))
    }
}

/// A boot of a node, as its calls show it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Boot {
    /// Name of the cluster.
    pub cluster: String,
    /// Name of the node, or empty if the caller did not know it.
    pub node: String,
    /// Drawn by the kernel at every start.
    pub boot_id: Uuid,
}

/// Orders the calls for one pod and interface. Of two boots of a node, the one first seen later
/// is the later.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct OrderToken {
    /// Boot id of the node.
    pub boot_id: Uuid,
    /// `CLOCK_BOOTTIME` at the plugin's start, in nanoseconds.
    pub boottime_ns: u64,
}

/// Who acted, and how that is known.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Actor {
    /// How the caller was authenticated, for example `loopback` or `unix peer uid 0`.
    pub authenticated_by: String,
    /// The caller's name.
    pub name: String,
}

/// Where a command comes from; recorded with every event it makes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Provenance {
    /// For correlation with logs only.
    pub request_id: String,
    /// Who acted.
    pub actor: Actor,
    /// When the actor says that it happened.
    pub claimed_at: Option<jiff::Timestamp>,
}

/// The space that a cluster's network name resolves to, before sharing: `prod`, `prod/blue`, or
/// `prod/blue#10.0.0.0/24` for a private one.
#[must_use]
pub fn space_name(cluster: &str, network_name: &str, private: Option<ipnet::IpNet>) -> String {
    let mut name = cluster.to_owned();
    if !network_name.is_empty() {
        name.push('/');
        name.push_str(network_name);
    }
    if let Some(cidr) = private {
        name.push('#');
        name.push_str(&cidr.to_string());
    }
    name
}

/// The 16 bytes that stand in the place of an attachment for an address that is set aside by hand.
#[must_use]
pub fn reservation_key(space: &str, ip: std::net::IpAddr) -> Key {
    key_of(&["reservation", space, &ip.to_string()])
}
