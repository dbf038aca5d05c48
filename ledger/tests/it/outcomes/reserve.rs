use ledger::answer::{HoldReleased, Reserved};
use ledger::command::{Allocate, GiveBack, ReleaseHold, Reserve, SpaceSelector};
use ledger::{Answer, Command, Error, Ledger};

use super::{events, kind};
use crate::support::{Bench, WAIT, add, allocate, del, ip, ips, owner, provenance, release};

/// Two addresses: `.1` and `.2`.
const SMALL: &str = "10.0.0.0/30";

async fn reserve(ledger: &Ledger, address: &str, reason: &str) -> Result<Reserved, Error> {
    let request = Reserve {
        space: SpaceSelector {
            cluster: "prod".to_owned(),
            network_name: String::new(),
            overlapping: true,
        },
        pool: SMALL.parse().expect("a CIDR"),
        ip: ip(address),
        reason: reason.to_owned(),
        provenance: provenance(),
    };
    match ledger
        .execute(Command::Reserve(Box::new(request)), WAIT)
        .await?
    {
        Answer::Reserved(reserved) => Ok(reserved),
        other => panic!("not a reservation: {other:?}"),
    }
}

async fn give_back(ledger: &Ledger, space: &str, step: u32) -> Result<HoldReleased, Error> {
    let request = GiveBack {
        space: space.to_owned(),
        ip: ip("10.0.0.1"),
        step,
        reason: "the router is gone".to_owned(),
        provenance: provenance(),
    };
    match ledger
        .execute(Command::GiveBack(Box::new(request)), WAIT)
        .await?
    {
        Answer::HoldReleased(released) => Ok(released),
        other => panic!("not a release: {other:?}"),
    }
}

/// A pod of a StatefulSet, whose addresses are kept for its name.
fn sticky(container: &str, uid: &str) -> Allocate {
    let mut request = allocate(container, SMALL);
    request.owner = Some(owner("web-0", uid));
    request.sticky_seconds = 3_600;
    request
}

fn fixed(container: &str, address: &str) -> Allocate {
    let mut request = allocate(container, SMALL);
    request.ips = vec![ip(address)];
    request
}

#[tokio::test]
async fn allocate_address_reserved() {
    let bench = Bench::new().await;
    reserve(&bench.ledger, "10.0.0.1", "router").await.unwrap();
    let refused = add(&bench.ledger, fixed("c1", "10.0.0.1")).await;
    assert_eq!(kind(refused), "address_reserved");
    let other = add(&bench.ledger, allocate("c1", SMALL)).await.unwrap();
    assert_eq!(ips(&other), ["10.0.0.2"]);
    // Nobody else may have the reserved one, and no wait helps.
    let full = add(&bench.ledger, allocate("c2", SMALL)).await;
    assert_eq!(kind(full), "exhausted");
}

#[tokio::test]
async fn allocate_address_kept() {
    let bench = Bench::new().await;
    add(&bench.ledger, sticky("c1", "uid-1")).await.unwrap();
    del(&bench.ledger, release("c1")).await.unwrap();
    let refused = add(&bench.ledger, fixed("c2", "10.0.0.1")).await;
    assert_eq!(kind(refused), "address_kept");
    let other = add(&bench.ledger, allocate("c2", SMALL)).await.unwrap();
    assert_eq!(ips(&other), ["10.0.0.2"]);
}

#[tokio::test]
async fn allocate_kept() {
    let bench = Bench::new().await;
    add(&bench.ledger, sticky("c1", "uid-1")).await.unwrap();
    add(&bench.ledger, allocate("c2", SMALL)).await.unwrap();
    del(&bench.ledger, release("c1")).await.unwrap();
    let full = add(&bench.ledger, allocate("c3", SMALL)).await;
    assert_eq!(kind(full), "kept");
}

#[tokio::test]
async fn allocate_sticky() {
    let bench = Bench::new().await;
    add(&bench.ledger, allocate("c0", SMALL)).await.unwrap();
    add(&bench.ledger, sticky("c1", "uid-1")).await.unwrap();
    del(&bench.ledger, release("c0")).await.unwrap();
    del(&bench.ledger, release("c1")).await.unwrap();
    // After a restart as well, since it is in the ledger.
    let Bench { ledger, database } = bench;
    ledger.close().await;
    let ledger = crate::support::open(&database).await;
    let back = add(&ledger, sticky("c2", "uid-2")).await.unwrap();
    assert_eq!(ips(&back), ["10.0.0.2"], "and not the lowest free one");
    ledger.close().await;
}

#[tokio::test]
async fn allocate_longest_idle() {
    let bench = Bench::new().await;
    let idle = |container: &str| {
        let mut request = allocate(container, SMALL);
        request.order = ledger::command::AddressOrder::LongestIdle;
        request
    };
    let first = add(&bench.ledger, idle("c1")).await.unwrap();
    del(&bench.ledger, release("c1")).await.unwrap();
    let unused = add(&bench.ledger, idle("c2")).await.unwrap();
    del(&bench.ledger, release("c2")).await.unwrap();
    let oldest = add(&bench.ledger, idle("c3")).await.unwrap();
    let given = [first, unused, oldest].map(|allocated| ips(&allocated).join(" "));
    assert_eq!(given, ["10.0.0.1", "10.0.0.2", "10.0.0.1"]);
}

