use ledger::command::{DeclareSpace, Import};
use ledger::{Command, EventQuery, Ledger, Refusal};

use super::{bind, kind, of_cluster, on_network, private, set_gate};
use crate::support::{Bench, WAIT, add, allocate, del, ip, ips, open, provenance, release};

const RANGE: &str = "10.0.0.0/24";

/// Kind, reason and evidence of the events of a space that are about no address.
async fn facts(ledger: &Ledger, space: &str) -> Vec<String> {
    let query = EventQuery {
        space: space.to_owned(),
        address: None,
        after_seq: 0,
        limit: 1000,
    };
    let events = ledger.events(&query).await.expect("events");
    let facts = events.iter().filter(|event| event.ip.is_none());
    facts
        .map(|event| format!("{} {} {}", event.seq, event.kind, event.payload["evidence"]))
        .collect()
}

fn declare(name: &str, members: &[(&str, &str)]) -> Command {
    let member = |&(cluster, name): &(&str, &str)| (cluster.to_owned(), name.to_owned());
    Command::DeclareSpace(Box::new(DeclareSpace {
        name: name.to_owned(),
        members: members.iter().map(member).collect(),
        provenance: provenance(),
    }))
}

#[tokio::test]
async fn a_closed_gate_refuses_every_new_allocate_and_nothing_else() {
    let bench = Bench::new().await;
    let ledger = &bench.ledger;
    let held = add(ledger, allocate("c1", RANGE))
        .await
        .expect("an address");
    let closed = set_gate(ledger, "prod", true).await.expect("a gate");
    assert!(!closed.repeated);
    let gate = closed.gate.expect("a gate");
    assert_eq!((gate.closed, gate.seq), (true, 2));

    let requests = [
        allocate("c2", RANGE),
        on_network("blue", allocate("c2", RANGE)),
        private(allocate("c2", "10.9.0.0/24")),
    ];
    for mut request in requests {
        let refused = add(ledger, request.clone()).await.expect_err("a refusal");
        assert_eq!(
            refused.to_string(),
            format!(
                "cluster \"prod\" gets no address since {}: cut-over begins",
                gate.since
            )
        );
        request.dry_run = true;
        assert_eq!(kind(add(ledger, request).await), "gated");
    }
    // The sandbox that has its address is told so again.
    let again = add(ledger, allocate("c1", RANGE)).await.expect("the same");
    assert_eq!((again.repeated, ips(&again)), (true, ips(&held)));
    add(ledger, of_cluster("test", allocate("c1", RANGE)))
        .await
        .expect("another cluster's");
    let import = Import {
        space: allocate("x", RANGE).space,
        cluster_uid: None,
        pool: RANGE.parse().expect("a CIDR"),
        ip: ip("10.0.0.9"),
        container_id: "old".to_owned(),
        ifname: None,
        owner: None,
        evidence: serde_json::Map::new(),
        ended_before: None,
        provenance: provenance(),
    };
    ledger.import(import, WAIT).await.expect("an import");
    assert_eq!(
        del(ledger, release("c1"))
            .await
            .expect("a release")
            .released
            .len(),
        1
    );

    let opened = set_gate(ledger, "prod", false).await.expect("a gate");
    assert!(!opened.repeated && !opened.gate.expect("a gate").closed);
    add(ledger, allocate("c2", RANGE))
        .await
        .expect("an address");
    bench.ledger.close().await;
}

#[tokio::test]
async fn a_gate_is_recorded_in_every_space_that_the_cluster_could_use() {
    let bench = Bench::new().await;
    let ledger = &bench.ledger;
    add(ledger, allocate("c1", RANGE))
        .await
        .expect("an address");
    add(ledger, on_network("blue", private(allocate("c2", RANGE))))
        .await
        .expect("an address");
    add(ledger, of_cluster("test", allocate("c3", RANGE)))
        .await
        .expect("an address");
    let shared = declare("shared:vlan7", &[("test", "vlan7")]);
    ledger.execute(shared, WAIT).await.expect("a space");
    set_gate(ledger, "prod", true).await.expect("a gate");

    let first = "2 gate_closed {\"cluster\":\"prod\"}";
    let told = "gate_closed {\"cluster\":\"prod\",\"gate_seq\":2}";
    assert_eq!(facts(ledger, "prod").await, [first]);
    assert_eq!(facts(ledger, "prod/blue").await, [format!("1 {told}")]);
    assert_eq!(
        facts(ledger, "prod/blue#10.0.0.0/24").await,
        [format!("2 {told}")]
    );
    // It could become a member of any shared space.
    assert_eq!(
        facts(ledger, "shared:vlan7").await.last(),
        Some(&format!("2 {told}"))
    );
    assert_eq!(facts(ledger, "test").await, [""; 0]);
    bench.ledger.close().await;
}

