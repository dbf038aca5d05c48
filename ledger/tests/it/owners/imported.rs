//! Holds that were imported from whereabouts: no UID, no node, perhaps no interface.

use ledger::answer::{ImportOutcome, Imported};
use ledger::command::Import;
use ledger::model::Owner;
use ledger::{Ledger, Refusal};

use super::exhausted::end;
use super::{RANGE, Shape as _, ShapeAllocate as _, del_for, held, history, refusal, sandbox};
use crate::support::{Bench, WAIT, add, del, ip, ips, open, provenance};

/// An entry of an IPPool: `web-0` in the sandbox `c1`.
pub(super) fn entry(address: &str, ifname: Option<&str>) -> Import {
    Import {
        cluster_uid: None,
        space: sandbox("c1", "uid-1").space,
        pool: RANGE.parse().expect("a CIDR"),
        ip: ip(address),
        container_id: "c1".to_owned(),
        ifname: ifname.map(str::to_owned),
        owner: Some(Owner {
            name: "web-0".to_owned(),
            namespace: "default".to_owned(),
            node: None,
            uid: None,
        }),
        evidence: [("object".to_owned(), "kube-system/10.0.0.0-24".into())]
            .into_iter()
            .collect(),
        ended_before: None,
        provenance: provenance(),
    }
}

pub(super) async fn import(ledger: &Ledger, entry: Import) -> Imported {
    ledger.import(entry, WAIT).await.expect("an import")
}

async fn imported(ifname: Option<&str>) -> Bench {
    let bench = Bench::new().await;
    let done = import(&bench.ledger, entry("10.0.0.50", ifname)).await;
    assert_eq!(
        (done.outcome, done.step, done.seq),
        (ImportOutcome::Imported, 0, 1)
    );
    bench
}

#[tokio::test]
async fn imported_again_is_held_and_appends_nothing() {
    let bench = imported(Some("net1")).await;
    let again = import(&bench.ledger, entry("10.0.0.50", Some("net1"))).await;
    assert_eq!((again.outcome, again.seq), (ImportOutcome::Held, 1));
    assert_eq!(
        history(&bench.ledger, "prod").await,
        ["1 allocated 10.0.0.50 step 0 import"]
    );
    bench.ledger.close().await;
}

#[tokio::test]
async fn imported_hold_says_which_fields_were_inferred() {
    let bench = imported(None).await;
    let query = ledger::EventQuery {
        space: "prod".to_owned(),
        address: None,
        after_seq: 0,
        limit: 1,
    };
    let events = bench.ledger.events(&query).await.unwrap();
    assert_eq!(
        events[0].payload["inferred"],
        serde_json::json!(["network", "ifname", "owner.uid", "owner.node"])
    );
    bench.ledger.close().await;
}

#[tokio::test]
async fn imported_address_is_not_given_to_another() {
    let bench = Bench::new().await;
    import(&bench.ledger, entry("10.0.0.1", Some("net1"))).await;
    let other = add(&bench.ledger, sandbox("c2", "uid-2")).await.unwrap();
    assert_eq!(ips(&other), ["10.0.0.2"]);
    // Nor by the name alone to the pod's newer sandbox: that hold goes when sync has evidence.
    let newer = sandbox("c3", "").without_uid(Some("node-1"));
    assert_eq!(ips(&add(&bench.ledger, newer).await.unwrap()), ["10.0.0.3"]);
    let fixed = sandbox("c4", "uid-4").ips(&["10.0.0.1"]);
    let taken = refusal(add(&bench.ledger, fixed).await);
    let hold = bench
        .ledger
        .describe(taken.hold().expect("a hold"), WAIT)
        .await;
    assert_eq!(hold.unwrap().unwrap().attachment.container_id, "c1");
    bench.ledger.close().await;
}

#[tokio::test]
async fn imported_hold_ends_with_the_del_of_its_interface_only() {
    let bench = imported(Some("net1")).await;
    let own = sandbox("c1", "uid-1");
    let other = del_for(&own.clone().ifname("net2"));
    assert!(del(&bench.ledger, other).await.unwrap().released.is_empty());
    let freed = del(&bench.ledger, del_for(&own)).await.unwrap();
    assert_eq!(freed.released[0].ip, ip("10.0.0.50"));
    assert_eq!(
        history(&bench.ledger, "prod").await[1..],
        ["2 released 10.0.0.50 step 1 del ends 1"]
    );
    bench.ledger.close().await;
}

#[tokio::test]
async fn imported_hold_without_an_interface_ends_with_the_del_of_its_sandbox() {
    let bench = imported(None).await;
    let stranger = del_for(&sandbox("c2", "uid-1"));
    assert!(
        del(&bench.ledger, stranger)
            .await
            .unwrap()
            .released
            .is_empty()
    );
    let elsewhere = del_for(&sandbox("c1", "uid-1").cluster("stage"));
    assert!(
        del(&bench.ledger, elsewhere)
            .await
            .unwrap()
            .released
            .is_empty()
    );
    // On another replica, which loaded it.
    let replica = open(&bench.database).await;
    let own = del_for(&sandbox("c1", "uid-1")).at(1, 100);
    let freed = del(&replica, own).await.unwrap();
    assert_eq!(freed.released[0].ip, ip("10.0.0.50"));
    let dead = add(&bench.ledger, sandbox("c1", "uid-1").at(1, 50)).await;
    assert_eq!(refusal(dead).kind(), "stale");
    replica.close().await;
    bench.ledger.close().await;
}

