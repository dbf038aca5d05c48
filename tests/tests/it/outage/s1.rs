//! S1: an address stuck after an outage. Whichever part was down: no manual step.

use anyhow::{Context, Result, ensure};
use e2e::chain::Pod;
use e2e::outage::{GRACE, Site};
use e2e::scenario::{self, DEFINITION, FIRST_CONTAINER};

use super::{evidence, objects_show, story};
use crate::say_not_run;
use crate::scenario::may_run;

const NODE: &str = "node-1";
/// The pod is gone and its node reported after that.
const BY_HEARTBEAT: &str = "sync: pod not_found, containers node_heartbeat";
/// The pod is gone and so is the Node.
const BY_NODE: &str = "sync: pod not_found, containers node_deleted";
const GIVEN: &str = "10.10.3.30/24";

/// The reporter's steps up to the first pod.
async fn with_first_pod() -> Result<(Site, Pod)> {
    let mut site = Site::start(&[NODE]).await?;
    site.add_node("node-2").await?;
    site.kubernetes.apply(&definition())?;
    let uid = site.kubernetes.create_pod("super-pod", NODE).await?;
    let pod = Pod::new("super-pod", &uid, FIRST_CONTAINER)?;
    assert_eq!(scenario::given(&site.add(NODE, &pod)?)?, GIVEN);
    site.until("the objects show super-pod", async |site| {
        objects_show(site, "default/super-pod", FIRST_CONTAINER).await
    })
    .await?;
    Ok((site, pod))
}

/// The reporter's NetworkAttachmentDefinition.
fn definition() -> String {
    let indented: Vec<String> = DEFINITION
        .lines()
        .map(|line| format!("    {line}"))
        .collect();
    format!(
        "apiVersion: k8s.cni.cncf.io/v1\nkind: NetworkAttachmentDefinition\nmetadata:\n  \
         namespace: default\n  name: super-net\nspec:\n  config: |-\n{}\n",
        indented.join("\n")
    )
}

/// super-pod2 on a node gets the address, both objects show it, and the ledger tells the rest.
async fn second_pod_gets_it(site: &Site, node: &str, release_reason: &str) -> Result<()> {
    let uid = site.kubernetes.create_pod("super-pod2", node).await?;
    let sandbox = |attempt| format!("{attempt:064x}");
    let (pod, given) = site
        .add_until_given(node, "super-pod2", &uid, sandbox)
        .await?;
    assert_eq!(given, GIVEN);
    assert_eq!(pod.namespace.addresses("net1")?, [GIVEN]);
    site.until("the objects show super-pod2", async |site| {
        objects_show(site, "default/super-pod2", &pod.container_id).await
    })
    .await?;
    let told = story(site)?;
    let brief: Vec<_> = told
        .iter()
        .map(|(kind, step, _, reason)| (kind.as_str(), *step, reason.as_str()))
        .collect();
    assert_eq!(
        brief,
        [
            ("allocated", 0, "add"),
            ("released", 1, release_reason),
            ("allocated", 2, "add")
        ]
    );
    assert_eq!(
        (told[0].2.as_str(), told[2].2.as_str()),
        ("default/super-pod", "default/super-pod2")
    );
    Ok(())
}

/// The evidence names the reads, their resource versions, the hold and the cluster.
fn check_evidence(site: &Site) -> Result<String> {
    let evidence = evidence(site, 1)?;
    let text = evidence.to_string();
    for part in ["resource_version", "pass", "cluster", "\"step\":0", "rules"] {
        ensure!(text.contains(part), "{part} is not in {text}");
    }
    Ok(text)
}

/// The DEL never came: the reporter's case, whatever else was down, for longer than the grace.
async fn del_is_lost(api_too: bool, postgres_too: bool) -> Result<()> {
    let (mut site, _pod) = with_first_pod().await?;
    site.stop_sync()?;
    if api_too {
        site.backend.stop_api()?;
    }
    if postgres_too {
        site.backend.stop_postgres().await?;
    }
    site.kubernetes.delete_pod("super-pod").await?;
    tokio::time::sleep(GRACE * 2).await;
    if postgres_too {
        site.backend.start_postgres().await?;
    }
    if api_too {
        site.backend.start_api()?;
    }
    site.start_sync()?;
    second_pod_gets_it(&site, NODE, BY_HEARTBEAT).await?;
    check_evidence(&site)?;
    Ok(())
}

macro_rules! needs_root {
    ($name:literal) => {
        if !may_run($name) {
            return Ok(());
        }
    };
}

#[tokio::test(flavor = "multi_thread")]
async fn s1_with_sync_down() -> Result<()> {
    needs_root!("s1_with_sync_down");
    del_is_lost(false, false).await
}

#[tokio::test(flavor = "multi_thread")]
async fn s1_with_everything_down() -> Result<()> {
    needs_root!("s1_with_everything_down");
    del_is_lost(true, true).await
}

/// The DEL was queued on the node, and the next call delivers it.
#[tokio::test(flavor = "multi_thread")]
async fn s1_with_the_api_down() -> Result<()> {
    needs_root!("s1_with_the_api_down");
    let (mut site, pod) = with_first_pod().await?;
    site.stop_sync()?;
    site.backend.stop_api()?;
    assert!(
        site.delete(NODE, &pod)?.success,
        "DEL succeeds without the API"
    );
    site.kubernetes.delete_pod("super-pod").await?;
    site.backend.start_api()?;
    site.start_sync()?;
    second_pod_gets_it(&site, NODE, "del").await
}

