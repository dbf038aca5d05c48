//! Requests that keep tests short.

use serde_json::{Value, json};

/// The attachment of a sandbox on `net1`.
pub(crate) fn attachment(container: &str) -> Value {
    json!({"cluster": "prod", "network": "super-net", "container_id": container, "ifname": "net1"})
}

/// An allocate out of 10.10.3.0/24 by the pod `pod-<container>` on `node-1`.
pub(crate) fn allocate(container: &str) -> Value {
    allocate_from(container, &json!([{"range": "10.10.3.0/24"}]))
}

/// An allocate out of these ranges.
pub(crate) fn allocate_from(container: &str, ranges: &Value) -> Value {
    json!({
        "attachment": attachment(container),
        "owner": {
            "namespace": "default",
            "name": format!("pod-{container}"),
            "uid": format!("uid-{container}"),
            "node": "node-1",
        },
        "ranges": ranges,
    })
}

/// The release of a sandbox.
pub(crate) fn release(container: &str) -> Value {
    json!({"attachment": attachment(container)})
}
