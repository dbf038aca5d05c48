//! Scenarios S1 and S2 with all parts: plugin, API, PostgreSQL, sync and a real API server.

mod s1;
mod s2;

use anyhow::{Context, Result, ensure};
use e2e::outage::{CLUSTER, Site};
use e2e::scenario::ADDRESS;
use serde_json::Value;

/// Kind, step, pod and reason of each event of the reporter's address.
fn story(site: &Site) -> Result<Vec<(String, u64, String, String)>> {
    let text = |value: &Value| value.as_str().unwrap_or("-").to_owned();
    let events = site.history()?;
    let lines = events.iter().map(|event| {
        let payload = &event["payload"];
        let owner = &payload["owner"];
        Ok((
            text(&event["kind"]),
            event["step"].as_u64().context("step")?,
            format!("{}/{}", text(&owner["namespace"]), text(&owner["name"])),
            text(&payload["reason"]),
        ))
    });
    lines.collect()
}

/// The evidence of the release at this step.
fn evidence(site: &Site, step: u64) -> Result<Value> {
    let events = site.history()?;
    let event = events.iter().find(|event| event["step"] == step);
    let evidence = &event.context("an event of that step")?["payload"]["evidence"];
    ensure!(evidence.is_object(), "no evidence: {evidence}");
    Ok(evidence.clone())
}

/// Both objects show that one pod holds the address, and nothing else.
async fn objects_show(site: &Site, pod: &str, container: &str) -> Result<bool> {
    let group = "whereabouts.cni.cncf.io/v1alpha1";
    let pool = site
        .kubernetes
        .get(group, "IPPool", "kube-system", "10.10.3.0-24")
        .await?;
    let kind = "OverlappingRangeIPReservation";
    let reservation = site
        .kubernetes
        .get(group, kind, "kube-system", ADDRESS)
        .await?;
    let (Some(pool), Some(reservation)) = (pool, reservation) else {
        return Ok(false);
    };
    let allocations = pool["spec"]["allocations"]
        .as_object()
        .cloned()
        .unwrap_or_default();
    let entry = &allocations.get("30").cloned().unwrap_or_default();
    Ok(pool["spec"]["range"] == "10.10.3.0/24"
        && allocations.len() == 1
        && entry["podref"] == pod
        && entry["id"] == container
        && entry["ifname"] == "net1"
        && reservation["spec"]["podref"] == pod
        && reservation["spec"]["ifname"] == "net1")
}

/// How many addresses the cluster holds by the API.
fn held(site: &Site) -> Result<usize> {
    let page = site.backend.get(&format!("/v1/holds?space={CLUSTER}"))?;
    Ok(page["holds"].as_array().context("holds")?.len())
}
