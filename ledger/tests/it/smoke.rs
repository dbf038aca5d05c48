use crate::support::{Bench, add, allocate, del, ips, open, release};

#[tokio::test]
async fn allocate_repeat_release_again() {
    let bench = Bench::new().await;
    let first = add(&bench.ledger, allocate("c1", "10.0.0.0/24"))
        .await
        .unwrap();
    assert_eq!(ips(&first), ["10.0.0.1"]);
    let repeat = add(&bench.ledger, allocate("c1", "10.0.0.0/24"))
        .await
        .unwrap();
    assert!(repeat.repeated);
    assert_eq!(repeat.addresses, first.addresses);
    let second = add(&bench.ledger, allocate("c2", "10.0.0.0/24"))
        .await
        .unwrap();
    assert_eq!(ips(&second), ["10.0.0.2"]);
    let freed = del(&bench.ledger, release("c1")).await.unwrap();
    assert_eq!(freed.released.len(), 1);
    assert_eq!(freed.released[0].receipt.step, 1);
    let nothing = del(&bench.ledger, release("c1")).await.unwrap();
    assert!(nothing.released.is_empty());
    let other = open(&bench.database).await;
    let third = add(&other, allocate("c3", "10.0.0.0/24")).await.unwrap();
    assert_eq!(ips(&third), ["10.0.0.1"]);
    let fourth = add(&bench.ledger, allocate("c4", "10.0.0.0/24"))
        .await
        .unwrap();
    assert_eq!(ips(&fourth), ["10.0.0.3"]);
    other.close().await;
    bench.ledger.close().await;
}
