use std::time::Duration;

use ledger::answer::GateSet;
use ledger::command::{BindCluster, SetGate};
use ledger::{ClusterReleased, Command, Error, GarbageList, ReleaseCluster};

use super::{events, kind};
use crate::support::{Bench, WAIT, add, allocate, provenance, token};

pub(super) async fn bind(bench: &Bench, uid: &str) {
    let request = BindCluster {
        cluster: "prod".to_owned(),
        uid: uid.to_owned(),
        provenance: provenance(),
    };
    let request = Command::BindCluster(Box::new(request));
    bench
        .ledger
        .execute(request, WAIT)
        .await
        .expect("a binding");
}

pub(super) async fn gate(bench: &Bench, closed: bool, uid: Option<&str>) -> Result<GateSet, Error> {
    let set = SetGate {
        cluster: "prod".to_owned(),
        cluster_uid: uid.map(str::to_owned),
        closed,
        reason: "cut-over".to_owned(),
        spaces: Vec::new(),
        read_at: 0,
        provenance: provenance(),
    };
    bench.ledger.set_gate(set, WAIT).await
}

async fn one_hold(bench: &Bench) {
    add(&bench.ledger, allocate("c1", "10.0.0.0/32"))
        .await
        .expect("an address");
}

#[tokio::test]
async fn gate_cluster_mismatch() {
    let bench = Bench::new().await;
    bind(&bench, "uid-a").await;
    gate(&bench, true, None).await.unwrap();
    // It is closed already as well.
    assert_eq!(
        kind(gate(&bench, true, Some("uid-b")).await),
        "cluster_mismatch"
    );
}

#[tokio::test]
async fn gate_repeated() {
    let bench = Bench::new().await;
    let first = gate(&bench, true, None).await.unwrap();
    let again = gate(&bench, true, None).await.unwrap();
    assert_eq!((again.repeated, again.gate), (true, first.gate));
    assert_eq!(events(&bench).await, 1);
}

#[tokio::test]
async fn gate_set() {
    let bench = Bench::new().await;
    one_hold(&bench).await;
    assert!(!gate(&bench, true, None).await.unwrap().repeated);
    assert!(!gate(&bench, false, None).await.unwrap().repeated);
    assert_eq!(events(&bench).await, 3);
}

async fn end(bench: &Bench, uid: Option<&str>, dry_run: bool) -> Result<ClusterReleased, Error> {
    let release = ReleaseCluster {
        cluster: "prod".to_owned(),
        uid: uid.map(str::to_owned),
        reason: "removed".to_owned(),
        dry_run,
        provenance: provenance(),
    };
    bench.ledger.release_cluster(&release, WAIT).await
}

#[tokio::test]
async fn cluster_release_mismatch() {
    let bench = Bench::new().await;
    bind(&bench, "uid-a").await;
    assert_eq!(
        kind(end(&bench, Some("uid-b"), true).await),
        "cluster_mismatch"
    );
}

#[tokio::test]
async fn cluster_release_without_its_uid() {
    let bench = Bench::new().await;
    // It has no space either.
    assert_eq!(
        kind(end(&bench, Some("uid-a"), false).await),
        "invalid_request"
    );
    bind(&bench, "uid-a").await;
    assert_eq!(kind(end(&bench, None, false).await), "invalid_request");
}

#[tokio::test]
async fn cluster_release_of_nothing() {
    let bench = Bench::new().await;
    assert_eq!(kind(end(&bench, None, true).await), "not_found");
}

#[tokio::test]
async fn cluster_release_dry_run() {
    let bench = Bench::new().await;
    one_hold(&bench).await;
    let counted = end(&bench, None, true).await.unwrap();
    assert_eq!((counted.released, counted.remaining), (0, 1));
    assert_eq!(events(&bench).await, 1);
}

#[tokio::test]
async fn cluster_release_released() {
    let bench = Bench::new().await;
    one_hold(&bench).await;
    let ended = end(&bench, None, false).await.unwrap();
    assert_eq!((ended.released, ended.remaining), (1, 0));
    assert_eq!(events(&bench).await, 2);
}

#[tokio::test]
async fn garbage_cluster_mismatch() {
    let bench = Bench::new().await;
    bind(&bench, "uid-a").await;
    let mut old = allocate("c1", "10.0.0.0/24");
    old.token = Some(token(1, 10));
    add(&bench.ledger, old).await.unwrap();
    let list = |uid: &str, boottime_ns| GarbageList {
        cluster: "prod".to_owned(),
        cluster_uid: Some(uid.to_owned()),
        node: "node-1".to_owned(),
        network: "super-net".to_owned(),
        token: token(1, boottime_ns),
        valid: Vec::new(),
        grace: Duration::ZERO,
        provenance: provenance(),
    };
    let refused = bench.ledger.collect_garbage(list("uid-b", 20), WAIT).await;
    assert_eq!(kind(refused), "cluster_mismatch");
    let own = bench
        .ledger
        .collect_garbage(list("uid-a", 30), WAIT)
        .await
        .unwrap();
    assert_eq!(
        (own.released, own.suspect),
        (0, 1),
        "the other list made it no suspect"
    );
}

async fn refused(bench: &Bench) {
    let full = add(&bench.ledger, allocate("c2", "10.0.0.0/32")).await;
    assert_eq!(kind(full), "exhausted");
}

#[tokio::test]
async fn wakeups_told() {
    let bench = Bench::new().await;
    one_hold(&bench).await;
    refused(&bench).await;
    let told = bench
        .ledger
        .wakeups("prod", 0, std::future::pending())
        .await
        .unwrap();
    assert_eq!((told.wakeups.len(), told.next), (1, 1));
}

#[tokio::test]
async fn wakeups_none() {
    let bench = Bench::new().await;
    one_hold(&bench).await;
    refused(&bench).await;
    bench
        .ledger
        .wakeups("prod", 0, std::future::pending())
        .await
        .unwrap();
    let none = bench
        .ledger
        .wakeups("test", 0, std::future::ready(()))
        .await
        .unwrap();
    assert_eq!((none.wakeups.len(), none.next), (0, 1));
}

#[tokio::test]
async fn changes_told() {
    let bench = Bench::new().await;
    let first = bench
        .ledger
        .changes("prod", None, std::future::pending())
        .await
        .unwrap();
    assert!(first.changed);
    one_hold(&bench).await;
    let known = Some(first.fingerprint);
    let told = bench
        .ledger
        .changes("prod", known, std::future::pending())
        .await
        .unwrap();
    assert!(told.changed);
    assert_eq!(told.heads["prod"], 1);
}

#[tokio::test]
async fn changes_none() {
    let bench = Bench::new().await;
    one_hold(&bench).await;
    let first = bench
        .ledger
        .changes("prod", None, std::future::pending())
        .await
        .unwrap();
    let known = Some(first.fingerprint);
    let none = bench
        .ledger
        .changes("prod", known, std::future::ready(()))
        .await
        .unwrap();
    assert!(!none.changed);
    assert_eq!(none.heads, first.heads);
}
