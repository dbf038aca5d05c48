use super::{bind, of_cluster, set_gate};
use crate::support::{Bench, add, allocate, del, release};

const RANGE: &str = "10.0.0.0/24";

#[tokio::test]
async fn clusters_are_listed_by_name_with_their_holds() {
    let bench = Bench::new().await;
    let ledger = &bench.ledger;
    bind(ledger, "bound", "uid-1").await;
    add(ledger, allocate("c1", RANGE))
        .await
        .expect("an address");
    add(ledger, allocate("c2", RANGE))
        .await
        .expect("an address");
    del(ledger, release("c2")).await.expect("a release");
    add(ledger, of_cluster("Zoo", allocate("c3", RANGE)))
        .await
        .expect("an address");
    set_gate(ledger, "gone", true).await.expect("a gate");
    set_gate(ledger, "gone", false).await.expect("a gate");

    let all = ledger.clusters(None, 10).await.expect("clusters");
    let told: Vec<_> = all
        .iter()
        .map(|row| {
            let gate = row.gate.as_ref().map(|gate| (gate.closed, gate.seq));
            (
                row.name.as_str(),
                row.uid.as_deref(),
                row.bound_at.is_some(),
                gate,
                row.holds,
            )
        })
        .collect();
    let expected = [
        ("Zoo", None, false, None, 1),
        ("bound", Some("uid-1"), true, None, 0),
        ("gone", None, false, Some((false, 2)), 0),
        ("prod", None, false, None, 1),
    ];
    assert_eq!(told, expected);
    let page = ledger.clusters(Some("bound"), 1).await.expect("clusters");
    assert_eq!(page, all[2..3]);
    bench.ledger.close().await;
}
