//! Who holds an address, as a value and in words.

use ipledger_client::types::Holder;
use ledger::Hold;

use crate::wire;

/// The holder of a hold.
pub(crate) fn holder_of(hold: &Hold) -> Holder {
    let owner = hold.owner.as_ref();
    Holder {
        address: hold.ip.to_string(),
        step: hold.step,
        cluster: hold.attachment.cluster.clone(),
        pod: owner.map(|owner| format!("{}/{}", owner.namespace, owner.name)),
        uid: owner.and_then(|owner| owner.uid.clone()),
        node: owner.and_then(|owner| owner.node.clone()),
        container_id: hold.attachment.container_id.clone(),
        ifname: hold.attachment.ifname.clone(),
        since: wire::time(hold.recorded_at),
    }
}

/// `default/super-pod net1 on node-1 (cluster prod, container 4fe2…) since 2026-…`.
pub(super) fn in_words(holder: &Holder) -> String {
    let pod = holder.pod.as_deref().unwrap_or("an unknown pod");
    let node = holder.node.as_deref().unwrap_or("an unknown node");
    let container: String = holder.container_id.chars().take(12).collect();
    // An imported hold may not know its interface.
    let ifname = match holder.ifname.as_str() {
        "" => String::new(),
        ifname => format!(" {ifname}"),
    };
    format!(
        "{pod}{ifname} on {node} (cluster {}, container {container}) since {}",
        holder.cluster, holder.since
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holder() -> Holder {
        Holder {
            address: "10.10.3.30".to_owned(),
            step: 0,
            cluster: "prod".to_owned(),
            pod: Some("default/super-pod".to_owned()),
            uid: None,
            node: Some("node-1".to_owned()),
            container_id: "0123456789abcdef".to_owned(),
            ifname: "net1".to_owned(),
            since: "2026-11-30T07:42:00.000000Z".to_owned(),
        }
    }

    #[test]
    fn a_holder_is_named_with_pod_node_and_time() {
        assert_eq!(
            in_words(&holder()),
            "default/super-pod net1 on node-1 (cluster prod, container 0123456789ab) \
             since 2026-11-30T07:42:00.000000Z"
        );
    }

    #[test]
    fn what_an_imported_hold_does_not_know_is_said() {
        let imported = Holder {
            pod: None,
            node: None,
            ifname: String::new(),
            ..holder()
        };
        assert_eq!(
            in_words(&imported),
            "an unknown pod on an unknown node (cluster prod, container 0123456789ab) \
             since 2026-11-30T07:42:00.000000Z"
        );
    }
}
