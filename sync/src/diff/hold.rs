use std::net::IpAddr;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::read::Pod;

/// One address that is held, as the API shows it, and when this process read it there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hold {
    /// Which hold.
    #[serde(flatten)]
    pub key: HoldKey,
    /// Name of the cluster of its attachment.
    pub cluster: String,
    /// The pod behind it, when the ledger knows it.
    pub owner: Option<Owner>,
    /// When the ledger recorded it, by the database's clock.
    pub allocated_at: Timestamp,
    /// When this process learned of it. A pod is there before its hold is, so only what is read
    /// after this moment says anything about the hold's pod.
    pub seen_at: Timestamp,
}

/// Names one hold, and what a release names: the next hold of the address has another step.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct HoldKey {
    /// Name of the space.
    pub space: String,
    /// The address.
    pub address: IpAddr,
    /// Its even step.
    pub step: u32,
}

/// The pod behind a hold.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Owner {
    /// Where to look for it; it decides nothing by itself.
    #[serde(flatten)]
    pub pod: PodName,
    /// UID that the runtime passed; old ones pass none.
    pub uid: Option<String>,
    /// Name of the node that the plugin ran on.
    pub node: Option<String>,
}

impl Owner {
    /// Whether the UID is one that a kubelet makes for a static pod: a digest of its manifest, in
    /// 32 hexadecimal digits. The API server makes UUIDs, with hyphens.
    pub(super) fn is_static(&self) -> bool {
        let digest = |uid: &String| uid.len() == 32 && uid.bytes().all(|b| b.is_ascii_hexdigit());
        self.uid.as_ref().is_some_and(digest)
    }
}

/// Where a pod is found. A reborn pod of a StatefulSet has the name of the one before.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct PodName {
    /// Namespace.
    pub namespace: String,
    /// Name.
    pub name: String,
}

/// What is remembered about one hold from the first pass on that saw its pod gone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Absence {
    /// When the absence was first seen.
    pub since: Timestamp,
    /// UID of the hold's node when it was first read after that.
    pub node_uid: Option<String>,
    /// The pod, if it was seen with all containers terminated before it vanished.
    pub finished: Option<FinishedPod>,
    /// The first pass that would have freed the hold, but would have freed unusually many.
    pub first_look: Option<Look>,
}

/// A pod that a direct read showed with all containers terminated.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FinishedPod {
    /// When it was read.
    pub at: Timestamp,
    /// What was read.
    pub pod: Pod,
}

/// A pass that came to a conclusion.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Look {
    /// Id of the pass.
    pub pass: String,
    /// When it concluded; a second look reads everything anew after this.
    pub at: Timestamp,
}
