//! What is done to a cluster as a whole: its gate, and the end of what a removed one holds.

mod gate;
mod gate_racing;
mod list;
mod release;

use ledger::answer::GateSet;
use ledger::command::{Allocate, BindCluster, SetGate};
use ledger::{Command, Error, Ledger};

use crate::support::{WAIT, provenance};

async fn set_gate(ledger: &Ledger, cluster: &str, closed: bool) -> Result<GateSet, Error> {
    let set = SetGate {
        cluster: cluster.to_owned(),
        cluster_uid: None,
        closed,
        reason: if closed {
            "cut-over begins"
        } else {
            "every node reports the plugin"
        }
        .to_owned(),
        spaces: Vec::new(),
        read_at: 0,
        provenance: provenance(),
    };
    ledger.set_gate(set, WAIT).await
}

async fn bind(ledger: &Ledger, cluster: &str, uid: &str) {
    let bind = BindCluster {
        cluster: cluster.to_owned(),
        uid: uid.to_owned(),
        provenance: provenance(),
    };
    let bind = Command::BindCluster(Box::new(bind));
    ledger.execute(bind, WAIT).await.expect("a binding");
}

fn of_cluster(cluster: &str, mut request: Allocate) -> Allocate {
    cluster.clone_into(&mut request.attachment.cluster);
    cluster.clone_into(&mut request.space.cluster);
    request
}

fn on_network(network_name: &str, mut request: Allocate) -> Allocate {
    network_name.clone_into(&mut request.space.network_name);
    request
}

fn private(mut request: Allocate) -> Allocate {
    request.space.overlapping = false;
    request
}

fn kind<T: std::fmt::Debug>(result: Result<T, Error>) -> &'static str {
    match result {
        Ok(answer) => panic!("not refused: {answer:?}"),
        Err(error) => error.kind(),
    }
}
