//! What an import makes of objects, without a cluster or a ledger.

mod findings;
mod reading;

use ipledger_sync::import::{Analysis, Choices, Inventory, analyse};

/// The two objects of the first report, as they were written there.
pub(crate) const OUTAGE: &str = "\
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

/// The entries of the second report, in a pool that has them.
pub(crate) const REBORN: &str = "\
apiVersion: whereabouts.cni.cncf.io/v1alpha1
kind: IPPool
metadata: {name: 10.60.0.0-16, namespace: kube-system}
spec:
  range: 10.60.0.0/16
  allocations:
    \"18278\":   # the dead node's pod
      id: 051a974db72a38d2c226aebbf46f596c62c95e2c527e7dae51d6df52d252bb51
      podref: xxx/pod-1
    \"18279\":   # the reborn pod, alive
      id: b2a431a89ae18c3132eb3708306a901ea5999da64f10f0a23f14ede25602c01c
      podref: xxx/pod-1
";

fn choices() -> Choices {
    Choices {
        cluster: "prod".to_owned(),
        cluster_uid: None,
        keep_gone: false,
        read_at: "2026-11-30T07:42:00Z".parse().unwrap(),
    }
}

fn inventory(texts: &[&str]) -> Inventory {
    let mut inventory = Inventory::default();
    for (index, text) in texts.iter().enumerate() {
        inventory.add_text(&format!("file-{index}"), text).unwrap();
    }
    inventory
}

fn analysis(texts: &[&str]) -> Analysis {
    analyse(&inventory(texts), &choices())
}

/// (range, address, container id) of what is imported.
fn imported(analysis: &Analysis) -> Vec<(String, String, String)> {
    let hold = |hold: &ipledger_sync::import::Importable| {
        let request = &hold.request;
        let id = request.container_id.chars().take(8).collect();
        (request.range.clone(), request.address.clone(), id)
    };
    analysis.holds.iter().map(hold).collect()
}

/// (kind, key or name, outcome) of what is found.
fn found(analysis: &Analysis) -> Vec<String> {
    let line = |finding: &ipledger_sync::import::Finding| {
        let name = finding.object.rsplit('/').next().unwrap_or_default();
        let place = finding.key.as_deref().unwrap_or(name);
        let outcome = finding.outcome.as_str();
        format!("{} {place}: {outcome}", finding.kind.as_str())
    };
    analysis.findings.iter().map(line).collect()
}

/// A pool as YAML; entries as (key, id, podref, ifname), an empty text leaves the field out.
fn pool(name: &str, range: &str, entries: &[(&str, &str, &str, &str)]) -> String {
    let mut text = format!(
        "kind: IPPool\napiVersion: whereabouts.cni.cncf.io/v1alpha1\n\
         metadata: {{name: '{name}', namespace: kube-system, resourceVersion: '77', uid: u1}}\n\
         spec:\n  range: '{range}'\n  allocations:\n"
    );
    for (key, id, podref, ifname) in entries {
        text += &format!("    '{key}':\n      podref: '{podref}'\n");
        for (field, value) in [("id", id), ("ifname", ifname)] {
            if !value.is_empty() {
                text += &format!("      {field}: '{value}'\n");
            }
        }
    }
    text
}

fn reservation(name: &str, podref: &str) -> String {
    format!(
        "kind: OverlappingRangeIPReservation\napiVersion: whereabouts.cni.cncf.io/v1alpha1\n\
         metadata: {{name: '{name}', namespace: kube-system, resourceVersion: '78'}}\n\
         spec: {{podref: '{podref}', ifname: net1}}\n"
    )
}

/// A pod that reports addresses; without any it has no annotation.
fn pod(name: &str, addresses: &[&str]) -> String {
    let (namespace, name) = name.split_once('/').unwrap();
    let ips: Vec<String> = addresses.iter().map(|ip| format!("\"{ip}\"")).collect();
    let report = format!(
        "[{{\"name\":\"cbr0\",\"ips\":[\"10.244.0.9\"],\"default\":true}},\
         {{\"name\":\"default/super-net\",\"interface\":\"net1\",\"ips\":[{}]}}]",
        ips.join(",")
    );
    let annotations = match addresses {
        [] => "{}".to_owned(),
        _ => format!("{{k8s.v1.cni.cncf.io/network-status: '{report}'}}"),
    };
    format!(
        "kind: Pod\napiVersion: v1\nmetadata: {{name: '{name}', namespace: '{namespace}', \
         uid: 'uid-{name}', resourceVersion: '79', annotations: {annotations}}}\n\
         spec: {{nodeName: node-a}}\n"
    )
}

fn node(name: &str, ready: bool) -> String {
    let status = if ready { "True" } else { "Unknown" };
    format!(
        "kind: Node\napiVersion: v1\nmetadata: {{name: {name}}}\n\
         status: {{conditions: [{{type: Ready, status: '{status}'}}]}}\n"
    )
}
