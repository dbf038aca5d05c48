//! The cut-over and the way back, as an operator makes them.

use ipledger_client::ClientError;
use ipledger_client::types::ProblemCode;
use ipledger_sync::project::ObjectKind::{Pool, Reservation};
use k8s_openapi::api::apps::v1::DaemonSet;
use k8s_openapi::api::core::v1::Node;
use kube::Api;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use serde_json::{Value, json};
use test_cluster::Cluster;

use crate::support::{Scene, program, run_pod, run_pod_with, until};

const RANGE: &str = "10.10.3.0/24";
const POOL: &str = "10.10.3.0-24";

struct Operator<'a> {
    scene: &'a Scene<'a>,
}

impl Operator<'_> {
    /// `ipledger-sync cut-over ...`: exit code, what it prints as JSON, standard error.
    fn run(&self, step: &[&str]) -> (Option<i32>, Value, String) {
        let kubeconfig = self.scene.cluster.kubeconfig_path();
        let api = format!("http://{}", self.scene.ledger.address);
        let name = self.scene.name;
        let connection = ["cut-over", "--api-url", &api, "--kubeconfig"];
        let common = ["--cluster", name, "--namespace", name, "-o", "json"];
        let path = kubeconfig.to_str().unwrap();
        let (code, stdout, stderr) = program(&[&connection[..], &[path], step, &common].concat());
        (
            code,
            serde_json::from_str(&stdout).unwrap_or_default(),
            stderr,
        )
    }

    /// Exit code and the kinds of what is missing.
    fn missing(&self) -> (Option<i32>, Vec<String>) {
        let (code, status, stderr) = self.run(&["status"]);
        let missing = status["missing"].as_array();
        let missing = missing
            .unwrap_or_else(|| panic!("no status: {stderr}"))
            .iter();
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let kinds = missing.map(|one| format!("{} {}", text(&one["kind"]), text(&one["what"])));
        (code, kinds.collect())
    }
}

async fn make_node(client: &kube::Client, name: &str) {
    let nodes: Api<Node> = Api::all(client.clone());
    let node: Node = serde_json::from_value(json!({ "metadata": { "name": name } })).unwrap();
    nodes.create(&PostParams::default(), &node).await.unwrap();
    let ready = json!({ "status": { "conditions": [{ "type": "Ready", "status": "True" }] } });
    let parameters = PatchParams::default();
    nodes
        .patch_status(name, &parameters, &Patch::Merge(ready))
        .await
        .unwrap();
}

/// The incumbent's DaemonSet, with pods on two nodes.
async fn run_incumbent(client: &kube::Client) -> Api<DaemonSet> {
    let sets: Api<DaemonSet> = Api::namespaced(client.clone(), "kube-system");
    let labels = json!({ "app": "whereabouts" });
    let set: DaemonSet = serde_json::from_value(json!({
        "metadata": { "name": "whereabouts" },
        "spec": {
            "selector": { "matchLabels": labels },
            "template": {
                "metadata": { "labels": labels },
                "spec": { "containers": [{
                    "name": "whereabouts",
                    "image": "ghcr.io/k8snetworkplumbingwg/whereabouts:v0.9.4",
                }] },
            },
        },
    }))
    .unwrap();
    sets.create(&PostParams::default(), &set).await.unwrap();
    let status = json!({ "status": {
        "currentNumberScheduled": 2, "desiredNumberScheduled": 2, "numberMisscheduled": 0,
        "numberReady": 2,
    } });
    let parameters = PatchParams::default();
    sets.patch_status("whereabouts", &parameters, &Patch::Merge(status))
        .await
        .unwrap();
    sets
}

