//! Scenario S1's definition through the real macvlan plugin, in network namespaces.

use anyhow::{Context, Result, ensure};
use e2e::chain::{Node, Pod};
use e2e::scenario::{
    self, ADDRESS, CLUSTER, DEFINITION, FIRST_CONTAINER, SECOND_CONTAINER, THIRD_CONTAINER,
};
use e2e::service::Service;
use e2e::{binaries, cnitool};

use crate::say_not_run;

/// Network namespaces need root; elsewhere the test says so.
pub(crate) fn may_run(test: &str) -> bool {
    let is_root = std::process::Command::new("id")
        .arg("-u")
        .output()
        .is_ok_and(|output| String::from_utf8_lossy(&output.stdout).trim() == "0");
    if !is_root {
        say_not_run(test, "it makes network namespaces, which needs root");
    }
    is_root
}

struct Site {
    service: Service,
    node: Node,
}

impl Site {
    fn start() -> Result<Site> {
        let directory = binaries::directory()?;
        let service = Service::start(&directory.join("ipledger-api"))?;
        let node = Node::new(
            "node-1",
            &directory.join("ipledger"),
            &service.address(),
            CLUSTER,
        )?;
        Ok(Site { service, node })
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn one_address_goes_from_pod_to_pod_and_never_to_two() -> Result<()> {
    if !may_run("one_address_goes_from_pod_to_pod_and_never_to_two") {
        return Ok(());
    }
    let Site { service, node } = Site::start()?;
    let first = scenario::pod("super-pod", FIRST_CONTAINER)?;
    assert_eq!(
        scenario::given(&scenario::add(&node, &first)?)?,
        "10.10.3.30/24"
    );
    assert_eq!(first.namespace.addresses("net1")?, ["10.10.3.30/24"]);

    let second = scenario::pod("super-pod2", SECOND_CONTAINER)?;
    let refused = scenario::add(&node, &second)?;
    assert!(!refused.success);
    assert_eq!(refused.json["code"], 100);
    let message = refused.message();
    for part in [
        "10.10.3.0/24",
        "capacity 1, held 1, cooling 0",
        "default/super-pod net1 on node-1",
    ] {
        assert!(message.contains(part), "{part:?} is not in {message:?}");
    }
    assert!(scenario::delete(&node, &second)?.success);

    let [again, out_of_turn] = scenario::forge(&service).await?;
    assert!(again.contains("events_step"), "{again}");
    assert!(out_of_turn.contains("events_predecessor"), "{out_of_turn}");

    assert!(scenario::delete(&node, &first)?.success);
    let third = scenario::pod("super-pod2", THIRD_CONTAINER)?;
    assert_eq!(
        scenario::given(&scenario::add(&node, &third)?)?,
        "10.10.3.30/24"
    );
    let story: Vec<(u64, String, String, String)> = scenario::history(&service)?
        .into_iter()
        .map(|line| (line.step, line.kind, line.pod, line.reason))
        .collect();
    let event = |step, kind: &str, pod: &str, reason: &str| {
        (step, kind.to_owned(), pod.to_owned(), reason.to_owned())
    };
    assert_eq!(
        story,
        [
            event(0, "allocated", "default/super-pod", "add"),
            event(1, "released", "default/super-pod", "del"),
            event(2, "allocated", "default/super-pod2", "add"),
        ]
    );
    Ok(())
}

/// The service goes away between ADD and DEL: the release waits on the node, and nothing is lost.
#[tokio::test(flavor = "multi_thread")]
async fn a_release_survives_the_absence_of_the_service() -> Result<()> {
    if !may_run("a_release_survives_the_absence_of_the_service") {
        return Ok(());
    }
    let Site { mut service, node } = Site::start()?;
    let first = scenario::pod("super-pod", FIRST_CONTAINER)?;
    scenario::given(&scenario::add(&node, &first)?)?;
    service.kill()?;
    let deleted = scenario::delete(&node, &first)?;
    assert!(
        deleted.success,
        "DEL without the API: {}",
        deleted.message()
    );
    assert_eq!(queued(&node)?, 1);
    service.resume()?;
    let drained = node.run_ipledger(&["drain"])?;
    assert!(
        drained.status.success(),
        "{}",
        String::from_utf8_lossy(&drained.stderr)
    );
    assert_eq!(queued(&node)?, 0);
    let history = scenario::history(&service)?;
    assert_eq!(history.last().context("an event")?.kind, "released");
    let second = scenario::pod("super-pod2", SECOND_CONTAINER)?;
    assert_eq!(
        scenario::given(&scenario::add(&node, &second)?)?,
        "10.10.3.30/24"
    );
    Ok(())
}

/// The next ADD delivers the queue by itself: a pool of one is not blocked by a queued release.
#[tokio::test(flavor = "multi_thread")]
async fn the_next_add_delivers_the_queue() -> Result<()> {
    if !may_run("the_next_add_delivers_the_queue") {
        return Ok(());
    }
    let Site { mut service, node } = Site::start()?;
    let first = scenario::pod("super-pod", FIRST_CONTAINER)?;
    scenario::given(&scenario::add(&node, &first)?)?;
    service.stop()?;
    assert!(scenario::delete(&node, &first)?.success);
    service.resume()?;
    let second = scenario::pod("super-pod2", SECOND_CONTAINER)?;
    assert_eq!(
        scenario::given(&scenario::add(&node, &second)?)?,
        "10.10.3.30/24"
    );
    assert_eq!(queued(&node)?, 0);
    Ok(())
}

/// A new sandbox of the same pod takes the address over; the late DEL of the old one changes
/// nothing.
#[tokio::test(flavor = "multi_thread")]
async fn a_new_sandbox_takes_over_and_a_late_del_frees_nothing() -> Result<()> {
    if !may_run("a_new_sandbox_takes_over_and_a_late_del_frees_nothing") {
        return Ok(());
    }
    let Site { service, node } = Site::start()?;
    let old = scenario::pod("super-pod", FIRST_CONTAINER)?;
    scenario::given(&scenario::add(&node, &old)?)?;
    let new = scenario::pod("super-pod", SECOND_CONTAINER)?;
    assert_eq!(
        scenario::given(&scenario::add(&node, &new)?)?,
        "10.10.3.30/24"
    );
    assert!(scenario::delete(&node, &old)?.success);
    let holds = service.get("/v1/holds")?;
    assert_eq!(
        holds["holds"][0]["attachment"]["container_id"],
        SECOND_CONTAINER
    );
    let reasons: Vec<String> = scenario::history(&service)?
        .into_iter()
        .map(|line| line.reason)
        .collect();
    assert_eq!(reasons, ["add", "takeover", "takeover"]);
    Ok(())
}

/// The same through libcni's own command, which also runs CHECK.
#[tokio::test(flavor = "multi_thread")]
async fn the_chain_works_through_cnitool() -> Result<()> {
    if !may_run("the_chain_works_through_cnitool") {
        return Ok(());
    }
    let Some(tool) = cnitool::find()? else {
        say_not_run(
            "the_chain_works_through_cnitool",
            "it needs Go to build cnitool",
        );
        return Ok(());
    };
    let Site { service, node } = Site::start()?;
    let networks = tempfile::tempdir()?;
    // CHECK wants 0.4.0 or later; the definition is the reporter's otherwise.
    let definition = DEFINITION.replace("\"0.3.0\"", "\"1.0.0\"");
    std::fs::write(networks.path().join("10-super-net.conf"), definition)?;
    let pod = Pod::new("super-pod", "uid-1", FIRST_CONTAINER)?;
    let call = |verb: &str| -> Result<String> {
        let output = cnitool::run(&tool, &node, networks.path(), verb, "super-net", &pod)?;
        ensure!(
            output.status.success(),
            "cnitool {verb}: {} {}",
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        );
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    };
    let result: serde_json::Value = serde_json::from_str(&call("add")?)?;
    assert_eq!(result["ips"][0]["address"], "10.10.3.30/24");
    call("check")?;
    assert_eq!(
        service.get("/v1/holds")?["holds"].as_array().map(Vec::len),
        Some(1)
    );
    call("del")?;
    call("del")?;
    assert_eq!(
        service.get("/v1/holds")?["holds"].as_array().map(Vec::len),
        Some(0)
    );
    assert_eq!(scenario::history(&service)?.len(), 2);
    assert!(
        pod.namespace.addresses("net1")?.is_empty(),
        "{ADDRESS} is still on net1"
    );
    Ok(())
}

/// STATUS and GC came with 1.1.0, which the distribution's macvlan may not speak: the list has our
/// plugin alone. cnitool's `gc` first sends a DEL for what its cache has, and then GC without a list.
#[tokio::test(flavor = "multi_thread")]
async fn status_and_gc_work_through_cnitool() -> Result<()> {
    if !may_run("status_and_gc_work_through_cnitool") {
        return Ok(());
    }
    let Some(tool) = cnitool::find()? else {
        say_not_run(
            "status_and_gc_work_through_cnitool",
            "it needs Go to build cnitool",
        );
        return Ok(());
    };
    let Site { mut service, node } = Site::start()?;
    let networks = tempfile::tempdir()?;
    // The cache is one for the whole machine: no other network of this name is in it.
    let network = format!("gc-net-{}", std::process::id());
    let definition = serde_json::json!({
        "cniVersion": "1.1.0", "name": network,
        "plugins": [{"type": "ipledger", "ipam": {"type": "ipledger", "range": "10.10.3.0/24",
            "timeout_seconds": 2}}],
    });
    std::fs::write(
        networks.path().join("10-gc-net.conflist"),
        definition.to_string(),
    )?;
    let pod = Pod::new("super-pod", "uid-1", FIRST_CONTAINER)?;
    let call = |verb: &str| cnitool::run(&tool, &node, networks.path(), verb, &network, &pod);
    let told = |output: &std::process::Output| {
        format!(
            "{} {}",
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        )
    };
    for verb in ["status", "add", "status"] {
        let output = call(verb)?;
        ensure!(output.status.success(), "{verb}: {}", told(&output));
    }
    let held = |service: &Service| -> Result<usize> {
        let holds = service.get("/v1/holds")?;
        Ok(holds["holds"].as_array().map_or(0, Vec::len))
    };
    assert_eq!(held(&service)?, 1);
    let output = call("gc")?;
    ensure!(output.status.success(), "gc: {}", told(&output));
    assert!(
        told(&output).contains("is absent or null, so nothing is done"),
        "{}",
        told(&output)
    );
    assert_eq!(held(&service)?, 0);
    service.stop()?;
    let away = call("status")?;
    assert!(!away.status.success(), "{}", told(&away));
    Ok(())
}

fn queued(node: &Node) -> Result<usize> {
    let directory = node.queue();
    if !directory.exists() {
        return Ok(0);
    }
    let files = std::fs::read_dir(directory)?.collect::<std::io::Result<Vec<_>>>()?;
    Ok(files
        .iter()
        .filter(|entry| entry.path().extension().is_some_and(|e| e == "json"))
        .count())
}
