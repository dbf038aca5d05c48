//! `ipledger-sync import-whereabouts`, from files and from a cluster.

use ipledger_sync::project::ObjectKind::{Pool, Reservation};
use serde_json::{Value, json};

use crate::support::{Ledger, Scene, program, run_pod};

/// The objects of the first report.
const OUTAGE: &str = "\
apiVersion: whereabouts.cni.cncf.io/v1alpha1
kind: OverlappingRangeIPReservation
metadata: {name: 10.10.3.30, namespace: kube-system}
spec: {ifname: net1, podref: default/super-pod}
---
apiVersion: whereabouts.cni.cncf.io/v1alpha1
kind: IPPool
metadata: {name: 10.10.3.0-24, namespace: kube-system}
spec:
  allocations:
    \"30\":
      id: a56b06006c6a3e3a1eb26db82b8cd5db008f20627576e3b1c7926776bffc9ed0
      ifname: net1
      podref: default/super-pod
  range: 10.10.3.0/24
";

fn write(name: &str, text: &str) -> (tempfile::TempDir, String) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join(name);
    std::fs::write(&path, text).unwrap();
    (directory, path.to_str().unwrap().to_owned())
}

/// Runs the import for the cluster `prod`: exit code, report.
fn import(ledger: &Ledger, arguments: &[&str]) -> (Option<i32>, Value) {
    let api = format!("http://{}", ledger.address);
    let fixed = [
        "import-whereabouts",
        "--cluster",
        "prod",
        "--api-url",
        &api,
        "-o",
        "json",
    ];
    let (code, stdout, stderr) = program(&[&fixed[..], arguments].concat());
    let report = serde_json::from_str(&stdout).unwrap_or_else(|error| panic!("{error}: {stderr}"));
    (code, report)
}

#[tokio::test(flavor = "multi_thread")]
async fn the_reported_yaml_becomes_a_hold_once() {
    let ledger = Ledger::start().await;
    let (_directory, file) = write("objects.yaml", OUTAGE);
    let (code, report) = import(&ledger, &["--file", &file, "--dry-run"]);
    assert_eq!((code, report["to_import"].as_u64()), (Some(0), Some(1)));
    assert!(ledger.holds("prod", None).await.is_empty());

    let (code, report) = import(&ledger, &["--file", &file]);
    assert_eq!(code, Some(0), "{report}");
    assert_eq!(report["submitted"]["imported"], 1);
    let holds = ledger.holds("prod", None).await;
    assert_eq!(holds.len(), 1);
    assert_eq!(holds[0].address, "10.10.3.30");
    assert!(holds[0].attachment.container_id.starts_with("a56b06006c6a"));
    let events = ledger.events("prod").await;
    let payload = &events.last().unwrap().payload;
    assert_eq!(payload["reason"], "import");
    let evidence = &payload["evidence"];
    assert_eq!(
        evidence["object"]["name"],
        "IPPool kube-system/10.10.3.0-24"
    );
    assert_eq!(evidence["key"], "30");

    // A repeat appends nothing.
    let (code, report) = import(&ledger, &["--file", &file]);
    assert_eq!(code, Some(0));
    let submitted = &report["submitted"];
    assert_eq!(
        (submitted["imported"].as_u64(), submitted["held"].as_u64()),
        (Some(0), Some(1))
    );
    assert_eq!(ledger.events("prod").await.len(), events.len());
}

