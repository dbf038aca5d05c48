//! The definition of a network that pods name in an annotation.

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A network that pods can ask for. Without a `config` it stands in a file on the node.
#[derive(
    CustomResource, Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema,
)]
#[kube(
    group = "k8s.cni.cncf.io",
    version = "v1",
    kind = "NetworkAttachmentDefinition",
    plural = "network-attachment-definitions",
    singular = "network-attachment-definition",
    shortname = "net-attach-def",
    namespaced,
    derive = "PartialEq",
    doc = "A network that pods can ask for. Without a `config` it stands in a file on the node."
)]
pub struct NetworkAttachmentDefinitionSpec {
    /// A CNI network configuration (one plugin or a list of them) as JSON text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub config: Option<String>,
}
