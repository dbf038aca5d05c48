//! Under whose rights one speaks to the API server.

use k8s_openapi::api::core::v1::{ConfigMap, ServiceAccount};
use kube::Api;
use kube::api::{ListParams, ObjectMeta, PostParams};
use serde_json::json;
use test_cluster::{Cluster, shared};

use crate::support::run;

fn named<T>(name: &str, make: impl FnOnce(ObjectMeta) -> T) -> T {
    make(ObjectMeta {
        name: Some(name.to_owned()),
        ..ObjectMeta::default()
    })
}

pub(crate) async fn make_account(cluster: &Cluster, namespace: &str, name: &str) {
    let client = cluster.client().await.unwrap();
    let accounts: Api<ServiceAccount> = Api::namespaced(client, namespace);
    let account = named(name, |metadata| ServiceAccount {
        metadata,
        ..ServiceAccount::default()
    });
    accounts
        .create(&PostParams::default(), &account)
        .await
        .unwrap();
}

#[tokio::test]
async fn a_service_account_may_do_exactly_what_its_roles_say() {
    let cluster = shared().await;
    make_account(cluster, "kube-system", "reader").await;
    let rights = json!({"apiVersion": "v1", "kind": "List", "items": [
        {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "Role",
            "metadata": {"name": "reader", "namespace": "kube-system"},
            "rules": [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["list"]}],
        },
        {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "RoleBinding",
            "metadata": {"name": "reader", "namespace": "kube-system"},
            "roleRef": {
                "apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "reader",
            },
            "subjects": [
                {"kind": "ServiceAccount", "name": "reader", "namespace": "kube-system"},
            ],
        },
    ]});
    run(
        cluster.kubectl().unwrap().args(["apply", "-f", "-"]),
        &rights.to_string(),
    );

    let client = cluster.client_as("kube-system", "reader").await.unwrap();
    let maps: Api<ConfigMap> = Api::namespaced(client.clone(), "kube-system");
    let listed = async || maps.list(&ListParams::default()).await;
    // The authoriser learns of a role by a watch.
    crate::support::until("the role is in force", async || listed().await.is_ok()).await;
    let refused = |error: kube::Error| match error {
        kube::Error::Api(status) => (status.code, status.reason.clone()),
        other => panic!("{other}"),
    };
    let forbidden = (403, "Forbidden".to_owned());
    let one = maps.get("kube-root-ca.crt").await.unwrap_err();
    assert_eq!(refused(one), forbidden);
    let elsewhere: Api<ConfigMap> = Api::namespaced(client, "default");
    let list = elsewhere.list(&ListParams::default()).await.unwrap_err();
    assert_eq!(refused(list), forbidden);
}

#[tokio::test]
async fn an_account_that_is_not_there_is_named() {
    let error = shared()
        .await
        .access_as("kube-system", "nobody")
        .await
        .unwrap_err();
    assert_eq!(error.kind(), "kube");
    assert!(error.to_string().contains("kube-system/nobody"), "{error}");
}

#[tokio::test]
async fn a_written_kubeconfig_is_the_accounts_own() {
    let cluster = shared().await;
    make_account(cluster, "default", "walker").await;
    let path = cluster.directory().join("walker.kubeconfig");
    let access = cluster.access_as("default", "walker").await.unwrap();
    access.write_kubeconfig(&path).unwrap();
    let question = r#"{"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}"#;
    let mut command = cluster.kubectl().unwrap();
    command
        .env("KUBECONFIG", &path)
        .args(["create", "--validate=false", "-f", "-", "-o", "json"]);
    let output = run(&mut command, question);
    let answer: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let user = &answer["status"]["userInfo"]["username"];
    assert_eq!(user, "system:serviceaccount:default:walker");
    assert!(!format!("{access:?}").contains(access.token().unwrap()));
}
