//! CNI GC: what two lists of one node, one boot and one network do not name, and nothing else.

use std::time::Duration;

use ledger::command::Allocate;
use ledger::{Error, GarbageFailure, GarbageList, GarbageResult, Ledger};

use super::exhausted::end;
use super::{Shape as _, ShapeAllocate as _, del_for, held_by, history, sandbox};
use crate::guard::sql::{run, superuser, text};
use crate::support::{Bench, WAIT, add, del, ip, open, provenance, token};

const BOOT_A: u128 = 0xa;
const BOOT_B: u128 = 0xb;
const SECOND: u64 = 1_000_000_000;

/// A list of this boot and time that names these sandboxes' `net1`.
fn list(boot: u128, seconds: u64, valid: &[&str]) -> GarbageList {
    GarbageList {
        cluster: "prod".to_owned(),
        cluster_uid: None,
        node: "node-1".to_owned(),
        network: "super-net".to_owned(),
        token: token(boot, seconds * SECOND),
        valid: valid
            .iter()
            .map(|id| ((*id).to_owned(), "net1".to_owned()))
            .collect(),
        grace: Duration::from_secs(60),
        provenance: provenance(),
    }
}

async fn collect(ledger: &Ledger, list: GarbageList) -> (u32, u32) {
    let result = ledger.collect_garbage(list, WAIT).await.expect("a pass");
    assert_eq!(result.failed, []);
    (result.released, result.suspect)
}

/// The sandbox of another pod, allocated at 100 s of a boot.
fn of(container: &str) -> Allocate {
    sandbox(container, container).at(BOOT_A, 100 * SECOND)
}

/// One hold that the list of 200 s did not name.
async fn suspected() -> Bench {
    let bench = Bench::new().await;
    add(&bench.ledger, of("c1")).await.expect("an address");
    assert_eq!(collect(&bench.ledger, list(BOOT_A, 200, &[])).await, (0, 1));
    bench
}

async fn suspects(bench: &Bench) -> String {
    let observer = superuser(&bench.database).await;
    text(&observer, "select count(*) from ipledger.suspects").await
}

#[tokio::test]
async fn two_lists_a_grace_apart_free_it_on_any_replica() {
    let bench = suspected().await;
    let replica = open(&bench.database).await;
    assert_eq!(collect(&replica, list(BOOT_A, 260, &[])).await, (1, 0));
    assert!(held_by(&replica, "c1").await.is_empty());
    assert_eq!(
        history(&bench.ledger, "prod").await[1..],
        ["2 released 10.0.0.1 step 1 gc ends 1"]
    );
    assert_eq!(suspects(&bench).await, "0");
    replica.close().await;
    bench.ledger.close().await;
}

#[tokio::test]
async fn two_lists_within_the_grace_free_nothing() {
    let bench = suspected().await;
    assert_eq!(collect(&bench.ledger, list(BOOT_A, 259, &[])).await, (0, 1));
    // The first list counts, not the last one.
    assert_eq!(collect(&bench.ledger, list(BOOT_A, 260, &[])).await, (1, 0));
    bench.ledger.close().await;
}

#[tokio::test]
async fn a_list_that_names_it_clears_it() {
    let bench = suspected().await;
    let named = list(BOOT_A, 230, &["c1"]);
    assert_eq!(collect(&bench.ledger, named).await, (0, 0));
    assert_eq!(suspects(&bench).await, "0");
    // The grace begins anew.
    assert_eq!(collect(&bench.ledger, list(BOOT_A, 261, &[])).await, (0, 1));
    assert_eq!(held_by(&bench.ledger, "c1").await, ["10.0.0.1"]);
    bench.ledger.close().await;
}

#[tokio::test]
async fn lists_of_two_boots_are_not_two_lists() {
    let bench = suspected().await;
    assert_eq!(collect(&bench.ledger, list(BOOT_B, 300, &[])).await, (0, 1));
    assert_eq!(held_by(&bench.ledger, "c1").await, ["10.0.0.1"]);
    assert_eq!(collect(&bench.ledger, list(BOOT_B, 359, &[])).await, (0, 1));
    assert_eq!(collect(&bench.ledger, list(BOOT_B, 360, &[])).await, (1, 0));
    bench.ledger.close().await;
}

#[tokio::test]
async fn a_list_says_nothing_about_another_network_node_or_cluster() {
    let bench = suspected().await;
    let here = list(BOOT_A, 300, &[]);
    let elsewhere = [
        GarbageList {
            network: "other-net".to_owned(),
            ..here.clone()
        },
        GarbageList {
            node: "node-2".to_owned(),
            ..here.clone()
        },
        GarbageList {
            cluster: "stage".to_owned(),
            ..here.clone()
        },
    ];
    for list in elsewhere {
        assert_eq!(collect(&bench.ledger, list).await, (0, 0));
    }
    assert_eq!(held_by(&bench.ledger, "c1").await, ["10.0.0.1"]);
    assert_eq!(collect(&bench.ledger, here).await, (1, 0));
    bench.ledger.close().await;
}

