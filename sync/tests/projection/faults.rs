//! The API server fails in every way that it has; the objects come right again, and nobody is
//! told of deeds that nobody did.

use ipledger_sync::project::ObjectKind::{Pool, Reservation};
use test_cluster::{Fault, FaultProxy, Matcher, StatusCode, Verb, WatchBreak};

use crate::support::{Scene, until};

const RANGE: &str = "10.10.3.0/24";
const POOL: &str = "10.10.3.0-24";

#[tokio::test(flavor = "multi_thread")]
async fn refused_and_lost_writes_are_made_again() {
    let scene = Scene::start("faults-writes").await;
    let proxy = FaultProxy::start(scene.cluster).await.unwrap();
    let world = scene.project_through(&proxy).await;
    let pools = || Matcher::new().resource("ippools").verb(Verb::Patch);
    let cases = [
        Fault::Status(StatusCode::INTERNAL_SERVER_ERROR),
        Fault::Status(StatusCode::FORBIDDEN),
        Fault::Status(StatusCode::TOO_MANY_REQUESTS),
        Fault::Status(StatusCode::CONFLICT),
        Fault::TruncateBody { after_bytes: 20 },
    ];
    for (number, fault) in cases.into_iter().enumerate() {
        let mut injected = proxy.inject_times(pools(), fault, 1);
        let address = scene.allocate(RANGE, &format!("pod-{number}")).await;
        injected.was_hit(1).await;
        drop(injected);
        // What is not refused is written meanwhile, and the pool at the next try.
        until("the hold is shown", async || {
            scene.objects.entries(POOL).await.len() == number + 1
                && scene.objects.reservations().await.contains_key(&address)
        })
        .await;
    }
    assert!(world.metric("failures_total") >= 3.0);
    world.settles(1).await;
    assert!(scene.objects.notes(Pool, POOL).await.is_empty());
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_that_is_empty_and_a_watch_that_breaks_are_no_deeds() {
    let scene = Scene::start("faults-lists").await;
    let proxy = FaultProxy::start(scene.cluster).await.unwrap();
    let world = scene.project_through(&proxy).await;
    for pod in ["a", "b", "c"] {
        scene.allocate(RANGE, pod).await;
    }
    scene.shows(3).await;
    world.settles(1).await;
    let versions = scene.objects.versions().await;
    let lists = || {
        Matcher::new()
            .path_prefix("/apis/whereabouts.cni.cncf.io")
            .verb(Verb::List)
    };
    let watches = || {
        Matcher::new()
            .path_prefix("/apis/whereabouts.cni.cncf.io")
            .verb(Verb::Watch)
    };
    for how in [WatchBreak::Expired, WatchBreak::Cut] {
        let mut empty = proxy.inject(lists(), Fault::EmptyList);
        assert_eq!(proxy.break_watches(&watches(), how), 2);
        if how == WatchBreak::Expired {
            // Both kinds are listed again, and the API server says that there is nothing.
            empty.was_hit(2).await;
        }
        drop(empty);
        proxy.break_watches(&watches(), WatchBreak::Expired);
        until("they are watched again", async || {
            proxy.open_watches(&watches()) == 2
        })
        .await;
        world.settles(1).await;
        // Whatever was applied in between, the objects were right all the time.
        assert_eq!(scene.objects.versions().await, versions);
    }
    assert!(scene.objects.notes(Pool, POOL).await.is_empty());
    assert!(
        scene
            .objects
            .notes(Reservation, "10.10.3.1")
            .await
            .is_empty()
    );
    // And a real deed is still seen.
    scene.objects.delete(Reservation, "10.10.3.1").await;
    scene.shows(3).await;
    world.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn without_the_gate_or_the_identity_nothing_is_written() {
    let scene = Scene::start("faults-permission").await;
    let proxy = FaultProxy::start(scene.cluster).await.unwrap();
    let identity = Matcher::new().resource("namespaces").name("kube-system");
    let mut blind = proxy.inject(identity, Fault::Status(StatusCode::FORBIDDEN));
    let world = scene.project_through(&proxy).await;
    scene.allocate(RANGE, "a").await;
    blind.was_hit(2).await;
    assert!(scene.objects.versions().await.is_empty());
    assert!(world.metric("lag_positions") == 0.0 && world.metric("lag_seconds") > 0.0);
    drop(blind);
    scene.shows(1).await;
    world.settles(1).await;
    world.stop().await;
}
