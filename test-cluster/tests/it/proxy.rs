//! Every fault, as a client of the real API server meets it.

mod answers;
mod lists;
mod watches;

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use kube::api::{ObjectMeta, PostParams};
use kube::{Api, ResourceExt};
use test_cluster::{FaultProxy, Matcher, shared};

/// Two namespaces of a test's own with one ConfigMap each, and a client through a proxy.
pub(crate) struct Scene {
    pub(crate) proxy: FaultProxy,
    pub(crate) client: kube::Client,
    pub(crate) near: String,
    pub(crate) far: String,
}

impl Scene {
    pub(crate) async fn set() -> Self {
        let cluster = shared().await;
        let proxy = FaultProxy::start(cluster).await.unwrap();
        let client = proxy.access(&cluster.access()).client().await.unwrap();
        let (near, far) = (namespace(&client).await, namespace(&client).await);
        let scene = Self {
            proxy,
            client,
            near,
            far,
        };
        scene.make(&scene.near, "first").await;
        scene.make(&scene.far, "first").await;
        scene
    }

    pub(crate) async fn make(&self, namespace: &str, name: &str) {
        let map = ConfigMap {
            metadata: ObjectMeta {
                name: Some(name.to_owned()),
                labels: Some(BTreeMap::from([("of".to_owned(), self.near.clone())])),
                ..ObjectMeta::default()
            },
            ..ConfigMap::default()
        };
        self.maps(namespace)
            .create(&PostParams::default(), &map)
            .await
            .unwrap();
    }

    /// Selects the ConfigMaps of this scene in all namespaces.
    pub(crate) fn selector(&self) -> String {
        format!("of={}", self.near)
    }

    pub(crate) fn maps(&self, namespace: &str) -> Api<ConfigMap> {
        Api::namespaced(self.client.clone(), namespace)
    }
}

pub(crate) fn maps() -> Matcher {
    Matcher::new().resource("configmaps")
}

async fn namespace(client: &kube::Client) -> String {
    let namespace = Namespace {
        metadata: ObjectMeta {
            generate_name: Some("scene-".to_owned()),
            ..ObjectMeta::default()
        },
        ..Namespace::default()
    };
    let namespaces: Api<Namespace> = Api::all(client.clone());
    let made = namespaces.create(&PostParams::default(), &namespace).await;
    made.unwrap().name_any()
}
