//! Which nodes report our plugin.

use std::collections::BTreeSet;

use k8s_openapi::api::core::v1::{Node, Pod};
use kube::api::ListParams;
use kube::{Api, Client};
use serde::Serialize;

/// Labels of the pods that install the plugin. A node reports it by running a Ready one.
pub const PLUGIN_SELECTOR: &str =
    "app.kubernetes.io/name=ipledger,app.kubernetes.io/component=cni-plugin";

/// How many objects a page of a list has.
const PAGE: u32 = 500;

/// Nodes, and which of them report our plugin.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct NodeReport {
    /// Nodes of the cluster.
    pub nodes: usize,
    /// Those that do not report it.
    pub without_plugin: Vec<String>,
}

/// Compares the cluster's nodes with the Ready pods that have these labels.
///
/// # Errors
/// Nodes or pods cannot be listed.
pub async fn node_reports(client: &Client, selector: &str) -> Result<NodeReport, kube::Error> {
    let mut nodes = BTreeSet::new();
    let mut reporting = BTreeSet::new();
    each(
        &Api::<Node>::all(client.clone()),
        ListParams::default(),
        |node| {
            nodes.extend(node.metadata.name);
        },
    )
    .await?;
    let labelled = ListParams::default().labels(selector);
    each(&Api::<Pod>::all(client.clone()), labelled, |pod| {
        if is_ready(&pod) {
            reporting.extend(pod.spec.and_then(|spec| spec.node_name));
        }
    })
    .await?;
    Ok(NodeReport {
        nodes: nodes.len(),
        without_plugin: nodes.difference(&reporting).cloned().collect(),
    })
}

fn is_ready(pod: &Pod) -> bool {
    let conditions = pod
        .status
        .as_ref()
        .and_then(|status| status.conditions.as_ref());
    pod.metadata.deletion_timestamp.is_none()
        && conditions.is_some_and(|conditions| {
            conditions
                .iter()
                .any(|condition| condition.type_ == "Ready" && condition.status == "True")
        })
}

async fn each<K>(
    api: &Api<K>,
    parameters: ListParams,
    mut take: impl FnMut(K),
) -> Result<(), kube::Error>
where
    K: Clone + std::fmt::Debug + serde::de::DeserializeOwned,
{
    let mut parameters = parameters.limit(PAGE);
    loop {
        let page = api.list(&parameters).await?;
        page.items.into_iter().for_each(&mut take);
        match page.metadata.continue_.filter(|token| !token.is_empty()) {
            None => return Ok(()),
            Some(token) => parameters = parameters.continue_token(&token),
        }
    }
}
