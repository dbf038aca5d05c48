//! A release says whose hold it ends, whoever asked for it.

use std::collections::HashMap;

use ledger::event::{Ended, Kind, Payload};
use ledger::{EventQuery, Ledger};
use tokio::task::JoinSet;

use super::exhausted::end;
use super::imported::{entry, import};
use super::{del_for, sandbox};
use crate::support::{Bench, add, del, ip, open};

/// Every release of the space names the holder of the allocate that it ends; tells for each
/// whether it did so beside its caller.
async fn check(ledger: &Ledger) -> Vec<bool> {
    let query = EventQuery {
        space: "prod".to_owned(),
        address: None,
        after_seq: 0,
        limit: 1_000,
    };
    let mut begun = HashMap::new();
    let mut named = Vec::new();
    for event in ledger.events(&query).await.expect("events") {
        let payload: Payload = serde_json::from_value(event.payload).expect("a payload");
        if payload.kind == Kind::Allocated {
            let attachment = payload.attachment.expect("an attachment");
            let owner = payload.owner;
            begun.insert(event.seq, Ended { attachment, owner });
            continue;
        }
        let ends = &begun[&payload.ends_seq.expect("what it ends")];
        named.push(payload.ended.is_some());
        match &payload.ended {
            Some(ended) => assert_eq!(ended, ends, "event {}", event.seq),
            None => assert_eq!(payload.attachment.as_ref(), Some(&ends.attachment)),
        }
    }
    named
}

#[tokio::test]
async fn a_takeover_names_the_older_sandbox_on_any_replica() {
    let bench = Bench::new().await;
    let replica = open(&bench.database).await;
    for (ledger, container) in [
        (&bench.ledger, "c1"),
        (&bench.ledger, "c2"),
        (&replica, "c3"),
        (&bench.ledger, "c4"),
    ] {
        add(ledger, sandbox(container, "uid-1")).await.unwrap();
    }
    assert_eq!(check(&replica).await, [true; 3]);
    replica.close().await;
    bench.ledger.close().await;
}

/// One after the other in a few batches: the older sandbox may be in the same one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_takeover_names_the_older_sandbox_of_its_own_batch() {
    let bench = Bench::new().await;
    add(&bench.ledger, sandbox("first", "uid-1")).await.unwrap();
    let mut calls = JoinSet::new();
    for number in 0..60 {
        let ledger = bench.ledger.clone();
        let request = sandbox(&format!("c{number}"), &format!("uid-{}", number % 3));
        calls.spawn(async move { add(&ledger, request).await });
    }
    for told in calls.join_all().await {
        told.expect("an address");
    }
    assert_eq!(check(&bench.ledger).await, [true; 58]);
    bench.ledger.close().await;
}

#[tokio::test]
async fn a_release_by_address_and_step_names_the_holder() {
    let bench = Bench::new().await;
    add(&bench.ledger, sandbox("c1", "uid-1")).await.unwrap();
    end(&bench.ledger, "prod", ip("10.0.0.1"), 0).await;
    let nobody = {
        let mut request = sandbox("c2", "uid-2");
        request.owner = None;
        request
    };
    add(&bench.ledger, nobody).await.unwrap();
    end(&bench.ledger, "prod", ip("10.0.0.1"), 2).await;
    assert_eq!(check(&bench.ledger).await, [true, true]);
    bench.ledger.close().await;
}

#[tokio::test]
async fn a_del_is_the_holders_own_unless_the_hold_was_imported() {
    let bench = Bench::new().await;
    import(&bench.ledger, entry("10.0.0.50", None)).await;
    del(&bench.ledger, del_for(&sandbox("c1", "uid-1")))
        .await
        .unwrap();
    let own = sandbox("c2", "uid-2");
    add(&bench.ledger, own.clone()).await.unwrap();
    del(&bench.ledger, del_for(&own)).await.unwrap();
    assert_eq!(check(&bench.ledger).await, [true, false]);
    bench.ledger.close().await;
}
