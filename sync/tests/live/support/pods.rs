//! Pods of one namespace.

use k8s_openapi::api::core::v1::{Namespace, Pod, ServiceAccount};
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use kube::{Api, Client};
use serde_json::{Value, json};

/// A namespace and what is in it.
pub(crate) struct Pods {
    pub(crate) namespace: String,
    client: Client,
}

impl Pods {
    /// Makes the namespace, and the account without which no pod is admitted.
    pub(crate) async fn start(client: &Client, namespace: &str) -> Pods {
        let post = PostParams::default();
        let made = json!({"metadata": {"name": namespace}});
        let made: Namespace = serde_json::from_value(made).unwrap();
        let namespaces: Api<Namespace> = Api::all(client.clone());
        namespaces.create(&post, &made).await.unwrap();
        let account = json!({"metadata": {"name": "default"}});
        let account: ServiceAccount = serde_json::from_value(account).unwrap();
        let accounts: Api<ServiceAccount> = Api::namespaced(client.clone(), namespace);
        accounts.create(&post, &account).await.unwrap();
        Pods {
            namespace: namespace.to_owned(),
            client: client.clone(),
        }
    }

    /// A pod that runs. Answers with its UID.
    pub(crate) async fn run(&self, name: &str, node: &str) -> String {
        self.run_with(name, node, json!({})).await
    }

    /// The same with annotations.
    pub(crate) async fn run_with(&self, name: &str, node: &str, annotations: Value) -> String {
        let pod = json!({
            "metadata": {"name": name, "annotations": annotations},
            "spec": {
                "nodeName": node, "restartPolicy": "Never", "terminationGracePeriodSeconds": 3,
                "automountServiceAccountToken": false,
                "containers": [{"name": "app", "image": "app"}],
            },
        });
        let pod: Pod = serde_json::from_value(pod).unwrap();
        let made = self.api().create(&PostParams::default(), &pod).await;
        let uid = made.unwrap().metadata.uid.unwrap();
        self.report(name, "Running", json!({"running": {}})).await;
        uid
    }

    /// Writes the status, as a kubelet or podgc does.
    pub(crate) async fn report(&self, name: &str, phase: &str, container: Value) {
        let status = json!({"status": {"phase": phase, "containerStatuses": [{
            "name": "app", "image": "app", "imageID": "", "ready": false, "restartCount": 0,
            "state": container,
        }]}});
        self.api()
            .patch_status(name, &PatchParams::default(), &Patch::Merge(status))
            .await
            .unwrap();
    }

    /// Ends well.
    pub(crate) async fn complete(&self, name: &str) {
        let ended = json!({"terminated": {"exitCode": 0}});
        self.report(name, "Succeeded", ended).await;
    }

    /// Deletes the object at once, as a forced deletion does: nobody waits for its containers.
    pub(crate) async fn delete(&self, name: &str) {
        let now = DeleteParams::default().grace_period(0);
        self.api().delete(name, &now).await.unwrap();
    }

    fn api(&self) -> Api<Pod> {
        Api::namespaced(self.client.clone(), &self.namespace)
    }
}
