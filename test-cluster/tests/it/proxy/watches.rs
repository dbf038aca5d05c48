//! Watches that lack something, break off, or go silent.

use std::time::Duration;

use futures_util::{Stream, StreamExt};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{ListParams, WatchEvent, WatchParams};
use kube::runtime::watcher::{self, Event};
use kube::{Api, ResourceExt};
use test_cluster::{Fault, Verb, WatchBreak};

use super::{Scene, maps};
use crate::support::until;

type Watch = std::pin::Pin<Box<dyn Stream<Item = kube::Result<WatchEvent<ConfigMap>>> + Send>>;

/// A plain watch of one namespace that has told of one new object.
async fn watch(scene: &Scene, name: &str) -> Watch {
    let near = scene.maps(&scene.near);
    let now = near.list(&ListParams::default()).await.unwrap();
    let now = now.metadata.resource_version.unwrap();
    // Nothing but objects: a bookmark may come at any time.
    let parameters = WatchParams::default().disable_bookmarks();
    let mut events: Watch = near.watch(&parameters, &now).await.unwrap().boxed();
    assert_eq!(scene.proxy.open_watches(&watches()), 1);
    scene.make(&scene.near, name).await;
    assert_eq!(added(&mut events).await, name);
    events
}

async fn added(events: &mut Watch) -> String {
    match events.next().await.unwrap().unwrap() {
        WatchEvent::Added(map) => map.name_any(),
        other => panic!("{other:?}"),
    }
}

fn watches() -> test_cluster::Matcher {
    maps().verb(Verb::Watch)
}

#[tokio::test]
async fn a_cut_watch_ends_and_a_new_one_is_served() {
    let scene = Scene::set().await;
    let mut events = watch(&scene, "second").await;
    assert_eq!(scene.proxy.break_watches(&watches(), WatchBreak::Cut), 1);
    // The client takes some broken connections for a regular end.
    let end = events.next().await;
    assert!(!matches!(end, Some(Ok(_))), "{end:?}");
    until("the broken watch is counted no more", async || {
        scene.proxy.open_watches(&watches()) == 0
    })
    .await;
    drop(watch(&scene, "third").await);
}

#[tokio::test]
async fn an_expired_watch_says_that_its_version_is_too_old() {
    let scene = Scene::set().await;
    let mut events = watch(&scene, "second").await;
    assert_eq!(
        scene.proxy.break_watches(&watches(), WatchBreak::Expired),
        1
    );
    let end = events.next().await.unwrap().unwrap();
    assert!(
        matches!(&end, WatchEvent::Error(status) if status.code == 410),
        "{end:?}"
    );
    assert!(events.next().await.is_none());
}

#[tokio::test]
async fn a_silent_watch_stays_open_and_tells_nothing() {
    let scene = Scene::set().await;
    let mut silent = watch(&scene, "second").await;
    assert_eq!(scene.proxy.break_watches(&watches(), WatchBreak::Silent), 1);
    // Once one watch has told of an object, the other is late.
    let _other = watch(&scene, "third").await;
    let waited = tokio::time::timeout(Duration::from_millis(200), silent.next()).await;
    assert!(waited.is_err(), "{waited:?}");
}

#[tokio::test]
async fn a_watch_that_its_client_leaves_is_open_no_more() {
    let scene = Scene::set().await;
    drop(watch(&scene, "second").await);
    until("the watch is closed", async || {
        scene.proxy.open_watches(&watches()) == 0
    })
    .await;
}

/// The names that a reflector would begin with.
async fn initial(scene: &Scene, config: watcher::Config) -> Vec<String> {
    let everywhere: Api<ConfigMap> = Api::all(scene.client.clone());
    let events = watcher::watcher(everywhere, config.labels(&scene.selector()));
    let mut events = std::pin::pin!(events);
    let mut names = Vec::new();
    loop {
        match events.next().await.unwrap().unwrap() {
            Event::Init => names.clear(),
            Event::InitApply(map) => names.push(map.namespace().unwrap()),
            Event::InitDone => return names,
            other => panic!("an event before the list was over: {other:?}"),
        }
    }
}

#[tokio::test]
async fn a_streaming_list_can_be_empty_or_lack_one_namespace() {
    let scene = Scene::set().await;
    let streaming = || watcher::Config::default().streaming_lists();
    assert_eq!(initial(&scene, streaming()).await.len(), 2);
    let empty = scene.proxy.inject(maps(), Fault::EmptyList);
    assert!(initial(&scene, streaming()).await.is_empty());
    assert_eq!(
        (
            empty.hits(),
            scene.proxy.seen(&maps().verb(Verb::List)).len()
        ),
        (1, 0)
    );
    drop(empty);
    let without = Fault::WithoutNamespace(scene.far.clone());
    let _fault = scene.proxy.inject(maps(), without);
    let left = initial(&scene, streaming()).await;
    assert_eq!(left, std::slice::from_ref(&scene.near));
}
