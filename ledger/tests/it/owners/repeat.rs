//! ADD again for the same attachment; ADD with other content for the same attachment.

use ledger::Refusal;
use ledger::command::Allocate;

use super::{RANGE, Shape as _, ShapeAllocate as _, history, refusal, sandbox};
use crate::support::{Bench, add, ips, open, owner, window};

#[tokio::test]
async fn add_again_gives_the_same_addresses_and_appends_nothing() {
    let bench = Bench::new().await;
    let request = sandbox("c1", "uid-1").ranges(&[RANGE, "2001:db8::/64"]);
    let first = add(&bench.ledger, request.clone().at(1, 100))
        .await
        .unwrap();
    assert!(!first.repeated);
    assert_eq!(ips(&first), ["10.0.0.1", "2001:db8::1"]);
    let before = history(&bench.ledger, "prod").await;

    // The runtime tries again later; a copy of the first try is delivered late.
    for boottime_ns in [200, 100, 50] {
        let again = request.clone().at(1, boottime_ns);
        let again = add(&bench.ledger, again).await.unwrap();
        assert!(again.repeated);
        assert_eq!(again.addresses, first.addresses);
    }
    let other = open(&bench.database).await;
    let again = add(&other, request.at(1, 300)).await.unwrap();
    assert!(again.repeated);
    assert_eq!(again.addresses, first.addresses);
    assert_eq!(history(&bench.ledger, "prod").await, before);
    other.close().await;
    bench.ledger.close().await;
}

/// Requests for `c1` that differ from its hold in one field each.
fn others() -> Vec<(&'static str, Allocate)> {
    let usual = || sandbox("c1", "uid-1");
    let named = |pod: &str, uid: &str| {
        let mut request = usual();
        request.owner = Some(owner(pod, uid));
        request
    };
    let mut excluding = usual();
    excluding.ranges = vec![
        address::Window::parse(&address::WindowText {
            range: RANGE,
            range_start: None,
            range_end: None,
            exclude: &["10.0.0.8/29".to_owned()],
        })
        .expect("a window"),
    ];
    vec![
        ("ranges[0]", usual().ranges(&["10.0.1.0/24"])),
        ("ranges[0]", usual().between("10.0.0.1", "10.0.0.9")),
        ("ranges[0]", excluding),
        ("ranges", usual().ranges(&[RANGE, "2001:db8::/64"])),
        ("ips", usual().ips(&["10.0.0.1"])),
        ("owner", named("web-1", "uid-1")),
        ("owner.uid", named("web-0", "uid-2")),
        ("network_name", usual().network_name("blue")),
        ("enable_overlapping_ranges", usual().private()),
    ]
}

#[tokio::test]
async fn add_with_other_content_is_a_conflict_that_names_the_field() {
    let bench = Bench::new().await;
    let first = sandbox("c1", "uid-1");
    add(&bench.ledger, first.clone()).await.unwrap();
    let before = history(&bench.ledger, "prod").await;
    for (field, request) in others() {
        let refusal = refusal(add(&bench.ledger, request.clone()).await);
        assert_eq!(refusal.kind(), "attachment_conflict");
        let Refusal::AttachmentConflict { hold, .. } = refusal else {
            panic!("{refusal:?}");
        };
        assert_eq!((hold.ip.to_string().as_str(), hold.step), ("10.0.0.1", 0));
        let named = bench.ledger.differing_field(&request, &hold).await;
        assert_eq!(named.unwrap(), field, "{request:?}");
    }
    assert_eq!(history(&bench.ledger, "prod").await, before);
    assert!(history(&bench.ledger, "prod/blue").await.is_empty());
    assert!(add(&bench.ledger, first).await.unwrap().repeated);
    bench.ledger.close().await;
}

#[tokio::test]
async fn add_again_after_one_of_its_addresses_was_ended_alone_is_a_conflict() {
    let bench = Bench::new().await;
    let request = sandbox("c1", "uid-1").ranges(&[RANGE, "10.0.1.0/24"]);
    let first = add(&bench.ledger, request.clone()).await.unwrap();
    super::exhausted::end(&bench.ledger, "prod", first.addresses[1].ip, 0).await;
    let refusal = refusal(add(&bench.ledger, request).await);
    assert_eq!(refusal.kind(), "attachment_conflict");
    assert_eq!(super::held_by(&bench.ledger, "c1").await, ["10.0.0.1"]);
    bench.ledger.close().await;
}

#[tokio::test]
async fn a_window_spelled_otherwise_is_the_same_content() {
    let bench = Bench::new().await;
    let first = sandbox("c1", "uid-1");
    add(&bench.ledger, first.clone()).await.unwrap();
    let mut spelled = first;
    spelled.ranges = vec![window(RANGE, Some("10.0.0.1"), Some("10.0.0.254"))];
    assert!(add(&bench.ledger, spelled).await.unwrap().repeated);
    bench.ledger.close().await;
}

#[tokio::test]
async fn add_of_several_ranges_under_another_network_name_is_a_conflict_that_names_it() {
    let bench = Bench::new().await;
    let first = sandbox("c1", "uid-1").ranges(&[RANGE, "10.0.1.0/24"]);
    add(&bench.ledger, first.clone()).await.unwrap();
    let others = [
        ("network_name", first.clone().network_name("blue")),
        ("ranges", first.ranges(&[RANGE, "10.0.2.0/24"])),
    ];
    for (field, request) in others {
        let Refusal::AttachmentConflict { hold, .. } =
            refusal(add(&bench.ledger, request.clone()).await)
        else {
            panic!("another refusal");
        };
        let named = bench.ledger.differing_field(&request, &hold).await;
        assert_eq!(named.unwrap(), field, "{request:?}");
    }
    bench.ledger.close().await;
}
