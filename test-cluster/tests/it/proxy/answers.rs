//! Requests that are refused, late, or answered in part or never.

use std::time::{Duration, Instant};

use kube::api::{DeleteParams, ListParams};
use test_cluster::{Fault, StatusCode, Verb, shared};

use super::{Scene, maps};
use crate::support::run;

fn status(error: kube::Error) -> (u16, String) {
    match error {
        kube::Error::Api(status) => (status.code, status.reason),
        other => panic!("no answer of the API server: {other}"),
    }
}

#[tokio::test]
async fn without_a_fault_everything_passes() {
    let scene = Scene::set().await;
    let near = scene.maps(&scene.near);
    assert_eq!(
        near.list(&ListParams::default()).await.unwrap().items.len(),
        1
    );
    near.delete("first", &DeleteParams::default())
        .await
        .unwrap();
    assert!(near.get_opt("first").await.unwrap().is_none());

    let seen = scene.proxy.seen(&maps().namespace(&scene.near));
    let verbs: Vec<Verb> = seen.iter().map(|request| request.verb).collect();
    assert_eq!(verbs, [Verb::Create, Verb::List, Verb::Delete, Verb::Get]);
    assert_eq!(
        seen.iter()
            .filter(|request| request.verb.is_write())
            .count(),
        2
    );
}

// kubectl is waited for on a thread that the proxy does not need.
#[tokio::test(flavor = "multi_thread")]
async fn kubectl_goes_through_the_proxy() {
    let scene = Scene::set().await;
    let cluster = shared().await;
    let path = cluster
        .directory()
        .join(format!("{}.kubeconfig", scene.near));
    scene
        .proxy
        .access(&cluster.access())
        .write_kubeconfig(&path)
        .unwrap();
    let mut command = cluster.kubectl().unwrap();
    command.env("KUBECONFIG", &path);
    command.args([
        "get",
        "configmaps",
        "--all-namespaces",
        "-l",
        &scene.selector(),
    ]);
    let without = Fault::WithoutNamespace(scene.far.clone());
    let fault = scene.proxy.inject(maps().verb(Verb::List), without);
    let shown = String::from_utf8(run(&mut command, "").stdout).unwrap();
    assert_eq!(fault.hits(), 1);
    assert!(
        shown.contains(&scene.near) && !shown.contains(&scene.far),
        "{shown}"
    );
}

#[tokio::test]
async fn a_refusal_has_the_status_and_the_reason_of_the_api_server() {
    let scene = Scene::set().await;
    let near = scene.maps(&scene.near);
    let table = [
        (StatusCode::INTERNAL_SERVER_ERROR, "InternalError"),
        (StatusCode::FORBIDDEN, "Forbidden"),
        (StatusCode::GONE, "Expired"),
    ];
    for (code, reason) in table {
        let fault = scene
            .proxy
            .inject(maps().verb(Verb::List), Fault::Status(code));
        let refused = near.list(&ListParams::default()).await.unwrap_err();
        assert_eq!(status(refused), (code.as_u16(), reason.to_owned()));
        assert_eq!(fault.hits(), 1);
        // Another verb is not meant.
        near.get("first").await.unwrap();
    }
    // Every fault ended with its guard.
    near.list(&ListParams::default()).await.unwrap();
}

/// kube's client tries again after 429, sixteen times in all and for minutes.
#[tokio::test]
async fn a_client_that_tries_again_meets_a_fault_of_one_request_once() {
    let scene = Scene::set().await;
    let too_many = Fault::Status(StatusCode::TOO_MANY_REQUESTS);
    let fault = scene
        .proxy
        .inject_times(maps().verb(Verb::Get), too_many, 1);
    scene.maps(&scene.near).get("first").await.unwrap();
    assert_eq!(fault.hits(), 1);
    assert_eq!(scene.proxy.seen(&maps().verb(Verb::Get)).len(), 2);
}

#[tokio::test]
async fn of_two_faults_the_later_one_counts() {
    let scene = Scene::set().await;
    let gone = scene.proxy.inject(maps(), Fault::Status(StatusCode::GONE));
    let forbidden = scene
        .proxy
        .inject(maps(), Fault::Status(StatusCode::FORBIDDEN));
    let near = scene.maps(&scene.near);
    assert_eq!(status(near.get("first").await.unwrap_err()).0, 403);
    drop(forbidden);
    assert_eq!(status(near.get("first").await.unwrap_err()).0, 410);
    assert_eq!(gone.hits(), 1);
}

#[tokio::test]
async fn a_request_that_hangs_has_no_answer_until_the_fault_ends() {
    let scene = Scene::set().await;
    let near = scene.maps(&scene.near);
    let mut fault = scene.proxy.inject(maps().verb(Verb::Get), Fault::Hang);
    let hanging = tokio::spawn(async move { near.get("first").await });
    fault.was_hit(1).await;
    assert!(!hanging.is_finished());
    drop(fault);
    let error = hanging.await.unwrap().unwrap_err();
    assert!(!matches!(error, kube::Error::Api(_)), "{error}");
    scene.maps(&scene.near).get("first").await.unwrap();
}

#[tokio::test]
async fn a_connection_can_close_without_an_answer() {
    let scene = Scene::set().await;
    let fault = scene.proxy.inject(maps(), Fault::Disconnect);
    let error = scene.maps(&scene.near).get("first").await.unwrap_err();
    assert!(!matches!(error, kube::Error::Api(_)), "{error}");
    assert!(fault.hits() >= 1);
}

#[tokio::test]
async fn a_delayed_request_is_answered_no_earlier() {
    let scene = Scene::set().await;
    let delay = Duration::from_millis(300);
    let _fault = scene
        .proxy
        .inject(maps().verb(Verb::Get), Fault::Delay(delay));
    let before = Instant::now();
    scene.maps(&scene.near).get("first").await.unwrap();
    assert!(before.elapsed() >= delay);
}

#[tokio::test]
async fn a_truncated_body_is_no_answer() {
    let scene = Scene::set().await;
    let near = scene.maps(&scene.near);
    let cut = Fault::TruncateBody { after_bytes: 40 };
    let fault = scene.proxy.inject(maps().verb(Verb::List), cut);
    let error = near.list(&ListParams::default()).await.unwrap_err();
    assert!(!matches!(error, kube::Error::Api(_)), "{error}");
    assert_eq!(fault.hits(), 1);
    drop(fault);
    let long = Fault::TruncateBody {
        after_bytes: 1 << 20,
    };
    let _longer_than_the_body = scene.proxy.inject(maps(), long);
    near.list(&ListParams::default()).await.unwrap();
}

#[tokio::test]
async fn a_dropped_proxy_answers_nobody() {
    let scene = Scene::set().await;
    let near = scene.maps(&scene.near);
    near.get("first").await.unwrap();
    drop(scene.proxy);
    let error = near.get("first").await.unwrap_err();
    assert!(!matches!(error, kube::Error::Api(_)), "{error}");
}
