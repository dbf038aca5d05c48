//! The pool is full only because of holds whose pods are gone.

use std::net::IpAddr;

use ledger::command::ReleaseHold;
use ledger::{Answer, Command, Ledger, Refusal};

use super::{SMALL, ShapeAllocate as _, history, refusal, sandbox};
use crate::support::{Bench, WAIT, add, ips, provenance};

/// End one hold as sync does, with evidence.
pub(super) async fn end(ledger: &Ledger, space: &str, ip: IpAddr, step: u32) {
    let command = ReleaseHold {
        space: space.to_owned(),
        ip,
        step,
        reason: "pod gone".to_owned(),
        evidence: [("resource_version".to_owned(), "41".into())]
            .into_iter()
            .collect(),
        provenance: provenance(),
    };
    let command = Command::ReleaseHold(Box::new(command));
    match ledger.execute(command, WAIT).await {
        Ok(Answer::HoldReleased(released)) => assert!(!released.repeated),
        other => panic!("not released: {other:?}"),
    }
}

#[tokio::test]
async fn full_pool_is_refused_with_its_counts_and_the_next_try_succeeds() {
    let bench = Bench::new().await;
    let of = |container, uid| sandbox(container, uid).ranges(&[SMALL]);
    add(&bench.ledger, of("c1", "uid-1")).await.unwrap();
    add(&bench.ledger, of("c2", "uid-2")).await.unwrap();
    let before = history(&bench.ledger, "prod").await;

    let full = refusal(add(&bench.ledger, of("c3", "uid-3")).await);
    assert_eq!(full.kind(), "exhausted");
    let Refusal::Exhausted {
        position,
        space,
        window,
        taken,
    } = full
    else {
        panic!("{full:?}");
    };
    assert_eq!(
        (position, taken.held, taken.cooling, window.capacity()),
        (0, 2, 0, 2)
    );
    assert_eq!(history(&bench.ledger, "prod").await, before);
    // Whom sync looks at first.
    let oldest = bench
        .ledger
        .oldest_hold(&space, &window, WAIT)
        .await
        .unwrap();
    let oldest = oldest.expect("a holder");
    assert_eq!(oldest.attachment.container_id, "c1");

    end(&bench.ledger, &oldest.space, oldest.ip, oldest.step).await;
    let retried = add(&bench.ledger, of("c3", "uid-3")).await.unwrap();
    assert_eq!(ips(&retried), ["10.0.0.1"]);
    bench.ledger.close().await;
}

#[tokio::test]
async fn hold_that_was_freed_for_a_dead_pod_is_not_freed_again_for_its_heir() {
    let bench = Bench::new().await;
    let of = |container, uid| sandbox(container, uid).ranges(&[SMALL]);
    let first = add(&bench.ledger, of("c1", "uid-1")).await.unwrap();
    let ip = first.addresses[0].ip;
    end(&bench.ledger, "prod", ip, 0).await;
    add(&bench.ledger, of("c2", "uid-2")).await.unwrap();
    let late = ReleaseHold {
        space: "prod".to_owned(),
        ip,
        step: 0,
        reason: "pod gone".to_owned(),
        evidence: serde_json::Map::new(),
        provenance: provenance(),
    };
    let late = Command::ReleaseHold(Box::new(late));
    let late = refusal(bench.ledger.execute(late, WAIT).await);
    assert_eq!(late.kind(), "step_mismatch");
    assert_eq!(super::held_by(&bench.ledger, "c2").await, ["10.0.0.1"]);
    bench.ledger.close().await;
}
