use ledger::command::Import;

use super::{events, kind};
use crate::support::{Bench, WAIT, add, allocate, del, release, token};

#[tokio::test]
async fn release_cluster_mismatch() {
    let bench = Bench::new().await;
    super::cluster::bind(&bench, "uid-a").await;
    let mut request = allocate("c1", "10.0.0.0/24");
    request.token = Some(token(1, 20));
    add(&bench.ledger, request).await.unwrap();
    // It is stale as well.
    let mut foreign = release("c1");
    foreign.token = Some(token(1, 10));
    foreign.cluster_uid = Some("uid-b".to_owned());
    assert_eq!(kind(del(&bench.ledger, foreign).await), "cluster_mismatch");
    let mut own = release("c1");
    own.cluster_uid = Some("uid-a".to_owned());
    assert_eq!(del(&bench.ledger, own).await.unwrap().released.len(), 1);
}

#[tokio::test]
async fn release_stale() {
    let bench = Bench::new().await;
    let mut request = allocate("c1", "10.0.0.0/24");
    request.token = Some(token(1, 20));
    add(&bench.ledger, request).await.unwrap();
    let mut old = release("c1");
    old.token = Some(token(1, 10));
    let answer = del(&bench.ledger, old).await.unwrap();
    assert!(answer.stale && answer.released.is_empty());
    assert_eq!(events(&bench).await, 1);
}

#[tokio::test]
async fn release_stale_by_an_earlier_boot() {
    let bench = Bench::new().await;
    // All that the first boot ever did: it found nothing.
    let mut nothing = release("c9");
    nothing.token = Some(token(1, 1_000));
    del(&bench.ledger, nothing).await.unwrap();
    let mut request = allocate("c1", "10.0.0.0/24");
    request.token = Some(token(2, 20));
    add(&bench.ledger, request).await.unwrap();
    let mut old = release("c1");
    old.token = Some(token(1, 2_000));
    let answer = del(&bench.ledger, old).await.unwrap();
    assert!(answer.stale && answer.released.is_empty());
    assert_eq!(events(&bench).await, 1);
}

#[tokio::test]
async fn release_released() {
    let bench = Bench::new().await;
    add(&bench.ledger, allocate("c1", "10.0.0.0/24"))
        .await
        .unwrap();
    add(&bench.ledger, allocate("c2", "10.0.0.0/24"))
        .await
        .unwrap();
    let answer = del(&bench.ledger, release("c1")).await.unwrap();
    let freed: Vec<String> = answer
        .released
        .iter()
        .map(|one| one.ip.to_string())
        .collect();
    assert_eq!(freed, ["10.0.0.1"]);
    assert_eq!(answer.released[0].receipt.step, 1);
    assert_eq!(events(&bench).await, 3);
}

#[tokio::test]
async fn release_nothing_held() {
    let bench = Bench::new().await;
    let answer = del(&bench.ledger, release("c1")).await.unwrap();
    assert!(answer.released.is_empty() && !answer.stale);
    assert_eq!(events(&bench).await, 0);
    assert_eq!(
        kind(add(&bench.ledger, allocate("c1", "10.0.0.0/24")).await),
        "deleted"
    );
}

#[tokio::test]
async fn release_of_unknown_interfaces() {
    let bench = Bench::new().await;
    for address in ["10.0.0.7", "10.0.0.8"] {
        let unknown = Import {
            ifname: None,
            ..super::hold::entry(address)
        };
        bench.ledger.import(unknown, WAIT).await.unwrap();
    }
    let freed = del(&bench.ledger, release("imported")).await.unwrap();
    assert!(freed.released.is_empty() && !freed.stale);
    assert_eq!(events(&bench).await, 2);
}
