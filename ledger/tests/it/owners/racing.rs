//! The rows that speak of order and repetition, with the calls on two replicas at once.

use super::{Shape as _, ShapeAllocate as _, del_for, held_by, history, refusal, sandbox};
use crate::support::{Bench, add, del, ips, open};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_same_add_on_two_replicas_at_once_is_one_allocation() {
    let bench = Bench::new().await;
    let replica = open(&bench.database).await;
    for number in 0..20 {
        let request = sandbox(&format!("c{number}"), &format!("uid-{number}"));
        let (one, two) = tokio::join!(
            add(&bench.ledger, request.clone()),
            add(&replica, request.clone())
        );
        let (one, two) = (one.unwrap(), two.unwrap());
        assert_eq!(one.addresses, two.addresses);
        assert!(one.repeated != two.repeated, "one of them was first");
    }
    assert_eq!(history(&bench.ledger, "prod").await.len(), 20);
    replica.close().await;
    bench.ledger.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_newer_sandbox_wins_whichever_replica_is_first() {
    let bench = Bench::new().await;
    let replica = open(&bench.database).await;
    for number in 0..20 {
        let uid = format!("uid-{number}");
        let (old, new) = (format!("old-{number}"), format!("new-{number}"));
        let earlier = add(&bench.ledger, sandbox(&old, &uid).at(1, 100));
        let later = add(&replica, sandbox(&new, &uid).at(1, 200));
        let (earlier, later) = tokio::join!(earlier, later);
        let later = later.expect("the newer sandbox has its address");
        if earlier.is_err() {
            assert_eq!(refusal(earlier).kind(), "stale");
        }
        assert!(held_by(&bench.ledger, &old).await.is_empty());
        assert_eq!(held_by(&bench.ledger, &new).await, ips(&later));
    }
    replica.close().await;
    bench.ledger.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_del_and_the_add_before_it_leave_nothing_held_whichever_replica_is_first() {
    let bench = Bench::new().await;
    let replica = open(&bench.database).await;
    for number in 0..20 {
        let container = format!("c{number}");
        let request = sandbox(&container, &format!("uid-{number}"));
        let gone = del(&replica, del_for(&request).at(1, 200));
        let late = add(&bench.ledger, request.at(1, 100));
        let (gone, late) = tokio::join!(gone, late);
        let freed = gone.expect("a DEL succeeds").released.len();
        match late {
            Ok(_) => assert_eq!(freed, 1, "{container}"),
            refused => {
                assert_eq!(refusal(refused).kind(), "deleted");
                assert_eq!(freed, 0, "{container}");
            }
        }
        assert!(held_by(&bench.ledger, &container).await.is_empty());
    }
    replica.close().await;
    bench.ledger.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_fixed_address_asked_for_on_two_replicas_at_once_has_one_holder() {
    let bench = Bench::new().await;
    let replica = open(&bench.database).await;
    for number in 1..=20 {
        let fixed = format!("10.0.0.{number}");
        let of = |side: &str| {
            let name = format!("{side}-{number}");
            sandbox(&name, &name).ips(&[&fixed])
        };
        let (one, two) = tokio::join!(add(&bench.ledger, of("one")), add(&replica, of("two")));
        let refused = match (one, two) {
            (Ok(_), refused) | (refused, Ok(_)) => refusal(refused),
            both => panic!("nobody has it: {both:?}"),
        };
        assert_eq!(refused.kind(), "address_taken");
    }
    replica.close().await;
    bench.ledger.close().await;
}