#[tokio::test(flavor = "multi_thread")]
async fn both_entries_of_a_reborn_pod_become_holds() {
    let ledger = Ledger::start().await;
    let id = |start: &str| format!("{start}{}", "0".repeat(64 - start.len()));
    let pools = json!({
        "apiVersion": "v1",
        "kind": "List",
        "items": [{
            "apiVersion": "whereabouts.cni.cncf.io/v1alpha1",
            "kind": "IPPool",
            "metadata": { "name": "10.60.0.0-16", "namespace": "kube-system" },
            "spec": { "range": "10.60.0.0/16", "allocations": {
                "18278": { "id": id("051a974db72a"), "podref": "xxx/pod-1" },
                "18279": { "id": id("b2a431a89ae1"), "podref": "xxx/pod-1" },
                "junk": { "id": id("c"), "podref": "xxx/pod-2" },
            } },
        }],
    });
    let (_directory, file) = write("pools.json", &pools.to_string());
    let (code, report) = import(&ledger, &["--file", &file]);
    assert_eq!(code, Some(1), "{report}");
    let kinds: Vec<&str> = report["findings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|finding| finding["kind"].as_str().unwrap())
        .collect();
    assert_eq!(
        kinds,
        ["unreadable_key", "duplicate_podref", "duplicate_podref"]
    );
    let holds = ledger.holds("prod", None).await;
    let addresses: Vec<&str> = holds.iter().map(|hold| hold.address.as_str()).collect();
    assert_eq!(addresses, ["10.60.71.102", "10.60.71.103"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn bad_files_and_refused_holds_are_one_clear_line_each() {
    let ledger = Ledger::start().await;
    let api = format!("http://{}", ledger.address);
    let run = |file: &str| {
        program(&[
            "import-whereabouts",
            "--cluster",
            "prod",
            "--api-url",
            &api,
            "--file",
            file,
        ])
    };
    // Cut in the middle: nothing of it is imported.
    let whole = json!({ "kind": "List", "items": [{ "kind": "IPPool", "metadata": {} }] });
    let (_directory, file) = write("cut.json", &whole.to_string()[..50]);
    let (code, stdout, stderr) = run(&file);
    assert_eq!((code, stdout.as_str()), (Some(2), ""));
    assert_eq!(stderr.lines().count(), 1, "{stderr}");
    assert!(stderr.contains("cut.json: is cut or damaged"), "{stderr}");
    assert!(stderr.contains("nothing was imported"), "{stderr}");
    let (code, _, stderr) = run("/nowhere/at-all.json");
    assert_eq!(code, Some(2));
    assert!(stderr.contains("--file /nowhere/at-all.json"), "{stderr}");

    // Somebody has the address already: the rest is imported.
    ledger.allocate("prod", "10.10.3.30/32", "other").await;
    let more = OUTAGE
        .replace("\"30\"", "\"31\"")
        .replace("10.10.3.30", "10.10.3.31");
    let both = more.replacen(
        "    \"31\":\n",
        "    \"30\": {id: c30, podref: default/x, ifname: net1}\n    \"31\":\n",
        1,
    );
    let (_directory, file) = write("both.yaml", &both);
    let (code, stdout, stderr) = run(&file);
    assert_eq!(code, Some(1), "{stderr}");
    assert!(stdout.contains("address_taken"), "{stdout}");
    assert!(
        stdout.contains("1 imported, 0 were there, 0 had ended"),
        "{stdout}"
    );
    assert_eq!(ledger.holds("prod", None).await.len(), 2);

    // The ledger is away.
    let unused = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let away = format!("http://{}", unused.local_addr().unwrap());
    drop(unused);
    let arguments = [
        "import-whereabouts",
        "--cluster",
        "prod",
        "--api-url",
        &away,
    ];
    let (code, _, stderr) = program(&[&arguments[..], &["--file", &file]].concat());
    assert_eq!(code, Some(2));
    assert!(
        stderr.contains("0 of 2 holds were given to the ledger"),
        "{stderr}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_is_read_with_its_pods() {
    let scene = Scene::start("live-import").await;
    let uid = run_pod(&scene.admin, scene.name, "alive", &["10.10.3.5"]).await;
    let entry = |id: &str, pod: &str| json!({ "id": id, "podref": format!("{}/{pod}", scene.name), "ifname": "net1" });
    let spec = json!({ "range": "10.10.3.0/24", "allocations": {
        "5": entry("c5", "alive"),
        "6": entry("c6", "gone"),
    } });
    scene.objects.create(Pool, "10.10.3.0-24", spec).await;
    for (address, pod) in [("10.10.3.5", "alive"), ("10.10.3.7", "gone")] {
        let spec = json!({ "podref": format!("{}/{pod}", scene.name), "ifname": "net1" });
        scene.objects.create(Reservation, address, spec).await;
    }
    let versions = scene.objects.versions().await;
    let kubeconfig = scene.cluster.kubeconfig_path();
    let api = format!("http://{}", scene.ledger.address);
    let common = [
        "--cluster",
        scene.name,
        "--api-url",
        &api,
        "--kubeconfig",
        kubeconfig.to_str().unwrap(),
        "--namespace",
        scene.name,
    ];
    let (code, stdout, stderr) = program(&[&["import-whereabouts"], &common[..]].concat());
    assert_eq!(code, Some(1), "{stderr}");
    for part in ["pod_gone", "reservation_without_entry", "1 imported"] {
        assert!(stdout.contains(part), "{stdout}");
    }
    let holds = scene.ledger.holds(scene.name, None).await;
    let owner = holds[0].owner.as_ref().unwrap();
    assert_eq!(owner.uid.as_deref(), Some(uid.as_str()));
    assert_eq!(owner.node.as_deref(), Some("node-a"));
    let events = scene.ledger.events(scene.name).await;
    let evidence = &events.last().unwrap().payload["evidence"];
    assert_eq!(evidence["inferred"], json!(["owner.uid", "owner.node"]));
    let version = &versions[&(Pool, "10.10.3.0-24".to_owned())];
    assert_eq!(evidence["object"]["resource_version"], version.as_str());
    // Objects are read, and nothing more.
    assert_eq!(scene.objects.versions().await, versions);
}

#[tokio::test(flavor = "multi_thread")]
async fn shadow_prints_what_differs_until_it_is_told_to_stop() {
    use std::io::{BufRead as _, BufReader};
    let scene = Scene::start("shadow-import").await;
    scene.allocate("10.10.3.0/24", "a").await;
    let kubeconfig = scene.cluster.kubeconfig_path();
    let api = format!("http://{}", scene.ledger.address);
    let mut child = std::process::Command::new(env!("CARGO_BIN_EXE_ipledger-sync"))
        .args([
            "import-whereabouts",
            "--shadow",
            "--interval",
            "200ms",
            "--cluster",
            scene.name,
        ])
        .args(["--api-url", &api, "--namespace", scene.name, "--kubeconfig"])
        .arg(&kubeconfig)
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let stdout = BufReader::new(child.stdout.take().unwrap());
    let (sender, mut lines) = tokio::sync::mpsc::unbounded_channel();
    std::thread::spawn(move || {
        for line in stdout.lines().map_while(Result::ok) {
            let _ = sender.send(line);
        }
    });
    let mut wait_for = async |text: &str| {
        let waited = tokio::time::timeout(std::time::Duration::from_secs(60), async {
            while let Some(line) = lines.recv().await {
                if line.contains(text) {
                    return;
                }
            }
            panic!("it ended before it said {text}");
        });
        waited
            .await
            .unwrap_or_else(|_| panic!("it never said {text}"));
    };
    wait_for("2 differ").await;
    assert!(scene.objects.versions().await.is_empty());
    // Somebody makes the objects right, here the projection; the next comparison says so.
    let world = scene.project();
    wait_for("; 0 differ").await;
    world.stop().await;
    let pid = rustix::process::Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0));
}
