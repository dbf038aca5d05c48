//! How a cluster begins and ends.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use k8s_openapi::api::core::v1::Namespace;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{DeleteParams, ListParams, ObjectMeta, PostParams};
use kube::{Api, ResourceExt};
use test_cluster::{Cluster, GoProgram, shared};

use crate::support::{mentioning, runs, until};

#[tokio::test]
async fn a_dropped_cluster_leaves_neither_process_nor_directory() {
    let cluster = Cluster::start().await.unwrap();
    let pids: Vec<u32> = cluster.pids().collect();
    let dir = cluster.directory().to_owned();
    assert!(
        pids.len() == 2 && pids.iter().all(|pid| runs(*pid)),
        "{pids:?}"
    );
    assert!(dir.join("etcd").exists());
    drop(cluster);
    assert!(pids.iter().all(|pid| !runs(*pid)), "{pids:?}");
    assert!(!dir.exists(), "{}", dir.display());
}

#[tokio::test]
async fn a_cluster_ends_with_an_owner_that_is_killed() {
    let mut owner = Command::new(env!("CARGO_BIN_EXE_with-cluster"))
        .args(["sh", "-c", "echo $KUBECONFIG; exec cat"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut kubeconfig = String::new();
    let stdout = owner.stdout.take().unwrap();
    BufReader::new(stdout).read_line(&mut kubeconfig).unwrap();
    let dir = Path::new(kubeconfig.trim()).parent().unwrap();
    let pids = mentioning(dir);
    assert!(pids.len() >= 3, "{pids:?} work in {}", dir.display());

    owner.kill().unwrap();
    owner.wait().unwrap();
    until("the processes are gone", async || {
        !pids.iter().any(|pid| runs(*pid))
    })
    .await;
    until("the directory is gone", async || !dir.exists()).await;
}

#[test]
fn a_command_beside_a_cluster_gives_its_exit_code() {
    let status = Command::new(env!("CARGO_BIN_EXE_with-cluster"))
        .args(["sh", "-c", "test -s \"$KUBECONFIG\" && exit 7"])
        .status()
        .unwrap();
    assert_eq!(status.code(), Some(7));
}

#[tokio::test]
async fn two_clusters_are_two() {
    let (one, other) = tokio::join!(Cluster::start(), Cluster::start());
    let (one, other) = (one.unwrap(), other.unwrap());
    assert_ne!(one.url(), other.url());
    let uid = async |cluster: &Cluster| {
        let namespaces: Api<Namespace> = Api::all(cluster.client().await.unwrap());
        namespaces.get("kube-system").await.unwrap().uid().unwrap()
    };
    assert_ne!(uid(&one).await, uid(&other).await);
}

#[tokio::test]
async fn the_custom_resources_are_installed_again_without_complaint() {
    let cluster = shared().await;
    cluster.install_crds().await.unwrap();
    let definitions: Api<CustomResourceDefinition> = Api::all(cluster.client().await.unwrap());
    let list = definitions.list(&ListParams::default()).await.unwrap();
    let kinds: Vec<&str> = list
        .iter()
        .map(|one| one.spec.names.kind.as_str())
        .collect();
    let expected = [
        "IPPool",
        "NetworkAttachmentDefinition",
        "NodeSlicePool",
        "OverlappingRangeIPReservation",
    ];
    let mut found = kinds.clone();
    found.sort_unstable();
    assert_eq!(found, expected);
}

#[tokio::test]
async fn with_the_controller_manager_a_deleted_namespace_goes() {
    let mut cluster = Cluster::start().await.unwrap();
    cluster.start_controller_manager().await.unwrap();
    assert_eq!(cluster.pids().count(), 3);
    let namespaces: Api<Namespace> = Api::all(cluster.client().await.unwrap());
    let namespace = Namespace {
        metadata: ObjectMeta {
            name: Some("short".to_owned()),
            ..ObjectMeta::default()
        },
        ..Namespace::default()
    };
    namespaces
        .create(&PostParams::default(), &namespace)
        .await
        .unwrap();
    namespaces
        .delete("short", &DeleteParams::default())
        .await
        .unwrap();
    until("the namespace is gone", async || {
        namespaces.get_opt("short").await.unwrap().is_none()
    })
    .await;
}

#[tokio::test]
async fn the_api_server_is_the_pinned_release() {
    let version = shared()
        .await
        .client()
        .await
        .unwrap()
        .apiserver_version()
        .await
        .unwrap();
    assert_eq!(version.git_version, "v1.37.2");
}

#[test]
fn a_program_that_was_built_is_found_again() {
    let first = GoProgram::ControlPlane.build().unwrap();
    let programs = GoProgram::ControlPlane.programs();
    assert!(
        programs.iter().all(|name| first.join(name).exists()),
        "{programs:?}"
    );
    assert_eq!(GoProgram::ControlPlane.build().unwrap(), first);
}
