//! Payloads that were moved to files and dropped.

use ledger::{Error, HoldQuery, Refusal};

use super::sql::{refusal, role, run, superuser};
use crate::support::{Bench, WAIT, add, allocate, attachment, del, ips, open, release, window};

const RANGE: &str = "10.0.0.0/24";

fn of_prod(as_of: Option<u64>) -> HoldQuery {
    HoldQuery {
        space: Some("prod".to_owned()),
        as_of,
        limit: 10,
        ..HoldQuery::default()
    }
}

#[tokio::test]
async fn the_payload_of_a_current_hold_stays_and_the_others_may_go() {
    let bench = Bench::new().await;
    let replica = open(&bench.database).await;
    add(&bench.ledger, allocate("c1", RANGE)).await.unwrap();
    add(&bench.ledger, allocate("c2", RANGE)).await.unwrap();
    del(&bench.ledger, release("c1")).await.unwrap();
    add(&bench.ledger, allocate("c3", RANGE)).await.unwrap();
    let owner = role(&bench.database, "owner").await;
    for held in [2, 4] {
        let drop = format!("delete from ipledger.payloads where seq = {held}");
        assert_eq!(refusal(&owner, &drop).await.0, "23001", "{held}");
    }
    run(&owner, "delete from ipledger.payloads where seq in (1, 3)").await;

    // The replica was not there yet, and another one starts now.
    let reopened = open(&bench.database).await;
    for (ledger, next) in [(&replica, "10.0.0.3"), (&reopened, "10.0.0.4")] {
        let page = ledger.holds(&of_prod(None)).await.expect("holds");
        let held: Vec<_> = page.holds.iter().map(|hold| &hold.attachment).collect();
        assert_eq!(held[..2], [&attachment("c3"), &attachment("c2")]);
        assert_eq!(ledger.lookup(&attachment("c2")).await.unwrap().len(), 1);
        let repeat = add(ledger, allocate("c2", RANGE)).await.expect("a repeat");
        assert!(repeat.repeated);
        let given = add(ledger, allocate(next, RANGE)).await.expect("another");
        assert_eq!(ips(&given), [next]);
        let oldest = ledger
            .oldest_hold("prod", &window(RANGE, None, None), WAIT)
            .await;
        assert_eq!(oldest.unwrap().unwrap().attachment, attachment("c2"));
    }
    // What was held then cannot be told in full, so it is not told in part.
    let then = bench.ledger.holds(&of_prod(Some(2))).await;
    let Err(Error::Refused(Refusal::Invalid { key, value, .. })) = then else {
        panic!("{then:?}");
    };
    assert_eq!((key.as_str(), value.as_str()), ("as_of", "2"));
    reopened.close().await;
    replica.close().await;
    bench.ledger.close().await;
}

#[tokio::test]
async fn payloads_that_say_what_clusters_are_stay() {
    let bench = Bench::new().await;
    let mut first = allocate("c1", RANGE);
    first.cluster_uid = Some("uid-a".to_owned());
    add(&bench.ledger, first).await.unwrap();
    del(&bench.ledger, release("c1")).await.unwrap();
    let owner = role(&bench.database, "owner").await;
    let bound = "delete from ipledger.payloads where kind = 'cluster_bound'";
    assert_eq!(refusal(&owner, bound).await.0, "23001");
    let all = "delete from ipledger.payloads";
    assert_eq!(
        refusal(&superuser(&bench.database).await, all).await.0,
        "23001"
    );
    bench.ledger.close().await;
}
