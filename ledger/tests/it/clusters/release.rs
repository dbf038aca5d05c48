use std::time::Duration;

use ledger::{ClusterReleased, Error, Event, EventQuery, Ledger, ReleaseCluster};

use super::{bind, kind, of_cluster, on_network};
use crate::support::{Bench, WAIT, add, allocate, provenance};

fn order(uid: Option<&str>) -> ReleaseCluster {
    ReleaseCluster {
        cluster: "prod".to_owned(),
        uid: uid.map(str::to_owned),
        reason: "the cluster was removed".to_owned(),
        dry_run: false,
        provenance: provenance(),
    }
}

async fn released(ledger: &Ledger, order: &ReleaseCluster) -> Result<(u64, u64), Error> {
    let ClusterReleased {
        released,
        remaining,
    } = ledger.release_cluster(order, WAIT).await?;
    Ok((released, remaining))
}

async fn events(ledger: &Ledger, space: &str) -> Vec<Event> {
    let query = EventQuery {
        space: space.to_owned(),
        address: None,
        after_seq: 0,
        limit: 5000,
    };
    ledger.events(&query).await.expect("events")
}

/// More than one batch, in two spaces; and a hold of another cluster.
async fn fill(ledger: &Ledger) {
    let mut adds = tokio::task::JoinSet::new();
    for number in 0..600 {
        let mut request = allocate(&format!("c{number}"), "10.0.0.0/16");
        if number >= 300 {
            request = on_network("blue", request);
        }
        let ledger = ledger.clone();
        adds.spawn(async move { add(&ledger, request).await });
    }
    while let Some(added) = adds.join_next().await {
        added.expect("no panic").expect("an address");
    }
    let other = of_cluster("test", allocate("c1", "10.0.0.0/16"));
    add(ledger, other).await.expect("an address");
}

#[tokio::test]
async fn every_hold_of_the_cluster_ends_with_an_event_of_its_own() {
    let bench = Bench::new().await;
    let ledger = &bench.ledger;
    bind(ledger, "prod", "uid-a").await;
    fill(ledger).await;
    let mut dry = order(Some("uid-a"));
    dry.dry_run = true;
    assert_eq!(released(ledger, &dry).await.expect("a count"), (0, 600));
    assert_eq!(events(ledger, "prod/blue").await.len(), 300);

    let done = released(ledger, &order(Some("uid-a")))
        .await
        .expect("an end");
    assert_eq!(done, (600, 0));
    let again = released(ledger, &order(Some("uid-a")))
        .await
        .expect("an end");
    assert_eq!(again, (0, 0));
    let blue = events(ledger, "prod/blue").await;
    assert_eq!(blue.len(), 600);
    for event in &blue[300..] {
        assert_eq!(event.kind, "released");
        assert_eq!(event.payload["reason"], "the cluster was removed");
        let evidence = serde_json::json!({
            "cluster": "prod", "cluster_uid": "uid-a", "kind": "operator",
        });
        assert_eq!(event.payload["evidence"], evidence);
    }
    assert_eq!(
        events(ledger, "test").await.len(),
        1,
        "the other cluster keeps its hold"
    );
    bench.ledger.close().await;
}

#[tokio::test]
async fn what_the_time_does_not_suffice_for_is_told_and_left_to_a_repeat() {
    let bench = Bench::new().await;
    let ledger = &bench.ledger;
    add(ledger, allocate("c1", "10.0.0.0/24"))
        .await
        .expect("an address");
    let short = ledger
        .release_cluster(&order(None), Duration::from_millis(500))
        .await;
    let short = short.expect("an answer");
    assert_eq!((short.released, short.remaining), (0, 1));
    assert_eq!(
        released(ledger, &order(None)).await.expect("an end"),
        (1, 0)
    );
    bench.ledger.close().await;
}

#[tokio::test]
async fn only_the_cluster_that_is_meant_ends() {
    let bench = Bench::new().await;
    let ledger = &bench.ledger;
    assert_eq!(kind(released(ledger, &order(None)).await), "not_found");
    add(ledger, allocate("c1", "10.0.0.0/24"))
        .await
        .expect("an address");
    // Never bound, and the caller says otherwise.
    assert_eq!(
        kind(released(ledger, &order(Some("uid-a"))).await),
        "invalid_request"
    );
    bind(ledger, "prod", "uid-a").await;
    assert_eq!(
        kind(released(ledger, &order(None)).await),
        "invalid_request"
    );
    assert_eq!(
        kind(released(ledger, &order(Some("uid-b"))).await),
        "cluster_mismatch"
    );
    assert_eq!(
        ledger.clusters(None, 1).await.expect("clusters")[0].holds,
        1
    );
    bench.ledger.close().await;
}
