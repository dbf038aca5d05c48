//! Nodes as the API server shows them, with a kubelet that does nothing but be heard.

use std::time::Duration;

use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::Node;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use kube::{Api, Client};
use serde_json::{Value, json};
use tokio::task::JoinHandle;

/// How often it renews its Lease. Far more often than a kubelet, since the grace is short here.
const BEAT: Duration = Duration::from_millis(200);

/// A node.
pub(crate) struct TestNode {
    pub(crate) name: String,
    client: Client,
    beating: Option<JoinHandle<()>>,
}

impl TestNode {
    /// One that is heard.
    pub(crate) async fn start(client: &Client, name: &str) -> TestNode {
        let mut node = TestNode::silent(client, name).await;
        node.speak();
        node
    }

    /// One that is not heard, and is not known to be unreachable.
    pub(crate) async fn silent(client: &Client, name: &str) -> TestNode {
        let node = TestNode {
            name: name.to_owned(),
            client: client.clone(),
            beating: None,
        };
        node.create().await;
        node
    }

    async fn create(&self) {
        let object = json!({"metadata": {"name": self.name}});
        let object: Node = serde_json::from_value(object).unwrap();
        let post = PostParams::default();
        self.api().create(&post, &object).await.unwrap();
        self.ready("True").await;
        let lease = json!({
            "metadata": {"name": self.name, "namespace": "kube-node-lease"},
            "spec": {"holderIdentity": self.name, "leaseDurationSeconds": 40},
        });
        let lease: Lease = serde_json::from_value(lease).unwrap();
        match self.leases().create(&post, &lease).await {
            Ok(_) => {}
            Err(kube::Error::Api(status)) if status.code == 409 => {}
            Err(error) => panic!("{error}"),
        }
    }

    /// Begins to renew its Lease.
    pub(crate) fn speak(&mut self) {
        let (leases, name) = (self.leases(), self.name.clone());
        self.beating = Some(tokio::spawn(async move {
            for beat in 0.. {
                // The node's clock is wrong by decades, and only has to move.
                let time = format!("1980-01-01T00:{:02}:{:02}.000000Z", beat / 60, beat % 60);
                let renewal = json!({"spec": {"renewTime": time}});
                let merge = Patch::Merge(renewal);
                leases
                    .patch(&name, &PatchParams::default(), &merge)
                    .await
                    .unwrap();
                tokio::time::sleep(BEAT).await;
            }
        }));
    }

    /// Is not heard any more.
    pub(crate) fn fall_silent(&mut self) {
        if let Some(beating) = self.beating.take() {
            beating.abort();
        }
    }

    /// Sets the condition Ready.
    pub(crate) async fn ready(&self, status: &str) {
        let change = json!({"status": {"conditions": [{
            "type": "Ready", "status": status, "lastTransitionTime": "2020-01-01T00:00:00Z",
        }]}});
        self.api()
            .patch_status(&self.name, &PatchParams::default(), &Patch::Merge(change))
            .await
            .unwrap();
    }

    /// Sets the taint by which an operator says that the machine is off.
    pub(crate) async fn out_of_service(&self) {
        let taint = json!({"key": "node.kubernetes.io/out-of-service", "effect": "NoExecute"});
        self.change(json!({"spec": {"taints": [taint]}})).await;
    }

    async fn change(&self, change: Value) {
        let merge = Patch::Merge(change);
        self.api()
            .patch(&self.name, &PatchParams::default(), &merge)
            .await
            .unwrap();
    }

    /// Deletes the object.
    pub(crate) async fn delete(&mut self) {
        self.fall_silent();
        self.api()
            .delete(&self.name, &DeleteParams::default())
            .await
            .unwrap();
    }

    /// Makes another node of the same name, which is silent.
    pub(crate) async fn replace(&mut self) {
        self.delete().await;
        self.create().await;
    }

    fn api(&self) -> Api<Node> {
        Api::all(self.client.clone())
    }

    fn leases(&self) -> Api<Lease> {
        Api::namespaced(self.client.clone(), "kube-node-lease")
    }
}

impl Drop for TestNode {
    fn drop(&mut self) {
        self.fall_silent();
    }
}
