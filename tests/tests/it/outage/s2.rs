//! S2: a node loses power and its StatefulSet pod is reborn elsewhere under the same name. Only
//! the dead pod's hold ever goes, and nobody gets the living one's address.

use anyhow::Result;
use e2e::chain::{Node, Pod};
use e2e::outage::{CLUSTER, Site};
use serde_json::{Value, json};

use super::{held, story};
use crate::scenario::may_run;

/// Like the reporter's, with room for both.
const DEFINITION: &str = r#"{"cniVersion": "0.3.0", "name": "super-net", "type": "macvlan",
    "master": "eth1", "mode": "bridge", "ipam": {"type": "whereabouts",
    "range": "10.10.3.0/24", "range_start": "10.10.3.30", "range_end": "10.10.3.31"}}"#;

fn add(node: &Node, pod: &Pod) -> Result<String> {
    e2e::scenario::given(&node.call("ADD", DEFINITION, pod)?)
}

/// (address, container) of every hold.
fn holders(site: &Site) -> Result<Vec<(String, String)>> {
    let page = site.backend.get(&format!("/v1/holds?space={CLUSTER}"))?;
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    Ok(page["holds"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|hold| {
            (
                text(&hold["address"]),
                text(&hold["attachment"]["container_id"]),
            )
        })
        .collect())
}

/// Two entries with one podref, the dead pod's first or last.
async fn reborn(dead_first: bool) -> Result<()> {
    let dead_id = "051a974db72a38d2c226aebbf46f596c62c95e2c527e7dae51d6df52d252bb51";
    let living_id = "b2a431a89ae18c3132eb3708306a901ea5999da64f10f0a23f14ede25602c01c";
    let mut site = Site::start(&["node-1", "node-2"]).await?;
    // A hold of another pod shifts the order when the dead pod's address is to be the later one.
    let filler = Pod::new("filler", "filler-uid", &"f".repeat(64))?;
    if !dead_first {
        add(site.node("node-1")?, &filler)?;
    }
    let dead_uid = site.kubernetes.create_pod("pod-1", "node-1").await?;
    let dead = Pod::new("pod-1", &dead_uid, dead_id)?;
    let dead_address = add(site.node("node-1")?, &dead)?;
    if !dead_first {
        assert!(
            site.node("node-1")?
                .call("DEL", DEFINITION, &filler)?
                .success
        );
    }
    site.cut_power("node-1")?;
    site.kubernetes.delete_pod("pod-1").await?;
    let living_uid = site.kubernetes.create_pod("pod-1", "node-2").await?;
    let living = Pod::new("pod-1", &living_uid, living_id)?;
    let living_address = add(site.node("node-2")?, &living)?;
    assert_ne!(dead_address, living_address);
    assert_eq!(held(&site)?, 2, "two entries with one podref");

    site.kubernetes.delete_node("node-1").await?;
    site.until(
        "the dead pod's hold goes",
        async |site| Ok(held(site)? == 1),
    )
    .await?;
    // Several passes more, with a restart of sync between them.
    site.stop_sync()?;
    site.start_sync()?;
    let third_uid = site.kubernetes.create_pod("pod-2", "node-2").await?;
    let third = Pod::new("pod-2", &third_uid, &"3".repeat(64))?;
    assert_eq!(add(site.node("node-2")?, &third)?, dead_address);
    site.until("the pool shows both living pods", async |site| {
        let group = "whereabouts.cni.cncf.io/v1alpha1";
        let pool = site
            .kubernetes
            .get(group, "IPPool", "kube-system", "10.10.3.0-24")
            .await?;
        let allocations = pool.unwrap_or_default()["spec"]["allocations"].clone();
        let refs: Vec<Value> = ["30", "31"]
            .map(|key| allocations[key]["podref"].clone())
            .into();
        Ok(refs.contains(&json!("default/pod-1")) && refs.contains(&json!("default/pod-2")))
    })
    .await?;
    let holders = holders(&site)?;
    let living_host = living_address.trim_end_matches("/24").to_owned();
    assert!(
        holders.contains(&(living_host, living_id.to_owned())),
        "the living pod keeps its address: {holders:?}"
    );
    assert_eq!(holders.len(), 2);
    let releases: Vec<_> = story(&site)?;
    assert!(
        releases
            .iter()
            .filter(|(kind, ..)| kind == "released")
            .count()
            <= 2,
        "{releases:?}"
    );
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn s2_the_dead_entry_first() -> Result<()> {
    if !may_run("s2_the_dead_entry_first") {
        return Ok(());
    }
    reborn(true).await
}

#[tokio::test(flavor = "multi_thread")]
async fn s2_the_living_entry_first() -> Result<()> {
    if !may_run("s2_the_living_entry_first") {
        return Ok(());
    }
    reborn(false).await
}