#[tokio::test]
async fn the_same_again_changes_nothing_and_keeps_the_first_reason() {
    let bench = Bench::new().await;
    let ledger = &bench.ledger;
    let open_already = set_gate(ledger, "prod", false).await.expect("an answer");
    assert_eq!((open_already.gate, open_already.repeated), (None, true));
    let first = set_gate(ledger, "prod", true).await.expect("a gate");
    let again = set_gate(ledger, "prod", true).await.expect("a gate");
    assert!(again.repeated);
    assert_eq!(again.gate, first.gate);
    assert_eq!(facts(ledger, "prod").await.len(), 1);
    bench.ledger.close().await;
}

#[tokio::test]
async fn every_replica_and_one_that_starts_later_keep_to_it() {
    let bench = Bench::new().await;
    let other = open(&bench.database).await;
    add(&other, on_network("blue", allocate("c1", RANGE)))
        .await
        .expect("an address");
    let closed = set_gate(&bench.ledger, "prod", true).await.expect("a gate");
    // In a space that it knows, in one that it opens now, and in a part of one.
    for request in [
        on_network("blue", allocate("c2", RANGE)),
        on_network("red", allocate("c2", RANGE)),
        on_network("blue", private(allocate("c2", "10.9.0.0/24"))),
    ] {
        assert_eq!(kind(add(&other, request).await), "gated");
    }
    let later = open(&bench.database).await;
    let Err(ledger::Error::Refused(Refusal::Gated { since, reason, .. })) =
        add(&later, allocate("c2", RANGE)).await
    else {
        panic!("not gated");
    };
    assert_eq!(
        (Some(since), reason.as_str()),
        (closed.gate.map(|g| g.since), "cut-over begins")
    );
    set_gate(&later, "prod", false).await.expect("a gate");
    // A refusal by what memory says is not given before the database was asked.
    for ledger in [&bench.ledger, &other] {
        let container = if std::ptr::eq(ledger, &other) {
            "c3"
        } else {
            "c4"
        };
        add(ledger, allocate(container, RANGE))
            .await
            .expect("an address");
    }
    for ledger in [bench.ledger, other, later] {
        ledger.close().await;
    }
}

/// A replica that does not know of the gate makes the cluster a member of another space, and
/// allocates there in the same breath.
#[tokio::test]
async fn a_cluster_that_joins_a_shared_space_takes_its_gate_along() {
    let bench = Bench::new().await;
    let other = open(&bench.database).await;
    let shared = declare("shared:vlan7", &[("test", "")]);
    other.execute(shared, WAIT).await.expect("a space");
    add(&other, of_cluster("test", allocate("c1", RANGE)))
        .await
        .expect("an address");
    set_gate(&bench.ledger, "prod", true).await.expect("a gate");
    let join = other.execute(declare("shared:vlan7", &[("prod", "vlan7")]), WAIT);
    let allocate = add(&other, on_network("vlan7", allocate("c2", RANGE)));
    let (joined, allocated) = tokio::join!(join, allocate);
    joined.expect("a member");
    assert_eq!(kind(allocated), "gated");
    bench.ledger.close().await;
    other.close().await;
}

/// The unnamed network of a cluster may resolve to a space that it shares.
#[tokio::test]
async fn two_clusters_that_share_their_default_space_have_a_gate_each() {
    let bench = Bench::new().await;
    let ledger = &bench.ledger;
    let shared = declare("shared:vlan7", &[("prod", ""), ("test", "")]);
    ledger.execute(shared, WAIT).await.expect("a space");
    set_gate(ledger, "prod", true).await.expect("a gate");
    assert_eq!(kind(add(ledger, allocate("c1", RANGE)).await), "gated");
    add(ledger, of_cluster("test", allocate("c1", RANGE)))
        .await
        .expect("an address");
    set_gate(ledger, "test", true).await.expect("a gate");
    set_gate(ledger, "prod", false).await.expect("a gate");
    add(ledger, allocate("c1", RANGE))
        .await
        .expect("an address");
    let refused = add(ledger, of_cluster("test", allocate("c2", RANGE))).await;
    assert_eq!(kind(refused), "gated");
    let listed = ledger.clusters(None, 10).await.expect("clusters");
    let gates = listed.iter().map(|cluster| {
        let closed = cluster.gate.as_ref().map(|gate| gate.closed);
        (cluster.name.as_str(), closed)
    });
    let expected = [("prod", Some(false)), ("test", Some(true))];
    assert_eq!(gates.collect::<Vec<_>>(), expected);
    bench.ledger.close().await;
}

#[tokio::test]
async fn a_gate_is_not_set_by_whoever_means_another_cluster() {
    let bench = Bench::new().await;
    bind(&bench.ledger, "prod", "uid-a").await;
    let set = ledger::command::SetGate {
        cluster: "prod".to_owned(),
        cluster_uid: Some("uid-b".to_owned()),
        closed: true,
        reason: "cut-over".to_owned(),
        spaces: Vec::new(),
        read_at: 0,
        provenance: provenance(),
    };
    assert_eq!(
        kind(bench.ledger.set_gate(set.clone(), WAIT).await),
        "cluster_mismatch"
    );
    let own = ledger::command::SetGate {
        cluster_uid: Some("uid-a".to_owned()),
        ..set
    };
    bench.ledger.set_gate(own, WAIT).await.expect("a gate");
    bench.ledger.close().await;
}