fn code(result: Result<ipledger_client::types::AllocateResponse, ClientError>) -> String {
    match result {
        Ok(response) => response.addresses[0].address.clone(),
        Err(ClientError::Problem(problem)) => {
            assert!(problem.retryable, "{problem:?}");
            problem.code.as_str().to_owned()
        }
        Err(error) => panic!("{error}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn forward_and_back() {
    // A cluster of its own: what runs in it is looked at.
    let cluster = Cluster::start().await.unwrap();
    cluster.install_crds().await.unwrap();
    let scene = Scene::start_in(&cluster, "prod").await;
    let operator = Operator { scene: &scene };
    let admin = &scene.admin;
    for node in ["node-a", "node-b"] {
        make_node(admin, node).await;
    }
    let incumbent = run_incumbent(admin).await;
    run_pod(admin, scene.name, "alive", &["10.10.3.1"]).await;
    let entry = |id: &str, pod: &str| json!({ "id": id, "podref": format!("prod/{pod}"), "ifname": "net1" });
    let spec = json!({ "range": RANGE, "allocations": {
        "1": entry("c1", "alive"), "2": entry("c2", "gone"),
    } });
    scene.objects.create(Pool, POOL, spec).await;
    for (address, pod) in [("10.10.3.1", "alive"), ("10.10.3.2", "gone")] {
        let spec = json!({ "podref": format!("prod/{pod}"), "ifname": "net1" });
        scene.objects.create(Reservation, address, spec).await;
    }
    let theirs = scene.objects.versions().await;
    // Sync runs all the while, as it does in a cluster.
    let world = scene.project();

    let (ended, missing) = operator.missing();
    assert_eq!(ended, Some(1));
    let expected = [
        "gate never closed",
        "node_without_plugin node-a",
        "node_without_plugin node-b",
        "incumbent_runs DaemonSet kube-system/whereabouts (2 pods)",
    ];
    assert_eq!(missing, expected);
    let (ended, _, stderr) = operator.run(&["hand-back"]);
    assert_eq!(ended, Some(2));
    assert!(stderr.contains("is not closed; close it first"), "{stderr}");

    // The gate is closed before the first node is swapped.
    let (ended, gate, stderr) = operator.run(&["close", "--reason", "swap to ipledger"]);
    assert_eq!(ended, Some(0), "{stderr}");
    assert_eq!(gate["closed"], true);
    let try_pod = async |pod: &str| code(scene.ledger.try_allocate("prod", RANGE, pod).await);
    assert_eq!(try_pod("early").await, ProblemCode::Gated.as_str());
    let (ended, opened, _) = operator.run(&["open"]);
    assert_eq!((ended, opened["opened"].as_bool()), (Some(1), Some(false)));
    assert_eq!(try_pod("early").await, "gated");
    assert_eq!(
        scene.objects.versions().await,
        theirs,
        "the objects are still theirs"
    );

    // Node by node; then the incumbent goes.
    let labels = json!({
        "app.kubernetes.io/name": "ipledger", "app.kubernetes.io/component": "cni-plugin",
    });
    for node in ["node-a", "node-b"] {
        let name = format!("ipledger-{node}");
        let annotations = json!({});
        run_pod_with(
            admin,
            "kube-system",
            &name,
            node,
            labels.clone(),
            annotations,
        )
        .await;
    }
    incumbent
        .delete("whereabouts", &DeleteParams::default())
        .await
        .unwrap();
    until("nothing is missing", async || {
        operator.missing() == (Some(0), vec![])
    })
    .await;
    assert_eq!(try_pod("early").await, "gated");

    // Open: the final import, and ADDs are answered.
    let (ended, opened, stderr) = operator.run(&["open"]);
    assert_eq!(ended, Some(0), "{opened} {stderr}");
    assert_eq!(opened["import"]["submitted"]["imported"], 1);
    assert_eq!(opened["import"]["findings"][0]["kind"], "pod_gone");
    assert!(opened["closed_for_seconds"].as_i64().is_some());
    // 10.10.3.1 is held by the pod that had it; that of the pod that is gone is free.
    assert_eq!(try_pod("early").await, "10.10.3.2");
    until("the objects show the ledger", async || {
        let entries = scene.objects.entries(POOL).await;
        let podrefs: Vec<&str> = entries.values().map(String::as_str).collect();
        podrefs == ["prod/alive", "default/early"] && scene.objects.reservations().await.len() == 2
    })
    .await;

    // And back.
    let (ended, _, stderr) = operator.run(&["close", "--reason", "back to whereabouts"]);
    assert_eq!(ended, Some(0), "{stderr}");
    assert_eq!(try_pod("late").await, "gated");
    scene.ledger.release("prod", "early").await;
    let (ended, handed, stderr) = operator.run(&["hand-back"]);
    assert_eq!(ended, Some(0), "{stderr}");
    assert_eq!(handed["objects"], 2);
    assert_eq!(scene.objects.entries(POOL).await.len(), 1);
    assert_eq!(scene.objects.reservations().await.len(), 1);
    // Once whereabouts runs, nobody writes its objects any more.
    run_incumbent(admin).await;
    let (ended, _, stderr) = operator.run(&["hand-back"]);
    assert_eq!(ended, Some(2));
    assert!(
        stderr.contains("DaemonSet kube-system/whereabouts runs already"),
        "{stderr}"
    );
    let spec = json!({ "spec": { "allocations": { "9": entry("c9", "theirs") } } });
    scene.objects.patch(Pool, POOL, spec).await;
    assert_eq!(scene.objects.entries(POOL).await.len(), 2);
    until("sync has seen it, and leaves it alone", async || {
        world.metric("withheld{kind=\"gate_closed\"}") == 1.0
            && world.metric("differing_objects") >= 1.0
    })
    .await;
    assert_eq!(scene.objects.entries(POOL).await.len(), 2);
    world.stop().await;
}