async fn add_of_the_same_sandbox_repeats(ifname: Option<&str>) {
    let bench = imported(ifname).await;
    let replica = open(&bench.database).await;
    let own = sandbox("c1", "uid-1");
    for ledger in [&bench.ledger, &replica] {
        let again = add(ledger, own.clone()).await.expect("a repeat");
        assert!(again.repeated);
        assert_eq!(ips(&again), ["10.0.0.50"]);
        assert_eq!(again.addresses[0].pool.to_string(), RANGE);
    }
    assert_eq!(held(&bench.ledger, &own.attachment).await, ["10.0.0.50"]);
    assert_eq!(history(&bench.ledger, "prod").await.len(), 1);
    replica.close().await;
    bench.ledger.close().await;
}

#[tokio::test]
async fn imported_hold_is_what_an_add_of_its_sandbox_repeats() {
    add_of_the_same_sandbox_repeats(Some("net1")).await;
}

#[tokio::test]
async fn imported_hold_without_an_interface_is_what_an_add_of_its_sandbox_repeats() {
    add_of_the_same_sandbox_repeats(None).await;
}

#[tokio::test]
async fn imported_holds_of_several_ranges_are_repeated_in_the_order_of_the_ranges() {
    let bench = imported(Some("net1")).await;
    let mut second = entry("2001:db8::50", Some("net1"));
    second.pool = "2001:db8::/64".parse().expect("a CIDR");
    import(&bench.ledger, second).await;
    let own = sandbox("c1", "uid-1").ranges(&["2001:db8::/64", RANGE]);
    let again = add(&bench.ledger, own.clone()).await.unwrap();
    assert!(again.repeated);
    assert_eq!(ips(&again), ["2001:db8::50", "10.0.0.50"]);
    let freed = del(&bench.ledger, del_for(&own)).await.unwrap();
    assert_eq!(freed.released.len(), 2);
    bench.ledger.close().await;
}

#[tokio::test]
async fn imported_hold_conflicts_with_an_add_of_its_sandbox_for_another_range() {
    let bench = imported(Some("net1")).await;
    let others = [
        sandbox("c1", "uid-1").ranges(&["10.0.1.0/24"]),
        sandbox("c1", "uid-1").ranges(&[RANGE, "10.0.1.0/24"]),
        sandbox("c1", "uid-1").between("10.0.0.1", "10.0.0.9"),
    ];
    for other in others {
        let conflict = refusal(add(&bench.ledger, other.clone()).await);
        assert_eq!(conflict.kind(), "attachment_conflict");
        let Refusal::AttachmentConflict { hold, .. } = conflict else {
            panic!("{conflict:?}");
        };
        let named = bench.ledger.differing_field(&other, &hold).await;
        assert_eq!(named.unwrap(), "ranges");
    }
    assert_eq!(history(&bench.ledger, "prod").await.len(), 1);
    bench.ledger.close().await;
}

#[tokio::test]
async fn imported_hold_is_never_revived_after_its_release() {
    let bench = imported(Some("net1")).await;
    del(&bench.ledger, del_for(&sandbox("c1", "uid-1")))
        .await
        .unwrap();
    let again = import(&bench.ledger, entry("10.0.0.50", Some("net1"))).await;
    assert_eq!((again.outcome, again.step), (ImportOutcome::Ended, 0));

    // Nor when the address has had another holder since, who is gone too.
    let next = sandbox("c2", "uid-2").ips(&["10.0.0.50"]);
    add(&bench.ledger, next.clone()).await.unwrap();
    let replica = open(&bench.database).await;
    for ledger in [&bench.ledger, &replica] {
        let again = import(ledger, entry("10.0.0.50", Some("net1"))).await;
        assert_eq!((again.outcome, again.seq), (ImportOutcome::Ended, 1));
    }
    assert_eq!(held(&replica, &next.attachment).await, ["10.0.0.50"]);
    del(&replica, del_for(&next)).await.unwrap();
    let again = import(&bench.ledger, entry("10.0.0.50", Some("net1"))).await;
    assert_eq!(again.outcome, ImportOutcome::Ended);
    assert_eq!(history(&bench.ledger, "prod").await.len(), 4);
    replica.close().await;
    bench.ledger.close().await;
}

#[tokio::test]
async fn imported_hold_without_an_interface_is_never_revived_after_its_release() {
    let bench = imported(None).await;
    super::exhausted::end(&bench.ledger, "prod", ip("10.0.0.50"), 0).await;
    let again = import(&bench.ledger, entry("10.0.0.50", None)).await;
    assert_eq!(again.outcome, ImportOutcome::Ended);
    assert_eq!(history(&bench.ledger, "prod").await.len(), 2);
    bench.ledger.close().await;
}

