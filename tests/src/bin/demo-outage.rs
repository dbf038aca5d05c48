//! `make demo-outage`: the two reports that started this project, told with the real parts.

use anyhow::{Context, Result, ensure};
use e2e::chain::Pod;
use e2e::outage::{CLUSTER, GRACE, PATIENCE, Site};
use e2e::scenario::{self, FIRST_CONTAINER};
use e2e::screen::Screen;
use e2e::table;
use serde_json::Value;

const GROUP: &str = "whereabouts.cni.cncf.io/v1alpha1";
const POOL: &str = "10.10.3.0-24";
/// S2's definition has room for the dead pod and the living one.
const TWO_ADDRESSES: &str = r#"{"cniVersion": "0.3.0", "name": "net-2", "type": "macvlan",
    "master": "eth1", "mode": "bridge", "ipam": {"type": "whereabouts",
    "range": "10.10.4.0/24", "range_start": "10.10.4.78", "range_end": "10.10.4.79"}}"#;

#[tokio::main]
async fn main() -> Result<()> {
    let mut screen = Screen::new();
    screen.heading("Start PostgreSQL, the API, a Kubernetes API server, sync, and two nodes")?;
    let mut site = Site::start(&["node-1", "node-2"]).await?;
    let seconds = GRACE.as_secs();
    screen.line(&format!(
        "grace {seconds} s instead of the usual 45 s, so that the story is short"
    ))?;
    stuck_address(&mut screen, &mut site).await?;
    two_pods_one_name(&mut screen, &mut site).await?;
    screen.end("Everything that was started is removed. docs/freeing.md explains the rules.")
}

/// S1.
async fn stuck_address(screen: &mut Screen, site: &mut Site) -> Result<()> {
    screen.heading("S1: pod default/super-pod gets the only address of its network")?;
    let uid = site.kubernetes.create_pod("super-pod", "node-1").await?;
    let pod = Pod::new("super-pod", &uid, FIRST_CONTAINER)?;
    let given = scenario::given(&site.add("node-1", &pod)?)?;
    screen.line(&format!("Add net1 [{given}] from default/super-net"))?;
    until_pool_has(site, POOL, "30", "default/super-pod").await?;
    show_pool(screen, site, POOL).await?;

    screen.heading("Outage: sync and the API stop; the pod is deleted, and its DEL is lost")?;
    site.stop_sync()?;
    site.backend.stop_api()?;
    site.kubernetes.delete_pod("super-pod").await?;
    screen.line("kubectl get pod super-pod: NotFound. Nobody told the ledger.")?;
    site.backend.start_api()?;
    screen.line("the API is back; the address is still held by a pod that is gone:")?;
    show_holds(screen, site, CLUSTER)?;

    screen.heading("super-pod2 asks for the same network")?;
    let uid = site.kubernetes.create_pod("super-pod2", "node-1").await?;
    let second = Pod::new("super-pod2", &uid, &"e".repeat(64))?;
    let refused = site.add("node-1", &second)?;
    ensure!(!refused.success, "given while it was held");
    screen.line(&format!("refused with CNI code {}:", refused.json["code"]))?;
    screen.block(&refused.message())?;
    site.delete("node-1", &second)?;
    drop(second);

    screen.heading("Sync comes back. Nobody does anything else")?;
    site.start_sync()?;
    let sandbox = |attempt| format!("{attempt:064x}");
    let (pod, given) = site
        .add_until_given("node-1", "super-pod2", &uid, sandbox)
        .await?;
    screen.line(&format!("Add net1 [{given}] for default/super-pod2"))?;
    until_pool_has(site, POOL, "30", "default/super-pod2").await?;
    show_pool(screen, site, POOL).await?;
    screen.line("and the ledger knows why:")?;
    show_history(screen, &site.history()?)?;
    show_evidence(screen, &site.history()?)?;
    ensure!(site.delete("node-1", &pod)?.success, "DEL failed");
    site.kubernetes.delete_pod("super-pod2").await
}

