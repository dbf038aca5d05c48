//! `ipledger-sync once`: what it prints, how it ends, and that a dry run writes nothing.

use serde_json::Value;

use crate::support::{Scene, TestNode, run_program, until};

const QUICK: [&str; 4] = ["--grace", "1s", "--heartbeat-interval", "150ms"];

async fn bind(scene: &Scene) {
    let budget = ipledger_client::Budget::within(std::time::Duration::from_secs(30));
    let namespaces: kube::Api<k8s_openapi::api::core::v1::Namespace> =
        kube::Api::all(scene.admin.clone());
    let system = namespaces.get("kube-system").await.unwrap();
    let uid = system.metadata.uid.unwrap();
    let bound = scene.ledger.client.bind_cluster("prod", &uid, budget).await;
    bound.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dry_run_tells_by_its_exit_code_whether_anything_differs() {
    let scene = Scene::start("dry-run").await;
    let node = TestNode::start(&scene.admin, &scene.node_name("n")).await;
    scene.pod_with_address("stays", &node.name).await;
    let dry = [&["once", "--dry-run"][..], &QUICK].concat();
    let run = async |more: &[&str]| {
        run_program(&scene, &scene.rights.access, &[&dry, more].concat()).await
    };

    // Unbound: a dry run binds nothing.
    let ended = run(&[]).await;
    assert_eq!(ended.code, Some(2), "{ended:?}");
    assert!(
        ended.stderr.contains("cluster prod is not bound"),
        "{ended:?}"
    );
    bind(&scene).await;

    let ended = run(&[]).await;
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(ended.stdout, "cluster prod: 1 held, nothing differs\n");

    let gone = scene.pod_with_address("goes", &node.name).await;
    scene.pods.delete("goes").await;
    let events = scene.ledger.events().await.len();
    let ended = run(&[]).await;
    assert_eq!(ended.code, Some(1), "{ended:?}");
    let row = ended.stdout.lines().nth(1).unwrap();
    let cells: Vec<&str> = row.split_whitespace().collect();
    let pod = format!("{}/goes", scene.pods.namespace);
    let expected = ["prod", &gone, "0", &pod, &node.name, "wait", "grace"];
    assert_eq!(cells[..7], expected);

    // With time it says that it would free it, on what evidence, and still does not.
    let ended = run(&["--wait", "20s", "--output", "json"]).await;
    assert_eq!(ended.code, Some(1), "{ended:?}");
    let found: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(found["differs"], true);
    let correction = &found["corrections"][0];
    assert_eq!(correction["address"], gone.as_str());
    assert_eq!(correction["action"], "free");
    assert_eq!(correction["evidence"]["pod_gone"], "not_found");
    assert_eq!(scene.ledger.events().await.len(), events);
    assert_eq!(scene.held().await.len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn once_frees_what_it_finds_when_it_may_wait() {
    let scene = Scene::start("once").await;
    let node = TestNode::start(&scene.admin, &scene.node_name("n")).await;
    let stays = scene.pod_with_address("stays", &node.name).await;
    let gone = scene.pod_with_address("goes", &node.name).await;
    scene.pods.delete("goes").await;
    let arguments = [&["once", "--wait", "20s"][..], &QUICK].concat();
    let ended = run_program(&scene, &scene.rights.access, &arguments).await;
    assert_eq!(ended.code, Some(1), "{ended:?}");
    let last = ended.stdout.lines().last().unwrap();
    assert_eq!(last, "cluster prod: 1 held, 1 freed", "{ended:?}");
    until("it is in the history", async || {
        scene.ledger.releases().await.len() == 1
    })
    .await;
    assert_eq!(scene.ledger.release_of(&gone).await.step, 1);
    assert_eq!(scene.held().await, [stays]);
    let again = run_program(&scene, &scene.rights.access, &arguments).await;
    assert_eq!(again.code, Some(0), "{again:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failure_is_one_line_and_two() {
    let scene = Scene::start("once-fails").await;
    let arguments = ["once", "--api-url", "http://127.255.0.1:1"];
    let ended = run_program(&scene, &scene.rights.access, &arguments).await;
    assert_eq!(ended.code, Some(2));
    let line = ended.stderr.trim_end();
    assert!(
        !line.contains('\n') && line.contains("http://127.255.0.1:1"),
        "{line}"
    );
}