#[tokio::test]
async fn import_of_an_address_that_another_holds_or_that_rests_is_refused() {
    let bench = Bench::new().await;
    let holder = sandbox("x", "uid-x").cooldown(3_600);
    add(&bench.ledger, holder.clone()).await.unwrap();
    let taken = bench.ledger.import(entry("10.0.0.1", None), WAIT).await;
    assert_eq!(refusal(taken).kind(), "address_taken");
    del(&bench.ledger, del_for(&holder)).await.unwrap();
    let resting = bench.ledger.import(entry("10.0.0.1", None), WAIT).await;
    assert_eq!(refusal(resting).kind(), "address_cooling");
    bench.ledger.close().await;
}

#[tokio::test]
async fn imported_hold_that_ended_in_another_network_is_another_one() {
    let bench = Bench::new().await;
    let here = entry("10.0.0.5", None);
    let mut there = entry("10.0.0.5", None);
    there.space.network_name = "blue".to_owned();
    import(&bench.ledger, here).await;
    end(&bench.ledger, "prod", ip("10.0.0.5"), 0).await;
    // One sandbox, two interfaces, and old entries that do not tell which is which.
    let told = import(&bench.ledger, there.clone()).await;
    assert_eq!(told.outcome, ImportOutcome::Imported);
    end(&bench.ledger, "prod/blue", ip("10.0.0.5"), 0).await;
    let told = import(&bench.ledger, there).await;
    assert_eq!(told.outcome, ImportOutcome::Ended);
    bench.ledger.close().await;
}

/// Two interfaces of one sandbox, imported from entries that did not know which is which.
async fn two_interfaces(second: &str, pool: &str) -> Bench {
    let bench = imported(None).await;
    let mut other = entry(second, None);
    other.pool = pool.parse().expect("a CIDR");
    import(&bench.ledger, other).await;
    bench
}

#[tokio::test]
async fn imported_holds_of_unknown_interfaces_are_left_to_sync_by_a_del_of_one() {
    let bench = two_interfaces("10.0.1.50", "10.0.1.0/24").await;
    let replica = open(&bench.database).await;
    for ledger in [&bench.ledger, &replica] {
        let freed = del(ledger, del_for(&sandbox("c1", "uid-1"))).await.unwrap();
        assert!(freed.released.is_empty());
    }
    assert_eq!(history(&bench.ledger, "prod").await.len(), 2);
    // When one is gone the other one is the only one.
    end(&bench.ledger, "prod", ip("10.0.1.50"), 0).await;
    let freed = del(&replica, del_for(&sandbox("c1", "uid-1"))).await;
    assert_eq!(freed.unwrap().released[0].ip, ip("10.0.0.50"));
    replica.close().await;
    bench.ledger.close().await;
}

#[tokio::test]
async fn imported_holds_of_unknown_interfaces_are_matched_by_range() {
    let bench = two_interfaces("10.0.1.50", "10.0.1.0/24").await;
    let second = sandbox("c1", "uid-1").ifname("net2");
    let second = second.ranges(&["10.0.1.0/24"]);
    for (request, expected) in [(sandbox("c1", "uid-1"), "10.0.0.50"), (second, "10.0.1.50")] {
        let again = add(&bench.ledger, request).await.unwrap();
        assert!(again.repeated);
        assert_eq!(ips(&again), [expected]);
    }
    // A third interface has nothing to do with either.
    let third = sandbox("c1", "uid-1").ifname("net3");
    let third = third.ranges(&["10.0.2.0/24"]);
    let given = add(&bench.ledger, third).await.unwrap();
    assert!(!given.repeated);
    bench.ledger.close().await;
}

#[tokio::test]
async fn imported_holds_of_unknown_interfaces_in_one_range_are_nobodys_repeat() {
    let bench = two_interfaces("10.0.0.51", RANGE).await;
    let fixed = sandbox("c1", "uid-1").ips(&["10.0.0.51"]);
    let again = add(&bench.ledger, fixed).await.unwrap();
    assert!(again.repeated);
    assert_eq!(ips(&again), ["10.0.0.51"]);
    // Which of the two is its own cannot be told, so it gets neither.
    let given = add(&bench.ledger, sandbox("c1", "uid-1").ifname("net2")).await;
    assert_eq!(ips(&given.unwrap()), ["10.0.0.1"]);
    bench.ledger.close().await;
}

#[tokio::test]
async fn imported_hold_conflicts_with_an_add_for_another_fixed_address() {
    let bench = imported(Some("net1")).await;
    let other = sandbox("c1", "uid-1").ips(&["10.0.0.60"]);
    let Refusal::AttachmentConflict { hold, .. } = refusal(add(&bench.ledger, other.clone()).await)
    else {
        panic!("another refusal");
    };
    let named = bench.ledger.differing_field(&other, &hold).await;
    assert_eq!(named.unwrap(), "ips");
    let same = sandbox("c1", "uid-1").ips(&["10.0.0.50"]);
    assert!(add(&bench.ledger, same).await.unwrap().repeated);
    bench.ledger.close().await;
}
