//! Lists that lack something and do not say so.

use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{ListParams, ObjectList};
use kube::{Api, ResourceExt};
use test_cluster::{Fault, Verb, shared};

use super::{Scene, maps};

async fn listed(scene: &Scene, limit: Option<u32>) -> ObjectList<ConfigMap> {
    let everywhere: Api<ConfigMap> = Api::all(scene.client.clone());
    let parameters = ListParams {
        limit,
        ..ListParams::default().labels(&scene.selector())
    };
    everywhere.list(&parameters).await.unwrap()
}

fn namespaces(list: &ObjectList<ConfigMap>) -> Vec<String> {
    list.iter().filter_map(ResourceExt::namespace).collect()
}

#[tokio::test]
async fn an_empty_list_looks_like_a_whole_one() {
    let scene = Scene::set().await;
    let page = listed(&scene, Some(1)).await;
    assert!(page.metadata.continue_.is_some(), "two pages are needed");
    let fault = scene.proxy.inject(maps(), Fault::EmptyList);
    let empty = listed(&scene, Some(1)).await;
    assert!(empty.items.is_empty() && empty.metadata.continue_.is_none());
    assert!(empty.metadata.resource_version.is_some());
    // Reading one object is no list.
    scene.maps(&scene.near).get("first").await.unwrap();
    assert_eq!(fault.hits(), 1);
}

#[tokio::test]
async fn a_list_can_lack_one_namespace() {
    let scene = Scene::set().await;
    let mut both = vec![scene.near.clone(), scene.far.clone()];
    both.sort();
    assert_eq!(namespaces(&listed(&scene, None).await), both);
    let without = Fault::WithoutNamespace(scene.far.clone());
    let _fault = scene.proxy.inject(maps().verb(Verb::List), without);
    let left = namespaces(&listed(&scene, None).await);
    assert_eq!(left, std::slice::from_ref(&scene.near));
}

#[tokio::test]
async fn a_refused_list_stays_a_refusal() {
    let scene = Scene::set().await;
    let cluster = shared().await;
    crate::access::make_account(cluster, &scene.near, "powerless").await;
    let access = cluster.access_as(&scene.near, "powerless").await.unwrap();
    let client = scene.proxy.access(&access).client().await.unwrap();
    let fault = scene.proxy.inject(maps(), Fault::EmptyList);
    let maps: Api<ConfigMap> = Api::all(client);
    let error = maps.list(&ListParams::default()).await.unwrap_err();
    assert!(
        matches!(&error, kube::Error::Api(status) if status.code == 403),
        "{error}"
    );
    assert_eq!(fault.hits(), 1);
}
