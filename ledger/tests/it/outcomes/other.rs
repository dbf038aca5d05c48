use ledger::command::{BindCluster, Count, DeclareSpace, SpaceSelector};
use ledger::{Answer, Command, Error};

use super::{events, kind};
use crate::support::{Bench, WAIT, add, allocate, attachment, del, provenance, release, window};

async fn bind(bench: &Bench, uid: &str) -> Result<Answer, Error> {
    let request = BindCluster {
        cluster: "prod".to_owned(),
        uid: uid.to_owned(),
        provenance: provenance(),
    };
    bench
        .ledger
        .execute(Command::BindCluster(Box::new(request)), WAIT)
        .await
}

#[tokio::test]
async fn bind_repeated() {
    let bench = Bench::new().await;
    bind(&bench, "uid-a").await.unwrap();
    assert_eq!(
        bind(&bench, "uid-a").await.unwrap(),
        Answer::ClusterBound("uid-a".to_owned())
    );
    assert_eq!(events(&bench).await, 1);
}

#[tokio::test]
async fn bind_cluster_mismatch() {
    let bench = Bench::new().await;
    bind(&bench, "uid-a").await.unwrap();
    assert_eq!(kind(bind(&bench, "uid-b").await), "cluster_mismatch");
}

#[tokio::test]
async fn bind_bound() {
    let bench = Bench::new().await;
    assert_eq!(
        bind(&bench, "uid-a").await.unwrap(),
        Answer::ClusterBound("uid-a".to_owned())
    );
    assert_eq!(events(&bench).await, 1);
}

async fn declare(bench: &Bench) -> Result<Answer, Error> {
    declare_named(bench, "shared:vlan7").await
}

async fn declare_named(bench: &Bench, name: &str) -> Result<Answer, Error> {
    let members = ["prod", "test"].map(|cluster| (cluster.to_owned(), String::new()));
    let request = DeclareSpace {
        name: name.to_owned(),
        members: members.into(),
        provenance: provenance(),
    };
    bench
        .ledger
        .execute(Command::DeclareSpace(Box::new(request)), WAIT)
        .await
}

#[tokio::test]
async fn declare_name_without_its_prefix() {
    let bench = Bench::new().await;
    // A member has a space as well, and it is the one that is named.
    add(&bench.ledger, allocate("c1", "10.0.0.0/24"))
        .await
        .unwrap();
    let refused = declare_named(&bench, "prod").await;
    assert_eq!(kind(refused), "invalid_request");
}

#[tokio::test]
async fn declare_member_taken() {
    let bench = Bench::new().await;
    add(&bench.ledger, allocate("c1", "10.0.0.0/24"))
        .await
        .unwrap();
    assert_eq!(kind(declare(&bench).await), "space_conflict");
}

#[tokio::test]
async fn declare_repeated() {
    let bench = Bench::new().await;
    let first = declare(&bench).await.unwrap();
    assert_eq!(declare(&bench).await.unwrap(), first);
    assert_eq!(events(&bench).await, 1);
}

#[tokio::test]
async fn declare_declared() {
    let bench = Bench::new().await;
    assert_eq!(
        declare(&bench).await.unwrap(),
        Answer::SpaceDeclared("shared:vlan7".to_owned())
    );
    let given = add(&bench.ledger, allocate("c1", "10.0.0.0/24"))
        .await
        .unwrap();
    assert_eq!(given.addresses[0].space, "shared:vlan7");
}

#[tokio::test]
async fn lookup_found() {
    let bench = Bench::new().await;
    let mut request = allocate("c1", "10.0.0.0/24");
    request.ranges.push(window("fd00::/64", None, None));
    add(&bench.ledger, request).await.unwrap();
    let found = bench.ledger.lookup(&attachment("c1")).await.unwrap();
    let addresses: Vec<String> = found.iter().map(|hold| hold.ip.to_string()).collect();
    assert_eq!(addresses, ["10.0.0.1", "fd00::1"]);
}

#[tokio::test]
async fn lookup_nothing() {
    let bench = Bench::new().await;
    add(&bench.ledger, allocate("c1", "10.0.0.0/24"))
        .await
        .unwrap();
    del(&bench.ledger, release("c1")).await.unwrap();
    assert!(
        bench
            .ledger
            .lookup(&attachment("c1"))
            .await
            .unwrap()
            .is_empty()
    );
}

async fn count(bench: &Bench, range: &str) -> Result<Answer, Error> {
    let selector = SpaceSelector {
        cluster: "prod".to_owned(),
        network_name: String::new(),
        overlapping: true,
    };
    let count = Count::Ranges(selector, vec![window(range, None, None)]);
    bench
        .ledger
        .execute(Command::Count(Box::new(count)), WAIT)
        .await
}

#[tokio::test]
async fn count_space_conflict() {
    let bench = Bench::new().await;
    let mut first = allocate("c1", "10.0.0.0/24");
    first.space.overlapping = false;
    add(&bench.ledger, first).await.unwrap();
    assert_eq!(kind(count(&bench, "10.0.0.0/24").await), "space_conflict");
}

#[tokio::test]
async fn count_counted() {
    let bench = Bench::new().await;
    let Answer::Counted(empty) = count(&bench, "10.0.0.0/29").await.unwrap() else {
        panic!("not a count");
    };
    assert_eq!(
        (empty.windows[0].taken.held, empty.windows[0].free()),
        (0, 6)
    );
    assert!(
        bench.ledger.spaces().await.unwrap().is_empty(),
        "a look opens nothing"
    );
    add(&bench.ledger, allocate("c1", "10.0.0.0/24"))
        .await
        .unwrap();
    let mut resting = allocate("c2", "10.0.0.0/24");
    resting.cooldown_seconds = 3600;
    add(&bench.ledger, resting).await.unwrap();
    del(&bench.ledger, release("c2")).await.unwrap();
    let Answer::Counted(counted) = count(&bench, "10.0.0.0/29").await.unwrap() else {
        panic!("not a count");
    };
    let one = &counted.windows[0];
    assert_eq!((one.taken.held, one.taken.cooling, one.free()), (1, 1, 4));
    assert_eq!(
        one.window.capacity(),
        one.taken.held + one.taken.cooling + one.free()
    );
}

#[tokio::test]
async fn count_no_such_space() {
    let bench = Bench::new().await;
    let count = Count::Recorded(Some("nowhere".to_owned()));
    let refused = bench
        .ledger
        .execute(Command::Count(Box::new(count)), WAIT)
        .await;
    assert_eq!(kind(refused), "not_found");
}