/// The API is up and its database is not: the same queue.
#[tokio::test(flavor = "multi_thread")]
async fn s1_with_postgres_down() -> Result<()> {
    needs_root!("s1_with_postgres_down");
    let (mut site, pod) = with_first_pod().await?;
    site.backend.stop_postgres().await?;
    assert!(
        site.delete(NODE, &pod)?.success,
        "DEL succeeds without the database"
    );
    site.kubernetes.delete_pod("super-pod").await?;
    site.backend.start_postgres().await?;
    second_pod_gets_it(&site, NODE, "del").await
}

/// The node dies with its queue: nothing is handed out before somebody vouches that its containers
/// are gone. Here the operator deletes the Node.
#[tokio::test(flavor = "multi_thread")]
async fn s1_with_the_node_gone_and_its_queue() -> Result<()> {
    needs_root!("s1_with_the_node_gone_and_its_queue");
    let (mut site, pod) = with_first_pod().await?;
    site.backend.stop_api()?;
    assert!(site.delete(NODE, &pod)?.success);
    site.cut_power(NODE)?;
    site.backend.start_api()?;
    site.kubernetes.delete_pod("super-pod").await?;
    tokio::time::sleep(GRACE * 3).await;
    assert_eq!(
        story(&site)?.len(),
        1,
        "a silent node may still answer for its addresses"
    );
    let uid = site.kubernetes.create_pod("super-pod3", "node-2").await?;
    let other = Pod::new("super-pod3", &uid, &"c".repeat(64))?;
    let refused = site.add("node-2", &other)?;
    assert!(!refused.success, "handed out while the node is only silent");
    site.delete("node-2", &other)?;
    site.kubernetes.delete_pod("super-pod3").await?;
    site.kubernetes.delete_node(NODE).await?;
    second_pod_gets_it(&site, "node-2", BY_NODE).await?;
    let text = check_evidence(&site)?;
    ensure!(
        text.contains("node"),
        "the proof that the containers are gone: {text}"
    );
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn s1_with_the_definition_deleted_first() -> Result<()> {
    needs_root!("s1_with_the_definition_deleted_first");
    let (site, _pod) = with_first_pod().await?;
    site.kubernetes
        .kubectl(&["delete", "network-attachment-definition", "super-net"])?;
    site.kubernetes.delete_pod("super-pod").await?;
    second_pod_gets_it(&site, NODE, BY_HEARTBEAT).await?;
    check_evidence(&site)?;
    Ok(())
}

/// The pod ended and its object stays.
#[tokio::test(flavor = "multi_thread")]
async fn s1_with_the_pod_completed() -> Result<()> {
    needs_root!("s1_with_the_pod_completed");
    let (site, _pod) = with_first_pod().await?;
    site.kubernetes.complete_pod("super-pod").await?;
    let uid = site.kubernetes.create_pod("super-pod2", NODE).await?;
    let sandbox = |attempt| format!("{attempt:064x}");
    let (_pod, given) = site
        .add_until_given(NODE, "super-pod2", &uid, sandbox)
        .await?;
    assert_eq!(given, GIVEN);
    let told = story(&site)?;
    assert_eq!(
        told.get(1).context("a release")?.3,
        "sync: pod finished, containers terminated"
    );
    check_evidence(&site)?;
    Ok(())
}

/// The reporter's own steps, unchanged: list the reservations, ask for each podref's pod.
#[tokio::test(flavor = "multi_thread")]
async fn the_reporters_commands_read_our_objects() -> Result<()> {
    needs_root!("the_reporters_commands_read_our_objects");
    let Some(jq) = program("jq") else {
        say_not_run("the_reporters_commands_read_our_objects", "it needs jq");
        return Ok(());
    };
    let (site, _pod) = with_first_pod().await?;
    let reservations = site.kubernetes.kubectl(&[
        "-n",
        "kube-system",
        "get",
        "overlappingrangeipreservations.whereabouts.cni.cncf.io",
        "-o",
        "jsonpath={range .items[*]}{.metadata.name} {.spec.podref}{\"\\n\"}{end}",
    ])?;
    assert_eq!(reservations.trim(), "10.10.3.30 default/super-pod");
    let pool = site.kubernetes.kubectl(&[
        "-n",
        "kube-system",
        "get",
        "ippools.whereabouts.cni.cncf.io",
        "10.10.3.0-24",
        "-o",
        "json",
    ])?;
    let filter = r#".spec.allocations | to_entries[] | "\(.key) \(.value.podref)""#;
    let output = filter_json(&jq, filter, &pool)?;
    assert_eq!(output.trim(), "30 default/super-pod");
    Ok(())
}

fn program(name: &str) -> Option<std::path::PathBuf> {
    std::env::split_paths(&std::env::var_os("PATH")?)
        .map(|directory| directory.join(name))
        .find(|path| path.exists())
}

fn filter_json(jq: &std::path::Path, filter: &str, json: &str) -> Result<String> {
    let file = tempfile::NamedTempFile::new()?;
    std::fs::write(file.path(), json)?;
    let output = std::process::Command::new(jq)
        .arg("-r")
        .arg(filter)
        .arg(file.path())
        .output()?;
    ensure!(
        output.status.success(),
        "jq: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(String::from_utf8(output.stdout)?)
}