/// S2.
async fn two_pods_one_name(screen: &mut Screen, site: &mut Site) -> Result<()> {
    screen.heading("S2: StatefulSet pod default/pod-1 runs on node-1, which loses power")?;
    let add = |site: &Site, node: &str, pod: &Pod| {
        scenario::given(&site.node(node)?.call("ADD", TWO_ADDRESSES, pod)?)
    };
    let dead_uid = site.kubernetes.create_pod("pod-1", "node-1").await?;
    let dead = Pod::new("pod-1", &dead_uid, &"d".repeat(64))?;
    let dead_address = add(site, "node-1", &dead)?;
    screen.line(&format!("pod-1 on node-1 has {dead_address}"))?;
    site.cut_power("node-1")?;
    site.kubernetes.delete_pod("pod-1").await?;
    let living_uid = site.kubernetes.create_pod("pod-1", "node-2").await?;
    let living = Pod::new("pod-1", &living_uid, &"b".repeat(64))?;
    let living_address = add(site, "node-2", &living)?;
    screen.line(&format!(
        "reborn under the same name on node-2 it has {living_address}: two entries, one podref"
    ))?;
    show_holds(screen, site, CLUSTER)?;

    screen.heading("While node-1 is only silent, nothing of it is freed")?;
    tokio::time::sleep(GRACE * 2).await;
    let holds = holds(site, CLUSTER)?;
    ensure!(holds.len() == 2, "a silent node's hold went: {holds:?}");
    screen.line("its pod may still run and answer for its address")?;

    screen.heading("The operator deletes the Node object, and somebody empties the IPPool")?;
    site.kubernetes.kubectl(&[
        "-n",
        "kube-system",
        "patch",
        "ippools.whereabouts.cni.cncf.io",
        "10.10.4.0-24",
        "--type=json",
        "-p",
        r#"[{"op": "replace", "path": "/spec/allocations", "value": {}}]"#,
    ])?;
    site.kubernetes.delete_node("node-1").await?;
    site.until("only the dead pod's hold goes", async |site| {
        Ok(self::holds(site, CLUSTER)?.len() == 1)
    })
    .await?;
    until_pool_has(
        site,
        "10.10.4.0-24",
        offset(&living_address),
        "default/pod-1",
    )
    .await?;
    show_holds(screen, site, CLUSTER)?;
    screen.line("the object is restored from the ledger:")?;
    show_pool(screen, site, "10.10.4.0-24").await?;
    let address = dead_address.trim_end_matches("/24");
    screen.line(&format!("and who had {address}:"))?;
    let page = site
        .backend
        .get(&format!("/v1/events?space={CLUSTER}&address={address}"))?;
    let events = page["events"].as_array().context("events")?;
    show_history(screen, events)?;
    show_evidence(screen, events)
}

/// The key of an address of a /24 in its pool.
fn offset(given: &str) -> &str {
    let address = given.trim_end_matches("/24");
    address.rsplit('.').next().unwrap_or(address)
}

async fn until_pool_has(site: &Site, pool: &str, key: &str, pod: &str) -> Result<()> {
    site.until(
        &format!("{pool} shows {pod} within {PATIENCE:?}"),
        async |site| {
            let object = site
                .kubernetes
                .get(GROUP, "IPPool", "kube-system", pool)
                .await?;
            let object = object.unwrap_or_default();
            let allocations = &object["spec"]["allocations"];
            let is_alone = allocations.as_object().is_some_and(|all| all.len() == 1);
            Ok(is_alone && allocations[key]["podref"] == pod)
        },
    )
    .await
}

async fn show_pool(screen: &Screen, site: &Site, pool: &str) -> Result<()> {
    let object = site
        .kubernetes
        .get(GROUP, "IPPool", "kube-system", pool)
        .await?;
    let spec = object.context("the pool's object")?["spec"].clone();
    screen.line(&format!("kubectl -n kube-system get ippool {pool}:"))?;
    screen.block(&serde_json::to_string_pretty(&spec)?)
}

fn holds(site: &Site, space: &str) -> Result<Vec<Value>> {
    let page = site.backend.get(&format!("/v1/holds?space={space}"))?;
    Ok(page["holds"].as_array().context("holds")?.clone())
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or("-").to_owned()
}

fn show_holds(screen: &Screen, site: &Site, space: &str) -> Result<()> {
    let rows: Vec<Vec<String>> = holds(site, space)?
        .iter()
        .map(|hold| {
            let owner = &hold["owner"];
            vec![
                text(&hold["address"]),
                hold["step"].to_string(),
                format!("{}/{}", text(&owner["namespace"]), text(&owner["name"])),
                text(&owner["uid"]),
                text(&owner["node"]),
            ]
        })
        .collect();
    screen.block(&table::align(
        &["ADDRESS", "STEP", "POD", "UID", "NODE"],
        &rows,
    ))
}

fn show_history(screen: &Screen, events: &[Value]) -> Result<()> {
    let rows: Vec<Vec<String>> = events
        .iter()
        .map(|event| {
            let payload = &event["payload"];
            let owner = &payload["owner"];
            vec![
                event["seq"].to_string(),
                text(&event["recorded_at"]),
                event["step"].to_string(),
                text(&event["kind"]),
                format!("{}/{}", text(&owner["namespace"]), text(&owner["name"])),
                text(&payload["reason"]),
                text(&payload["actor"]["name"]),
            ]
        })
        .collect();
    let header = [
        "SEQ",
        "RECORDED AT",
        "STEP",
        "EVENT",
        "POD",
        "REASON",
        "ACTOR",
    ];
    screen.block(&table::align(&header, &rows))
}

fn show_evidence(screen: &Screen, events: &[Value]) -> Result<()> {
    let release = events
        .iter()
        .find(|event| event["payload"]["evidence"].is_object())
        .context("a release with evidence")?;
    screen.line("the evidence of the release:")?;
    screen.block(&serde_json::to_string_pretty(
        &release["payload"]["evidence"],
    )?)
}
