//! Everything that a test needs, each under a name of its own.

use kube::Client;
use test_cluster::{Cluster, FaultProxy, shared};

use super::{Ledger, Pods, Rights, Want};

/// The name of the cluster in every ledger.
const NAME: &str = "prod";

/// A ledger, a proxy before the API server, a namespace with pods, and sync's rights.
pub(crate) struct Scene {
    pub(crate) name: &'static str,
    pub(crate) cluster: &'static Cluster,
    pub(crate) admin: Client,
    pub(crate) proxy: FaultProxy,
    pub(crate) ledger: Ledger,
    pub(crate) pods: Pods,
    pub(crate) rights: Rights,
}

impl Scene {
    /// Named after the test: what it makes in the shared cluster has that prefix.
    pub(crate) async fn start(name: &'static str) -> Scene {
        let cluster = shared().await;
        let admin = cluster.client().await.unwrap();
        let home = Pods::start(&admin, &format!("{name}-sync")).await;
        Scene {
            name,
            cluster,
            proxy: FaultProxy::start(cluster).await.unwrap(),
            ledger: Ledger::start().await,
            pods: Pods::start(&admin, name).await,
            rights: Rights::grant(cluster, &home.namespace, |text| text).await,
            admin,
        }
    }

    /// A name for a node that no other test uses.
    pub(crate) fn node_name(&self, name: &str) -> String {
        format!("{}-{name}", self.name)
    }

    /// What a pod of this namespace wants.
    pub(crate) fn want<'a>(
        &'a self,
        pod: &'a str,
        uid: Option<&'a str>,
        node: Option<&'a str>,
    ) -> Want<'a> {
        Want {
            cluster: NAME,
            namespace: &self.pods.namespace,
            pod,
            uid,
            node,
            window: (1, 254),
        }
    }

    /// A pod that runs and has an address. Answers with the address.
    pub(crate) async fn pod_with_address(&self, pod: &str, node: &str) -> String {
        let uid = self.pods.run(pod, node).await;
        let want = self.want(pod, Some(&uid), Some(node));
        self.ledger.allocate(want).await
    }

    /// What the cluster holds now.
    pub(crate) async fn held(&self) -> Vec<String> {
        self.ledger.held(NAME).await
    }
}
