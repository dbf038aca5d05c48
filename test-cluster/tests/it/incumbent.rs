//! whereabouts itself on our definitions of its objects: it must be able to work with them, and
//! what it writes must be what our types say.

use std::fs;
use std::process::Command;

use ipledger_sync::crd::{IpPool, OverlappingRangeIpReservation};
use kube::Api;
use kube::api::ListParams;
use serde_json::{Value, json};
use test_cluster::{Cluster, GoProgram};

use crate::support::run;

const SANDBOX: &str = "a56b06006c6a3e3a1eb26db82b8cd5db008f20627576e3b1c7926776bffc9ed0";

/// Runs the plugin on the network of the first report, for its pod.
fn whereabouts(cluster: &Cluster, verb: &str) -> Value {
    let dir = cluster.directory();
    let flat_file = dir.join("whereabouts.conf");
    let kubernetes = json!({"kubernetes": {"kubeconfig": cluster.kubeconfig_path()}});
    fs::write(&flat_file, kubernetes.to_string()).unwrap();
    // Any file that is not the plugin's own network namespace will do.
    let namespace = dir.join("namespace");
    fs::write(&namespace, "").unwrap();
    let network = json!({
        "cniVersion": "0.3.0",
        "name": "super-net",
        "type": "macvlan",
        "ipam": {
            "type": "whereabouts",
            "range": "10.10.3.0/24",
            "range_start": "10.10.3.30",
            "range_end": "10.10.3.30",
            "configuration_path": flat_file,
        },
    });
    let mut plugin = Command::new(GoProgram::Whereabouts.build().unwrap().join("whereabouts"));
    plugin
        .env_clear()
        .env("CNI_COMMAND", verb)
        .env("CNI_CONTAINERID", SANDBOX)
        .env("CNI_NETNS", namespace)
        .env("CNI_IFNAME", "net1")
        .env("CNI_PATH", dir)
        .env(
            "CNI_ARGS",
            "IgnoreUnknown=1;K8S_POD_NAMESPACE=default;K8S_POD_NAME=super-pod",
        );
    let output = run(&mut plugin, &network.to_string());
    serde_json::from_slice(&output.stdout).unwrap_or_default()
}

#[tokio::test]
async fn whereabouts_allocates_and_frees_on_our_definitions() {
    let cluster = Cluster::start().await.unwrap();
    cluster.install_crds().await.unwrap();
    let client = cluster.client().await.unwrap();
    let pools: Api<IpPool> = Api::namespaced(client.clone(), "default");
    let reservations: Api<OverlappingRangeIpReservation> = Api::namespaced(client, "default");

    let result = whereabouts(&cluster, "ADD");
    assert_eq!(result["ips"][0]["address"], "10.10.3.30/24", "{result}");
    let pool = pools.get("10.10.3.0-24").await.unwrap().spec;
    let expected = json!({
        "range": "10.10.3.0/24",
        "allocations": {
            "30": {"id": SANDBOX, "podref": "default/super-pod", "ifname": "net1"},
        },
    });
    assert_eq!(serde_json::to_value(&pool).unwrap(), expected);
    let reservation = reservations.get("10.10.3.30").await.unwrap().spec;
    let expected = json!({"podref": "default/super-pod", "ifname": "net1"});
    assert_eq!(serde_json::to_value(&reservation).unwrap(), expected);

    whereabouts(&cluster, "DEL");
    assert!(
        pools
            .get("10.10.3.0-24")
            .await
            .unwrap()
            .spec
            .allocations
            .is_empty()
    );
    let left = reservations.list(&ListParams::default()).await.unwrap();
    assert!(left.items.is_empty(), "{:?}", left.items);
}