#[tokio::test]
async fn the_other_interface_of_a_named_sandbox_is_not_named() {
    let bench = Bench::new().await;
    for ifname in ["net1", "net2"] {
        add(&bench.ledger, of("c1").ifname(ifname))
            .await
            .expect("an address");
    }
    for seconds in [200, 260] {
        collect(&bench.ledger, list(BOOT_A, seconds, &["c1"])).await;
    }
    assert_eq!(
        history(&bench.ledger, "prod").await[2..],
        ["3 released 10.0.0.2 step 1 gc ends 2"]
    );
    bench.ledger.close().await;
}

#[tokio::test]
async fn a_hold_that_is_younger_than_the_list_is_left_alone() {
    let bench = Bench::new().await;
    let request = of("c1").at(BOOT_A, 300 * SECOND);
    add(&bench.ledger, request.clone()).await.unwrap();
    assert_eq!(collect(&bench.ledger, list(BOOT_A, 300, &[])).await, (0, 0));
    // A repeat of the ADD makes it young again.
    add(&bench.ledger, request.at(BOOT_A, 400 * SECOND))
        .await
        .unwrap();
    assert_eq!(collect(&bench.ledger, list(BOOT_A, 390, &[])).await, (0, 0));
    assert_eq!(collect(&bench.ledger, list(BOOT_A, 401, &[])).await, (0, 1));
    bench.ledger.close().await;
}

#[tokio::test]
async fn the_next_hold_of_the_address_is_another_suspect() {
    let bench = suspected().await;
    del(&bench.ledger, del_for(&of("c1"))).await.unwrap();
    let next = of("c2").at(BOOT_A, 210 * SECOND);
    add(&bench.ledger, next).await.unwrap();
    // The look at the old step frees nothing of the new one, and its note goes.
    assert_eq!(collect(&bench.ledger, list(BOOT_A, 270, &[])).await, (0, 1));
    assert_eq!(held_by(&bench.ledger, "c2").await, ["10.0.0.1"]);
    assert_eq!(suspects(&bench).await, "1");
    bench.ledger.close().await;
}

#[tokio::test]
async fn suspects_whose_holds_ended_otherwise_are_forgotten() {
    let bench = suspected().await;
    end(&bench.ledger, "prod", ip("10.0.0.1"), 0).await;
    assert_eq!(collect(&bench.ledger, list(BOOT_A, 210, &[])).await, (0, 0));
    assert_eq!(suspects(&bench).await, "0");
    bench.ledger.close().await;
}

/// Two addresses are due and a third is new: the database refuses the release of the first.
async fn one_cannot_be_freed(bench: &Bench) -> Result<GarbageResult, Error> {
    for container in ["c1", "c2"] {
        add(&bench.ledger, of(container)).await.expect("an address");
    }
    assert_eq!(collect(&bench.ledger, list(BOOT_A, 200, &[])).await, (0, 2));
    add(&bench.ledger, of("c3")).await.expect("an address");
    refuse(bench, "new.ip = '10.0.0.1' and new.step = 1").await;
    bench
        .ledger
        .collect_garbage(list(BOOT_A, 260, &[]), WAIT)
        .await
}

/// The database refuses events of this kind.
async fn refuse(bench: &Bench, condition: &str) {
    let client = superuser(&bench.database).await;
    let sql = format!(
        "create function refuse() returns trigger language plpgsql as \
         'begin raise exception ''refused by the test''; end'; \
         create trigger refused before insert on ipledger.events for each row \
         when ({condition}) execute function refuse()"
    );
    run(&client, &sql).await;
}

#[tokio::test]
async fn one_hold_that_cannot_be_freed_keeps_no_other_and_is_told() {
    let bench = Bench::new().await;
    let result = one_cannot_be_freed(&bench).await.expect("a pass");
    assert_eq!((result.released, result.suspect), (1, 1));
    let [
        GarbageFailure {
            about,
            kind,
            reason,
        },
    ] = result.failed.as_slice()
    else {
        panic!("{result:?}");
    };
    assert_eq!(
        (about.as_str(), *kind),
        ("10.0.0.1 of prod, step 0", "internal")
    );
    assert!(reason.contains("refused by the test"), "{reason}");
    assert_eq!(held_by(&bench.ledger, "c1").await, ["10.0.0.1"]);
    assert!(held_by(&bench.ledger, "c2").await.is_empty());
    // The suspect that stays, and the new one.
    assert_eq!(suspects(&bench).await, "2");
    bench.ledger.close().await;
}

#[tokio::test]
async fn a_pass_that_did_nothing_is_an_error() {
    let bench = suspected().await;
    add(&bench.ledger, of("c2")).await.unwrap();
    refuse(&bench, "true").await;
    let client = superuser(&bench.database).await;
    let no_notes = "create trigger refused before insert on ipledger.suspects for each row \
        execute function refuse()";
    run(&client, no_notes).await;
    let refused = bench
        .ledger
        .collect_garbage(list(BOOT_A, 260, &[]), WAIT)
        .await;
    assert!(refused.is_err(), "{refused:?}");
    assert_eq!(held_by(&bench.ledger, "c1").await, ["10.0.0.1"]);
    bench.ledger.close().await;
}
