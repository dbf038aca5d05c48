//! Cool-down: stored with the allocate, hard when the pool is full, waived for the same owner.

use ledger::answer::{Counted, WindowCounts};
use ledger::command::{Allocate, Count};
use ledger::{Answer, Command, Ledger, Refusal};

use super::{SMALL, ShapeAllocate as _, del_for, refusal, sandbox};
use crate::support::{Bench, WAIT, add, del, ips, open};

const HOUR: u32 = 3_600;

fn of(container: &str, uid: &str) -> Allocate {
    sandbox(container, uid).ranges(&[SMALL])
}

/// The one recorded window.
async fn counts(ledger: &Ledger) -> WindowCounts {
    let count = Command::Count(Box::new(Count::Recorded(None)));
    match ledger.execute(count, WAIT).await.expect("counts") {
        Answer::Counted(Counted { mut windows, .. }) => {
            assert_eq!(windows.len(), 1, "{windows:?}");
            windows.pop().expect("one window")
        }
        other => panic!("not a count: {other:?}"),
    }
}

fn assert_counts(counts: &WindowCounts, held: u128, cooling: u128, free: u128) {
    assert_eq!((counts.taken.held, counts.taken.cooling), (held, cooling));
    assert_eq!(counts.free(), free);
    assert_eq!(held + cooling + free, counts.window.capacity());
}

#[tokio::test]
async fn cool_down_is_hard_when_the_pool_is_full_and_has_its_own_kind() {
    let bench = Bench::new().await;
    add(&bench.ledger, of("c1", "uid-1").cooldown(HOUR))
        .await
        .unwrap();
    add(&bench.ledger, of("c2", "uid-2").cooldown(HOUR))
        .await
        .unwrap();
    assert_counts(&counts(&bench.ledger).await, 2, 0, 0);
    let freed = del(&bench.ledger, del_for(&of("c1", "uid-1")))
        .await
        .unwrap();
    assert_counts(&counts(&bench.ledger).await, 1, 1, 0);

    // The cool-down is the one of the allocate that ended, not of whoever asks next.
    let full = refusal(add(&bench.ledger, of("c3", "uid-3").cooldown(0)).await);
    assert_eq!(full.kind(), "cooling");
    let Refusal::Cooling { taken, until, .. } = full else {
        panic!("{full:?}");
    };
    assert_eq!((taken.held, taken.cooling), (1, 1));
    let rests = until.duration_since(freed.released[0].receipt.recorded_at);
    assert_eq!(rests.as_secs(), i64::from(HOUR));
    bench.ledger.close().await;
}

#[tokio::test]
async fn cool_down_is_waived_for_the_same_owner() {
    let bench = Bench::new().await;
    add(&bench.ledger, of("c1", "uid-1").cooldown(HOUR))
        .await
        .unwrap();
    add(&bench.ledger, of("c2", "uid-2")).await.unwrap();
    del(&bench.ledger, del_for(&of("c1", "uid-1")))
        .await
        .unwrap();
    let other_interface = of("c3", "uid-1").ifname("net2");
    assert_eq!(
        refusal(add(&bench.ledger, other_interface).await).kind(),
        "cooling"
    );
    let own = add(&bench.ledger, of("c3", "uid-1")).await.unwrap();
    assert_eq!(ips(&own), ["10.0.0.1"]);
    assert_counts(&counts(&bench.ledger).await, 2, 0, 0);
    bench.ledger.close().await;
}

#[tokio::test]
async fn cool_down_leaves_the_next_address_to_others() {
    let bench = Bench::new().await;
    add(&bench.ledger, of("c1", "uid-1").cooldown(HOUR))
        .await
        .unwrap();
    del(&bench.ledger, del_for(&of("c1", "uid-1")))
        .await
        .unwrap();
    assert_counts(&counts(&bench.ledger).await, 0, 1, 1);
    let next = add(&bench.ledger, of("c2", "uid-2")).await.unwrap();
    assert_eq!(ips(&next), ["10.0.0.2"]);
    bench.ledger.close().await;
}

#[tokio::test]
async fn cool_down_survives_a_restart_of_the_ledger() {
    let Bench { ledger, database } = Bench::new().await;
    add(&ledger, of("c1", "uid-1").cooldown(HOUR))
        .await
        .unwrap();
    add(&ledger, of("c2", "uid-2")).await.unwrap();
    del(&ledger, del_for(&of("c1", "uid-1"))).await.unwrap();
    let before = refusal(add(&ledger, of("c3", "uid-3")).await);
    ledger.close().await;

    let ledger = open(&database).await;
    assert_counts(&counts(&ledger).await, 1, 1, 0);
    let after = refusal(add(&ledger, of("c3", "uid-3")).await);
    assert_eq!(after.kind(), "cooling");
    assert_eq!(after, before, "the same end, to the microsecond");
    let own = add(&ledger, of("c4", "uid-1")).await.unwrap();
    assert_eq!(ips(&own), ["10.0.0.1"]);
    ledger.close().await;
}

#[tokio::test]
async fn cool_down_ends_by_itself() {
    let bench = Bench::new().await;
    add(&bench.ledger, of("c1", "uid-1").cooldown(1))
        .await
        .unwrap();
    add(&bench.ledger, of("c2", "uid-2")).await.unwrap();
    let freed = del(&bench.ledger, del_for(&of("c1", "uid-1")))
        .await
        .unwrap();
    let freed_at = freed.released[0].receipt.recorded_at;
    let allocated = tokio::time::timeout(WAIT, async {
        loop {
            match add(&bench.ledger, of("c3", "uid-3")).await {
                Ok(allocated) => return allocated,
                refused => assert_eq!(refusal(refused).kind(), "cooling"),
            }
        }
    })
    .await
    .expect("the rest of one second is over");
    assert_eq!(ips(&allocated), ["10.0.0.1"]);
    let recorded_at = allocated.addresses[0].receipt.unwrap().recorded_at;
    assert!(recorded_at.duration_since(freed_at).as_millis() >= 1_000);
    bench.ledger.close().await;
}

#[tokio::test]
async fn cool_down_counts_sum_in_every_window_that_overlaps() {
    let bench = Bench::new().await;
    let wide = sandbox("c1", "uid-1").cooldown(HOUR);
    add(&bench.ledger, wide.clone()).await.unwrap();
    let narrow = sandbox("c2", "uid-2").between("10.0.0.1", "10.0.0.9");
    add(&bench.ledger, narrow).await.unwrap();
    del(&bench.ledger, del_for(&wide)).await.unwrap();
    let count = Command::Count(Box::new(Count::Recorded(Some("prod".to_owned()))));
    let Answer::Counted(counted) = bench.ledger.execute(count, WAIT).await.unwrap() else {
        panic!("not a count");
    };
    assert_eq!(counted.as_of["prod"], 3);
    let [wide, narrow] = counted.windows.as_slice() else {
        panic!("{counted:?}");
    };
    assert_counts(wide, 1, 1, 252);
    assert_counts(narrow, 1, 1, 7);
    bench.ledger.close().await;
}
