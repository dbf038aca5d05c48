//! A space that an operator declared shared.

use ledger::command::DeclareSpace;
use ledger::{Answer, Command, Error, Ledger, Refusal};

use super::{ShapeAllocate as _, del_for, held, history, refusal, sandbox, spaces};
use crate::support::{Bench, WAIT, add, del, ips, open, provenance};

const VLAN: &str = "shared:vlan-7";

async fn declare(ledger: &Ledger, name: &str, members: &[(&str, &str)]) -> Result<String, Error> {
    let declaration = DeclareSpace {
        name: name.to_owned(),
        members: members
            .iter()
            .map(|(cluster, network_name)| ((*cluster).to_owned(), (*network_name).to_owned()))
            .collect(),
        provenance: provenance(),
    };
    let command = Command::DeclareSpace(Box::new(declaration));
    match ledger.execute(command, WAIT).await? {
        Answer::SpaceDeclared(name) => Ok(name),
        other => panic!("not a declaration: {other:?}"),
    }
}

#[tokio::test]
async fn shared_space_is_unique_across_its_clusters() {
    let bench = Bench::new().await;
    let replica = open(&bench.database).await;
    let members = [("prod", ""), ("stage", "vlan-7")];
    let declared = declare(&bench.ledger, VLAN, &members).await.unwrap();
    assert_eq!(declared, VLAN);
    let here = sandbox("c1", "uid-1");
    let there = sandbox("c1", "uid-1")
        .cluster("stage")
        .network_name("vlan-7");
    let first = add(&bench.ledger, here.clone()).await.unwrap();
    assert_eq!(
        (spaces(&first), ips(&first)),
        (vec![VLAN], vec!["10.0.0.1".to_owned()])
    );
    // Same sandbox and UID, but of another cluster: another attachment of another owner.
    let second = add(&replica, there.clone()).await.unwrap();
    assert_eq!(
        (spaces(&second), ips(&second)),
        (vec![VLAN], vec!["10.0.0.2".to_owned()])
    );
    let fixed = sandbox("c2", "uid-2").cluster("stage");
    let fixed = fixed.network_name("vlan-7").ips(&["10.0.0.1"]);
    let taken = refusal(add(&replica, fixed).await);
    let hold = replica.describe(taken.hold().expect("a hold"), WAIT).await;
    assert_eq!(hold.unwrap().unwrap().attachment.cluster, "prod");
    del(&replica, del_for(&there)).await.unwrap();
    assert_eq!(held(&replica, &here.attachment).await, ["10.0.0.1"]);
    // Another network name of a member is not in it.
    let alone = sandbox("c3", "uid-3").cluster("stage");
    assert_eq!(spaces(&add(&replica, alone).await.unwrap()), ["stage"]);
    replica.close().await;
    bench.ledger.close().await;
}

#[tokio::test]
async fn shared_space_declared_again_appends_nothing_and_takes_further_members() {
    let bench = Bench::new().await;
    declare(&bench.ledger, VLAN, &[("prod", ""), ("stage", "")])
        .await
        .unwrap();
    let before = history(&bench.ledger, VLAN).await;
    assert_eq!(before, ["1 space_declared declared shared"]);
    declare(&bench.ledger, VLAN, &[("stage", "")])
        .await
        .unwrap();
    assert_eq!(history(&bench.ledger, VLAN).await, before);
    declare(&bench.ledger, VLAN, &[("lab", "")]).await.unwrap();
    assert_eq!(history(&bench.ledger, VLAN).await.len(), 2);
    let lab = sandbox("c1", "uid-1").cluster("lab");
    assert_eq!(spaces(&add(&bench.ledger, lab).await.unwrap()), [VLAN]);
    bench.ledger.close().await;
}

#[tokio::test]
async fn shared_space_refuses_a_member_that_has_a_space_of_its_own() {
    let bench = Bench::new().await;
    let replica = open(&bench.database).await;
    add(&bench.ledger, sandbox("c1", "uid-1")).await.unwrap();
    for ledger in [&bench.ledger, &replica] {
        let refused = refusal(declare(ledger, VLAN, &[("stage", ""), ("prod", "")]).await);
        assert_eq!(refused.kind(), "space_conflict");
        let Refusal::MemberTaken { cluster, space, .. } = refused else {
            panic!("{refused:?}");
        };
        assert_eq!((cluster.as_str(), space.as_str()), ("prod", "prod"));
    }
    // All or none: the other one did not join.
    let stage = sandbox("c2", "uid-2").cluster("stage");
    assert_eq!(spaces(&add(&replica, stage).await.unwrap()), ["stage"]);
    assert!(history(&replica, VLAN).await.is_empty());
    replica.close().await;
    bench.ledger.close().await;
}

#[tokio::test]
async fn shared_space_refuses_a_member_of_another_shared_space_and_a_plain_name() {
    let bench = Bench::new().await;
    declare(&bench.ledger, VLAN, &[("prod", "")]).await.unwrap();
    let other = refusal(declare(&bench.ledger, "shared:vlan-8", &[("prod", "")]).await);
    assert_eq!(other.kind(), "space_conflict");
    let plain = refusal(declare(&bench.ledger, "vlan-9", &[("lab", "")]).await);
    assert_eq!(plain.kind(), "invalid_request");
    assert!(plain.to_string().contains("\"vlan-9\""), "{plain}");
    bench.ledger.close().await;
}

#[tokio::test]
async fn shared_space_has_one_private_space_per_range_for_all_its_clusters() {
    let bench = Bench::new().await;
    declare(&bench.ledger, VLAN, &[("prod", ""), ("stage", "")])
        .await
        .unwrap();
    let here = add(&bench.ledger, sandbox("c1", "uid-1").private()).await;
    let there = sandbox("c2", "uid-2").cluster("stage").private();
    let (here, there) = (here.unwrap(), add(&bench.ledger, there).await.unwrap());
    assert_eq!(spaces(&here), ["shared:vlan-7#10.0.0.0/24"]);
    assert_eq!(spaces(&there), spaces(&here));
    assert_eq!(ips(&there), ["10.0.0.2"]);
    bench.ledger.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn shared_space_declared_while_its_member_begins_is_either_before_or_refused() {
    let bench = Bench::new().await;
    let replica = open(&bench.database).await;
    for number in 0..40 {
        let (cluster, name) = (format!("cluster-{number}"), format!("shared:vlan-{number}"));
        let members = [(cluster.as_str(), "")];
        let begins = sandbox(&format!("c-{number}"), "uid-1").cluster(&cluster);
        let (declared, begun) = tokio::join!(
            declare(&bench.ledger, &name, &members),
            add(&replica, begins)
        );
        let begun = begun.expect("an address");
        match declared {
            Ok(name) => assert_eq!(spaces(&begun), [name]),
            refused => {
                assert_eq!(refusal(refused).kind(), "space_conflict");
                assert_eq!(spaces(&begun), [cluster]);
            }
        }
    }
    replica.close().await;
    bench.ledger.close().await;
}