#[tokio::test]
async fn hold_reserved() {
    let bench = Bench::new().await;
    reserve(&bench.ledger, "10.0.0.1", "router").await.unwrap();
    let request = ReleaseHold {
        space: "prod".to_owned(),
        ip: ip("10.0.0.1"),
        step: 0,
        reason: "pod gone".to_owned(),
        evidence: serde_json::Map::new(),
        provenance: provenance(),
    };
    let command = Command::ReleaseHold(Box::new(request));
    let ended = bench.ledger.execute(command, WAIT).await;
    assert_eq!(kind(ended), "address_reserved");
}

#[tokio::test]
async fn reserve_invalid() {
    let bench = Bench::new().await;
    let outside = reserve(&bench.ledger, "10.0.1.1", "router").await;
    assert_eq!(kind(outside), "invalid_request");
}

#[tokio::test]
async fn reserve_space_conflict() {
    let bench = Bench::new().await;
    let mut private = allocate("c1", SMALL);
    private.space.overlapping = false;
    add(&bench.ledger, allocate("c0", "10.9.0.0/24"))
        .await
        .unwrap();
    add(&bench.ledger, private).await.unwrap();
    let refused = reserve(&bench.ledger, "10.0.0.1", "router").await;
    assert_eq!(kind(refused), "space_conflict");
}

#[tokio::test]
async fn reserve_address_taken() {
    let bench = Bench::new().await;
    add(&bench.ledger, allocate("c1", SMALL)).await.unwrap();
    let refused = reserve(&bench.ledger, "10.0.0.1", "router").await;
    assert_eq!(kind(refused), "address_taken");
}

#[tokio::test]
async fn reserve_repeated() {
    let bench = Bench::new().await;
    let first = reserve(&bench.ledger, "10.0.0.1", "router").await.unwrap();
    let again = reserve(&bench.ledger, "10.0.0.1", "router").await.unwrap();
    assert!(again.repeated && !first.repeated);
    assert_eq!(again.receipt, first.receipt);
    assert_eq!(events(&bench).await, 1);
}

#[tokio::test]
async fn reserve_address_reserved() {
    let bench = Bench::new().await;
    reserve(&bench.ledger, "10.0.0.1", "router").await.unwrap();
    let other = reserve(&bench.ledger, "10.0.0.1", "firewall").await;
    assert_eq!(kind(other), "address_reserved");
}

#[tokio::test]
async fn reserve_address_kept() {
    let bench = Bench::new().await;
    add(&bench.ledger, sticky("c1", "uid-1")).await.unwrap();
    del(&bench.ledger, release("c1")).await.unwrap();
    let refused = reserve(&bench.ledger, "10.0.0.1", "router").await;
    assert_eq!(kind(refused), "address_kept");
}

#[tokio::test]
async fn reserve_reserved() {
    let bench = Bench::new().await;
    let mut resting = allocate("c1", SMALL);
    resting.cooldown_seconds = 3_600;
    add(&bench.ledger, resting).await.unwrap();
    del(&bench.ledger, release("c1")).await.unwrap();
    let reserved = reserve(&bench.ledger, "10.0.0.1", "router").await.unwrap();
    assert_eq!(reserved.receipt.step, 2);
    let listed = bench
        .ledger
        .reservations(&ledger::ReservationQuery {
            limit: 10,
            ..ledger::ReservationQuery::default()
        })
        .await
        .unwrap();
    assert_eq!(listed.len(), 1);
    assert_eq!(listed[0].reason, "router");
    // It is no hold of anybody.
    let holds = bench
        .ledger
        .holds(&ledger::HoldQuery {
            limit: 10,
            ..ledger::HoldQuery::default()
        })
        .await
        .unwrap();
    assert_eq!(holds.holds, []);
    // What was left of the rest comes after the reservation.
    give_back(&bench.ledger, "prod", 2).await.unwrap();
    let rests = add(&bench.ledger, fixed("c2", "10.0.0.1")).await;
    assert_eq!(kind(rests), "address_cooling");
}

#[tokio::test]
async fn give_back_no_such_space() {
    let bench = Bench::new().await;
    let refused = give_back(&bench.ledger, "nowhere", 0).await;
    assert_eq!(kind(refused), "not_found");
}

#[tokio::test]
async fn give_back_address_taken() {
    let bench = Bench::new().await;
    add(&bench.ledger, allocate("c1", SMALL)).await.unwrap();
    let refused = give_back(&bench.ledger, "prod", 0).await;
    assert_eq!(kind(refused), "address_taken");
}

#[tokio::test]
async fn give_back_released() {
    let bench = Bench::new().await;
    reserve(&bench.ledger, "10.0.0.1", "router").await.unwrap();
    let ended = give_back(&bench.ledger, "prod", 0).await.unwrap();
    assert_eq!((ended.released.receipt.step, ended.repeated), (1, false));
    let next = add(&bench.ledger, allocate("c1", SMALL)).await.unwrap();
    assert_eq!(ips(&next), ["10.0.0.1"]);
}

#[tokio::test]
async fn give_back_repeated() {
    let bench = Bench::new().await;
    reserve(&bench.ledger, "10.0.0.1", "router").await.unwrap();
    let first = give_back(&bench.ledger, "prod", 0).await.unwrap();
    let again = give_back(&bench.ledger, "prod", 0).await.unwrap();
    assert!(again.repeated);
    assert_eq!(again.released, first.released);
}

#[tokio::test]
async fn give_back_step_mismatch() {
    let bench = Bench::new().await;
    add(&bench.ledger, allocate("c1", SMALL)).await.unwrap();
    del(&bench.ledger, release("c1")).await.unwrap();
    // The release of a hold is none of a reservation.
    let refused = give_back(&bench.ledger, "prod", 0).await;
    assert_eq!(kind(refused), "step_mismatch");
}
