//! What is known of pods and nodes at the time of an import.

use std::collections::BTreeMap;
use std::net::IpAddr;

use kube::api::DynamicObject;
use serde::Deserialize;
use serde_json::Value;

pub use crate::diff::PodName;

/// Pods, or that nobody looked.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Pods {
    /// Nobody looked: nothing is known to be gone.
    #[default]
    Unknown,
    /// All pods of the cluster.
    Known(BTreeMap<PodName, PodFacts>),
}

/// One pod.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PodFacts {
    /// UID.
    pub uid: String,
    /// Node, once it is scheduled.
    pub node: Option<String>,
    /// Resource version that was read.
    pub resource_version: String,
    /// Addresses that Multus reports for it, the default network's left out; nothing if there is
    /// no report that can be read.
    pub addresses: Option<Vec<IpAddr>>,
}

/// One node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeFacts {
    /// Name.
    pub name: String,
    /// Its condition `Ready` is true.
    pub ready: bool,
}

/// Where Multus reports, now and in older versions.
const STATUS_ANNOTATIONS: [&str; 2] = [
    "k8s.v1.cni.cncf.io/network-status",
    "k8s.v1.cni.cncf.io/networks-status",
];

#[derive(Deserialize)]
struct NetworkStatus {
    #[serde(default)]
    ips: Vec<String>,
    #[serde(default)]
    default: bool,
}

impl PodFacts {
    /// Reads a pod.
    #[must_use]
    pub fn read(pod: &DynamicObject) -> PodFacts {
        let metadata = &pod.metadata;
        let annotations = metadata.annotations.as_ref();
        let report = STATUS_ANNOTATIONS
            .iter()
            .find_map(|key| annotations?.get(*key));
        PodFacts {
            uid: metadata.uid.clone().unwrap_or_default(),
            node: pod.data["spec"]["nodeName"].as_str().map(str::to_owned),
            resource_version: metadata.resource_version.clone().unwrap_or_default(),
            addresses: report.and_then(|text| reported_addresses(text)),
        }
    }

    /// Whether the pod reports this address; nothing if it reports none at all.
    #[must_use]
    pub fn reports(&self, address: IpAddr) -> Option<bool> {
        let addresses = self.addresses.as_ref()?;
        Some(addresses.contains(&address))
    }
}

fn reported_addresses(text: &str) -> Option<Vec<IpAddr>> {
    let networks: Vec<NetworkStatus> = serde_json::from_str(text).ok()?;
    let additional = networks.into_iter().filter(|network| !network.default);
    let texts = additional.flat_map(|network| network.ips);
    Some(texts.filter_map(|text| text.parse().ok()).collect())
}

impl NodeFacts {
    /// Reads a node.
    #[must_use]
    pub fn read(node: &DynamicObject) -> NodeFacts {
        let conditions = node.data["status"]["conditions"].as_array();
        let is_ready = |condition: &Value| {
            condition["type"].as_str() == Some("Ready")
                && condition["status"].as_str() == Some("True")
        };
        NodeFacts {
            name: node.metadata.name.clone().unwrap_or_default(),
            ready: conditions.is_some_and(|conditions| conditions.iter().any(is_ready)),
        }
    }
}
