//! `enable_overlapping_ranges: false`: a CIDR that is a space of its own.

use ledger::{Error, Refusal};

use super::{RANGE, ShapeAllocate as _, history, refusal, sandbox, spaces};
use crate::support::{Bench, add, ips, open};

#[tokio::test]
async fn private_first_is_a_space_of_its_own_and_refuses_the_others_with_the_remedy() {
    let bench = Bench::new().await;
    let replica = open(&bench.database).await;
    let private = add(&bench.ledger, sandbox("c1", "uid-1").private()).await;
    assert_eq!(spaces(&private.unwrap()), ["prod#10.0.0.0/24"]);
    for ledger in [&bench.ledger, &replica] {
        let conflict = refusal(add(ledger, sandbox("c2", "uid-2")).await);
        assert_eq!(conflict.kind(), "space_conflict");
        let text = conflict.to_string();
        for part in [
            "enable_overlapping_ranges",
            RANGE,
            "prod#10.0.0.0/24",
            "another range or network_name",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
    }
    let second = add(&replica, sandbox("c3", "uid-3").private()).await;
    assert_eq!(ips(&second.unwrap()), ["10.0.0.2"]);
    // Under another network name the CIDR is as good as new.
    let blue = sandbox("c4", "uid-4").network_name("blue");
    assert_eq!(
        spaces(&add(&bench.ledger, blue).await.unwrap()),
        ["prod/blue"]
    );
    replica.close().await;
    bench.ledger.close().await;
}

#[tokio::test]
async fn private_second_is_served_in_the_space_that_knows_the_range() {
    let bench = Bench::new().await;
    let replica = open(&bench.database).await;
    add(&bench.ledger, sandbox("c1", "uid-1")).await.unwrap();
    let second = add(&bench.ledger, sandbox("c2", "uid-2").private()).await;
    let second = second.unwrap();
    assert_eq!(
        (spaces(&second), ips(&second)),
        (vec!["prod"], vec!["10.0.0.2".to_owned()])
    );
    let third = add(&replica, sandbox("c3", "uid-3").private()).await;
    let third = third.unwrap();
    assert_eq!(
        (spaces(&third), ips(&third)),
        (vec!["prod"], vec!["10.0.0.3".to_owned()])
    );
    replica.close().await;
    bench.ledger.close().await;
}

#[tokio::test]
async fn private_range_may_use_the_addresses_of_another_range() {
    let bench = Bench::new().await;
    let wide = sandbox("c1", "uid-1").ranges(&["10.0.0.0/16"]);
    add(&bench.ledger, wide).await.unwrap();
    let private = add(&bench.ledger, sandbox("c2", "uid-2").private()).await;
    let private = private.unwrap();
    assert_eq!(spaces(&private), ["prod#10.0.0.0/24"]);
    assert_eq!(ips(&private), ["10.0.0.1"]);
    bench.ledger.close().await;
}

#[tokio::test]
async fn private_hold_is_taken_over_like_any_other() {
    let bench = Bench::new().await;
    add(&bench.ledger, sandbox("c1", "uid-1").private())
        .await
        .unwrap();
    let taken = add(&bench.ledger, sandbox("c2", "uid-1").private()).await;
    assert_eq!(ips(&taken.unwrap()), ["10.0.0.1"]);
    assert_eq!(
        history(&bench.ledger, "prod#10.0.0.0/24").await,
        [
            "1 allocated 10.0.0.1 step 0 add",
            "2 released 10.0.0.1 step 1 takeover ends 1",
            "3 allocated 10.0.0.1 step 2 takeover",
        ]
    );
    bench.ledger.close().await;
}

/// What became of the two first uses of one CIDR.
#[derive(Debug, PartialEq)]
enum First {
    Private,
    Shared,
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn private_and_not_private_racing_on_two_replicas_first_use_decides() {
    let bench = Bench::new().await;
    let replica = open(&bench.database).await;
    for number in 0..40 {
        let range = format!("10.1.{number}.0/24");
        let of = |container: &str| {
            let name = format!("{container}-{number}");
            sandbox(&name, &name).ranges(&[&range])
        };
        let private = add(&bench.ledger, of("private").private());
        let shared = add(&replica, of("shared"));
        let (private, shared) = tokio::join!(private, shared);
        let private = private.expect("a private request is always served");
        let first = match &shared {
            Ok(shared) => {
                assert_eq!(spaces(shared), ["prod"]);
                assert_eq!(spaces(&private), ["prod"], "{range}");
                assert_ne!(ips(&private), ips(shared));
                First::Shared
            }
            Err(Error::Refused(Refusal::SpaceConflict { private: name, .. })) => {
                assert_eq!(spaces(&private), [name], "{range}");
                First::Private
            }
            other => panic!("{other:?}"),
        };
        // And it stays decided, whoever is asked.
        for ledger in [&bench.ledger, &replica] {
            let later = of(&format!("later-{}", std::ptr::from_ref(ledger).addr()));
            let later = add(ledger, later).await;
            assert_eq!(later.is_ok(), first == First::Shared, "{later:?}");
        }
    }
    replica.close().await;
    bench.ledger.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn private_racing_with_private_on_two_replicas_is_one_space() {
    let bench = Bench::new().await;
    let replica = open(&bench.database).await;
    for number in 0..20 {
        let range = format!("10.1.{number}.0/24");
        let of = |container: &str| {
            let name = format!("{container}-{number}");
            sandbox(&name, &name).ranges(&[&range]).private()
        };
        let (one, two) = tokio::join!(add(&bench.ledger, of("one")), add(&replica, of("two")));
        let (one, two) = (one.unwrap(), two.unwrap());
        assert_eq!(spaces(&one), [format!("prod#{range}")]);
        assert_eq!(spaces(&two), spaces(&one));
        assert_ne!(ips(&one), ips(&two));
    }
    replica.close().await;
    bench.ledger.close().await;
}
