//! `deploy/sync/rbac.yaml`, moved to a namespace of the test's own.

use std::io::Write as _;
use std::process::Stdio;

use test_cluster::{Access, Cluster};

/// The account of one sync.
pub(crate) struct Rights {
    pub(crate) namespace: String,
    pub(crate) access: Access,
}

/// The manifest as it is, but for the namespace, and for the names of what others use too.
pub(crate) fn manifest(namespace: &str) -> String {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../deploy/sync/rbac.yaml");
    let text = std::fs::read_to_string(path).unwrap();
    let own = format!("namespace: {namespace}\n");
    let moved = text.replace("namespace: ipledger\n", &own);
    assert_ne!(text, moved);
    // The objects are in the test's own namespace too.
    let moved = moved.replace("namespace: kube-system\n", &own);
    let parts = moved.split("---\n").map(|part| {
        let is_shared = part.contains("ClusterRoleBinding") || part.contains("kube-node-lease");
        if is_shared && part.contains("Binding") {
            let own = format!("metadata:\n  name: ipledger-sync-{namespace}\n");
            part.replacen("metadata:\n  name: ipledger-sync\n", &own, 1)
        } else {
            part.to_owned()
        }
    });
    parts.collect::<Vec<_>>().join("---\n")
}

impl Rights {
    /// Applies the manifest after a change to it.
    pub(crate) async fn grant(
        cluster: &Cluster,
        namespace: &str,
        change: impl FnOnce(String) -> String,
    ) -> Rights {
        let mut apply = cluster.kubectl().unwrap();
        let mut kubectl = apply
            // By the server: two tests may make the same ClusterRole at one time.
            .args(["apply", "--server-side", "--force-conflicts", "-f", "-"])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let text = change(manifest(namespace));
        let mut stdin = kubectl.stdin.take().unwrap();
        stdin.write_all(text.as_bytes()).unwrap();
        drop(stdin);
        assert!(kubectl.wait().unwrap().success());
        let access = cluster.access_as(namespace, "ipledger-sync").await.unwrap();
        Rights {
            namespace: namespace.to_owned(),
            access,
        }
    }
}
