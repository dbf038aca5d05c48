//! What only a person can mend ends the start with one line.

use crate::support::{Rights, Scene, Syncer, manifest, quick, run_program};

/// The one line on stderr.
fn line(stderr: &str) -> &str {
    let line = stderr.trim_end();
    assert!(!line.contains('\n'), "{stderr}");
    line.strip_prefix("ipledger-sync: ").unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn outside_of_a_pod_the_namespace_of_the_lease_must_be_given() {
    let scene = Scene::start("no-namespace").await;
    let ended = run_program(&scene, &scene.rights.access, &["run"]).await;
    assert_eq!(ended.code, Some(1));
    let line = line(&ended.stderr);
    assert!(
        line.starts_with("the namespace of the Lease is not known"),
        "{line}"
    );
    assert!(line.ends_with("set --lease-namespace or IPLEDGER_LEASE_NAMESPACE"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_namespace_that_does_not_exist_is_named() {
    let scene = Scene::start("lost-namespace").await;
    let admin = scene.cluster.access();
    let arguments = ["run", "--lease-namespace", "lost-and-found"];
    let ended = run_program(&scene, &admin, &arguments).await;
    assert_eq!(ended.code, Some(1));
    let line = line(&ended.stderr);
    assert!(
        line.starts_with("the namespace lost-and-found of the Lease does not exist"),
        "{line}"
    );
    // Without rights there the API server does not tell whether it exists.
    let ended = run_program(&scene, &scene.rights.access, &arguments).await;
    assert_eq!(ended.code, Some(1));
    assert!(
        ended.stderr.contains("in namespace lost-and-found"),
        "{}",
        ended.stderr
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_that_no_lease_can_have_is_refused() {
    let scene = Scene::start("bad-name").await;
    let admin = scene.cluster.access();
    let namespace = scene.rights.namespace.as_str();
    let arguments = [
        "run",
        "--lease-namespace",
        namespace,
        "--lease-name",
        "No_Name",
    ];
    let ended = run_program(&scene, &admin, &arguments).await;
    assert_eq!(ended.code, Some(1));
    let line = line(&ended.stderr);
    assert!(
        line.contains("the Lease No_Name") && line.contains("--lease-name"),
        "{line}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn each_right_that_is_missing_is_named() {
    let scene = Scene::start("rights").await;
    let pods = "resources: [pods]\n    verbs: ";
    let own = "resourceNames: [ipledger-sync]\n    verbs: ";
    for (given, left, named) in [
        (
            format!("{pods}[get, list, watch]"),
            format!("{pods}[get, list]"),
            "watch pods",
        ),
        (
            format!("{pods}[get, list, watch]"),
            format!("{pods}[list, watch]"),
            "get pods",
        ),
        (
            format!("{own}[get, update]"),
            format!("{own}[get]"),
            "update leases.coordination.k8s.io ipledger-sync in namespace rights-sync",
        ),
        (
            "verbs: [create]\n".to_owned(),
            "verbs: [list]\n".to_owned(),
            "create leases.coordination.k8s.io in namespace rights-sync",
        ),
        (
            "resourceNames: [kube-system]".to_owned(),
            "resourceNames: [other]".to_owned(),
            "get namespaces kube-system",
        ),
    ] {
        let whole = manifest(&scene.rights.namespace);
        assert!(whole.contains(&given), "{given}");
        // Under a name of its own, so that other tests keep their rights.
        let role = "ClusterRole\nmetadata:\n  name: ipledger-sync\n";
        let own_role = "ClusterRole\nmetadata:\n  name: ipledger-sync-rights\n";
        let reference = "kind: ClusterRole\n  name: ipledger-sync\n";
        let own_reference = "kind: ClusterRole\n  name: ipledger-sync-rights\n";
        let change = |text: String| {
            text.replace(role, own_role)
                .replace(reference, own_reference)
                .replace(&given, &left)
        };
        remove_binding(&scene).await;
        Rights::grant(scene.cluster, &scene.rights.namespace, change).await;
        let complaint = loop_until_named(&scene, named).await;
        assert_eq!(
            complaint,
            format!(
                "rights are missing: {named}; apply deploy/sync/rbac.yaml and bind it to this \
                 account"
            )
        );
    }
}

/// What a binding refers to cannot be changed.
async fn remove_binding(scene: &Scene) {
    let name = format!("ipledger-sync-{}", scene.rights.namespace);
    let mut delete = scene.cluster.kubectl().unwrap();
    delete.args(["delete", "clusterrolebinding", &name]);
    assert!(delete.output().unwrap().status.success());
}

/// The authoriser learns of a change by a watch, so the first answers may be those of before.
async fn loop_until_named(scene: &Scene, named: &str) -> String {
    let mut complaint = String::new();
    crate::support::until(&format!("{named} is missing alone"), async || {
        let syncer = Syncer::start(scene, quick(scene));
        if syncer.leads_or_ends().await {
            syncer.stop().await.unwrap();
            return false;
        }
        complaint = syncer.ended().await.unwrap_err().to_string();
        complaint.contains(&format!(": {named};"))
    })
    .await;
    complaint
}

#[tokio::test(flavor = "multi_thread")]
async fn an_address_that_is_taken_is_named() {
    let scene = Scene::start("taken").await;
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let mut config = quick(&scene);
    config.listen = taken.local_addr().unwrap();
    let syncer = Syncer::start(&scene, config.clone());
    let error = format!("{:#}", syncer.ended().await.unwrap_err());
    let expected = format!("cannot listen on {}", config.listen);
    assert!(error.starts_with(&expected), "{error}");
}
