//! The objects of the reports that started this project, as they were reported.

use ipledger_sync::crd::{IpPool, NetworkAttachmentDefinition, OverlappingRangeIpReservation};
use kube::Api;
use serde_json::Value;
use test_cluster::shared;

use crate::support::{output, run};

const NETWORK: &str = r#"
apiVersion: k8s.cni.cncf.io/v1
kind: NetworkAttachmentDefinition
metadata:
  namespace: default
  name: super-net
spec:
  config: |-
    {
      "cniVersion": "0.3.0",
      "name": "super-net",
      "type": "macvlan",
      "master": "eth1",
      "mode": "bridge",
      "ipam":
          {
            "range": "10.10.3.0/24",
            "range_end": "10.10.3.30",
            "range_start": "10.10.3.30",
            "type": "whereabouts"
          }
    }
"#;

const CLAIMS: &str = r#"
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
    "30":
      id: a56b06006c6a3e3a1eb26db82b8cd5db008f20627576e3b1c7926776bffc9ed0
      ifname: net1
      podref: default/super-pod
  range: 10.10.3.0/24
"#;

#[tokio::test]
async fn the_reported_claims_are_applied_and_read_back() {
    let cluster = shared().await;
    run(
        cluster.kubectl().unwrap().args(["apply", "-f", "-"]),
        CLAIMS,
    );

    let client = cluster.client().await.unwrap();
    let pools: Api<IpPool> = Api::namespaced(client.clone(), "kube-system");
    let pool = pools.get("10.10.3.0-24").await.unwrap().spec;
    let reservations: Api<OverlappingRangeIpReservation> = Api::namespaced(client, "kube-system");
    let reservation = reservations.get("10.10.3.30").await.unwrap().spec;
    assert_eq!(pool.range, "10.10.3.0/24");
    let holders: Vec<(&str, &str)> = pool
        .allocations
        .iter()
        .map(|(key, holder)| (key.as_str(), holder.pod_ref.as_str()))
        .collect();
    assert_eq!(holders, [("30", "default/super-pod")]);
    assert_eq!(reservation.pod_ref, "default/super-pod");

    // What a script sees is what was written, key for key.
    let mut get = cluster.kubectl().unwrap();
    get.args([
        "-n",
        "kube-system",
        "get",
        "ippool",
        "10.10.3.0-24",
        "-o",
        "json",
    ]);
    let shown: Value = serde_json::from_slice(&run(&mut get, "").stdout).unwrap();
    assert_eq!(shown["spec"], serde_json::to_value(&pool).unwrap());
}

#[tokio::test]
async fn the_reported_network_is_applied_and_read_back() {
    let cluster = shared().await;
    run(
        cluster.kubectl().unwrap().args(["apply", "-f", "-"]),
        NETWORK,
    );
    let client = cluster.client().await.unwrap();
    let networks: Api<NetworkAttachmentDefinition> = Api::namespaced(client, "default");
    let config = networks
        .get("super-net")
        .await
        .unwrap()
        .spec
        .config
        .unwrap();
    let config: Value = serde_json::from_str(&config).unwrap();
    assert_eq!(config["ipam"]["range_start"], "10.10.3.30");
}

#[tokio::test]
async fn an_entry_without_its_pod_is_refused_by_the_schema() {
    let broken = CLAIMS.replace("      podref: default/super-pod\n", "");
    assert_ne!(broken, CLAIMS);
    let cluster = shared().await;
    let mut apply = cluster.kubectl().unwrap();
    apply.args(["apply", "--dry-run=server", "-f", "-"]);
    let refused = output(&mut apply, &broken);
    let message = String::from_utf8_lossy(&refused.stderr);
    assert!(
        !refused.status.success() && message.contains("podref"),
        "{message}"
    );
}
