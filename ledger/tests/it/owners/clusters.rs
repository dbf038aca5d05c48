//! A cluster's name is bound to the UID of its kube-system namespace at first contact.

use ledger::command::{Allocate, BindCluster};
use ledger::{Answer, Command, Error, Ledger, Refusal};

use super::{ShapeAllocate as _, history, refusal, sandbox, spaces};
use crate::support::{Bench, WAIT, add, ips, open, provenance};

async fn bind(ledger: &Ledger, uid: &str) -> Result<String, Error> {
    let bind = BindCluster {
        cluster: "prod".to_owned(),
        uid: uid.to_owned(),
        provenance: provenance(),
    };
    let command = Command::BindCluster(Box::new(bind));
    match ledger.execute(command, WAIT).await? {
        Answer::ClusterBound(uid) => Ok(uid),
        other => panic!("not a binding: {other:?}"),
    }
}

/// An allocate by a caller that knows its cluster's UID.
fn from(container: &str, cluster_uid: &str) -> Allocate {
    let mut request = sandbox(container, container);
    request.cluster_uid = Some(cluster_uid.to_owned());
    request
}

/// `network_name: default` is a name like any other, and not the space of those without one.
#[tokio::test]
async fn network_named_default_is_not_the_unnamed_one() {
    let bench = Bench::new().await;
    let unnamed = add(&bench.ledger, sandbox("c1", "uid-1")).await.unwrap();
    let named = sandbox("c2", "uid-2").network_name("default");
    let named = add(&bench.ledger, named).await.unwrap();
    assert_eq!(spaces(&unnamed), ["prod"]);
    assert_eq!(spaces(&named), ["prod/default"]);
    assert_eq!(ips(&unnamed), ips(&named));
    bench.ledger.close().await;
}

fn assert_mismatch<T: std::fmt::Debug>(result: Result<T, Error>) {
    let refused = refusal(result);
    assert_eq!(refused.kind(), "cluster_mismatch");
    let Refusal::ClusterMismatch {
        cluster,
        bound,
        given,
    } = refused
    else {
        panic!("{refused:?}");
    };
    assert_eq!(
        [cluster.as_str(), bound.as_str(), given.as_str()],
        ["prod", "ours", "theirs"]
    );
}

#[tokio::test]
async fn cluster_bound_again_is_the_same_answer_and_another_uid_is_refused_everywhere() {
    let bench = Bench::new().await;
    let replica = open(&bench.database).await;
    assert_eq!(bind(&bench.ledger, "ours").await.unwrap(), "ours");
    for ledger in [&bench.ledger, &replica] {
        assert_mismatch(bind(ledger, "theirs").await);
        assert_mismatch(add(ledger, from("c1", "theirs")).await);
        assert_eq!(bind(ledger, "ours").await.unwrap(), "ours");
    }
    assert_eq!(
        history(&bench.ledger, "prod").await,
        ["1 cluster_bound first contact"]
    );
    let own = add(&replica, from("c1", "ours")).await.unwrap();
    assert_eq!(ips(&own), ["10.0.0.1"]);
    // A caller that does not know the UID says nothing against it.
    let silent = add(&bench.ledger, sandbox("c2", "uid-2")).await.unwrap();
    assert_eq!(ips(&silent), ["10.0.0.2"]);
    let reopened = open(&bench.database).await;
    assert_mismatch(bind(&reopened, "theirs").await);
    reopened.close().await;
    replica.close().await;
    bench.ledger.close().await;
}

#[tokio::test]
async fn cluster_is_bound_by_its_first_allocate() {
    let bench = Bench::new().await;
    add(&bench.ledger, from("c1", "ours").network_name("blue"))
        .await
        .unwrap();
    assert_eq!(
        history(&bench.ledger, "prod").await,
        ["1 cluster_bound first contact"]
    );
    add(&bench.ledger, from("c2", "ours")).await.unwrap();
    assert_mismatch(add(&bench.ledger, from("c3", "theirs")).await);
    // Not even a repeat of what the right cluster holds.
    assert_mismatch(add(&bench.ledger, from("c2", "theirs")).await);
    assert_eq!(
        history(&bench.ledger, "prod").await[1..],
        ["2 allocated 10.0.0.1 step 0 add"]
    );
    bench.ledger.close().await;
}

#[tokio::test]
async fn cluster_is_not_bound_by_a_request_that_is_refused() {
    let bench = Bench::new().await;
    let refused = from("c1", "theirs").ips(&["192.168.0.1"]);
    assert_eq!(
        refusal(add(&bench.ledger, refused).await).kind(),
        "address_outside_window"
    );
    assert_eq!(bind(&bench.ledger, "ours").await.unwrap(), "ours");
    bench.ledger.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cluster_bound_on_two_replicas_at_once_is_bound_to_one() {
    let bench = Bench::new().await;
    let replica = open(&bench.database).await;
    let (one, two) = tokio::join!(bind(&bench.ledger, "one"), bind(&replica, "two"));
    let bound = match (one, two) {
        (Ok(uid), Err(Error::Refused(Refusal::ClusterMismatch { bound, .. })))
        | (Err(Error::Refused(Refusal::ClusterMismatch { bound, .. })), Ok(uid)) => {
            assert_eq!(uid, bound);
            bound
        }
        other => panic!("{other:?}"),
    };
    for ledger in [&bench.ledger, &replica] {
        assert_eq!(bind(ledger, &bound).await.unwrap(), bound);
    }
    replica.close().await;
    bench.ledger.close().await;
}
