//! DEL, and two interfaces of one pod on one network.

use super::{
    RANGE, Shape as _, ShapeAllocate as _, del_for, held, held_by, history, refusal, sandbox,
};
use crate::support::{Bench, add, del, ips, open, release};

#[tokio::test]
async fn two_interfaces_of_one_pod_on_one_network_have_two_addresses() {
    let bench = Bench::new().await;
    let (first, second) = (
        sandbox("c1", "uid-1"),
        sandbox("c1", "uid-1").ifname("net2"),
    );
    let allocated = add(&bench.ledger, first.clone()).await.unwrap();
    assert_eq!(ips(&allocated), ["10.0.0.1"]);
    let allocated = add(&bench.ledger, second.clone()).await.unwrap();
    assert_eq!(ips(&allocated), ["10.0.0.2"]);
    del(&bench.ledger, del_for(&first)).await.unwrap();
    assert!(held(&bench.ledger, &first.attachment).await.is_empty());
    assert_eq!(held(&bench.ledger, &second.attachment).await, ["10.0.0.2"]);
    bench.ledger.close().await;
}

#[tokio::test]
async fn takeover_of_one_interface_leaves_the_other() {
    let bench = Bench::new().await;
    let of = |container, ifname| sandbox(container, "uid-1").ifname(ifname);
    add(&bench.ledger, of("c1", "net1")).await.unwrap();
    add(&bench.ledger, of("c1", "net2")).await.unwrap();
    let taken = add(&bench.ledger, of("c2", "net2")).await.unwrap();
    assert_eq!(ips(&taken), ["10.0.0.2"]);
    assert_eq!(held_by(&bench.ledger, "c1").await, ["10.0.0.1"]);
    bench.ledger.close().await;
}

#[tokio::test]
async fn del_frees_exactly_its_own_and_needs_neither_range_nor_owner() {
    let bench = Bench::new().await;
    let own = sandbox("c1", "uid-1").ranges(&[RANGE, "10.0.1.0/24", "2001:db8::/64"]);
    add(&bench.ledger, own).await.unwrap();
    add(&bench.ledger, sandbox("c2", "uid-2")).await.unwrap();
    let freed = del(&bench.ledger, release("c1")).await.unwrap();
    let ips = freed
        .released
        .iter()
        .map(|released| released.ip.to_string());
    let ips: Vec<String> = ips.collect();
    assert_eq!(ips, ["10.0.0.1", "10.0.1.1", "2001:db8::1"]);
    assert!(freed.released.iter().all(|freed| freed.receipt.step == 1));
    assert_eq!(
        history(&bench.ledger, "prod").await[4..],
        [
            "5 released 10.0.0.1 step 1 del ends 1",
            "6 released 10.0.1.1 step 1 del ends 2",
            "7 released 2001:db8::1 step 1 del ends 3",
        ]
    );
    assert_eq!(held_by(&bench.ledger, "c2").await, ["10.0.0.2"]);
    bench.ledger.close().await;
}

#[tokio::test]
async fn del_of_another_network_or_cluster_with_the_same_container_frees_nothing() {
    let bench = Bench::new().await;
    let own = sandbox("c1", "uid-1");
    add(&bench.ledger, own.clone()).await.unwrap();
    let others = [
        own.clone().network("other-net"),
        own.clone().cluster("stage"),
        own.clone().ifname("net2"),
    ];
    for other in others {
        let freed = del(&bench.ledger, del_for(&other)).await.unwrap();
        assert!(freed.released.is_empty(), "{:?}", other.attachment);
    }
    assert_eq!(held(&bench.ledger, &own.attachment).await, ["10.0.0.1"]);
    bench.ledger.close().await;
}

#[tokio::test]
async fn del_again_is_success_and_frees_nothing_of_the_next_holder() {
    let bench = Bench::new().await;
    let replica = open(&bench.database).await;
    add(&bench.ledger, sandbox("c1", "uid-1")).await.unwrap();
    del(&bench.ledger, release("c1")).await.unwrap();
    add(&bench.ledger, sandbox("c2", "uid-2")).await.unwrap();
    let before = history(&bench.ledger, "prod").await;
    for ledger in [&bench.ledger, &replica] {
        let again = del(ledger, release("c1")).await.unwrap();
        assert!(again.released.is_empty());
    }
    assert_eq!(history(&bench.ledger, "prod").await, before);
    assert_eq!(held_by(&bench.ledger, "c2").await, ["10.0.0.1"]);
    replica.close().await;
    bench.ledger.close().await;
}

#[tokio::test]
async fn late_del_of_an_old_sandbox_frees_nothing_of_the_new_one() {
    let bench = Bench::new().await;
    let (old, new) = (sandbox("c1", "uid-1"), sandbox("c2", "uid-1"));
    add(&bench.ledger, old.clone().at(1, 100)).await.unwrap();
    add(&bench.ledger, new.clone().at(1, 200)).await.unwrap();
    // The runtime tears the old sandbox down after the new one is up: its token is the latest.
    let late = del(&bench.ledger, del_for(&old).at(1, 300)).await.unwrap();
    assert!(late.released.is_empty());
    assert_eq!(held_by(&bench.ledger, "c2").await, ["10.0.0.1"]);
    // It was no call for the new one: what the new one does next is not late because of it.
    assert!(
        add(&bench.ledger, new.clone().at(1, 250))
            .await
            .unwrap()
            .repeated
    );
    let freed = del(&bench.ledger, del_for(&new).at(1, 260)).await.unwrap();
    assert_eq!(freed.released.len(), 1);
    let dead = add(&bench.ledger, old.at(1, 100)).await;
    assert!(["stale", "deleted"].contains(&refusal(dead).kind()));
    bench.ledger.close().await;
}
