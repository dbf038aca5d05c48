//! Several replicas on one database.

use std::time::Duration;

use ledger::Ledger;
use prometheus_client::encoding::text::encode;
use prometheus_client::registry::Registry;

use super::load::{Load, compare};
use crate::guard::sql::superuser;
use crate::support::{Bench, open};

/// A counter of the lane.
pub(crate) fn counter(ledger: &Ledger, name: &str) -> u64 {
    let mut registry = Registry::default();
    ledger.register_metrics(&mut registry);
    let mut encoded = String::new();
    encode(&mut encoded, &registry).expect("metrics");
    let line = encoded
        .lines()
        .find_map(|line| line.strip_prefix(&format!("ipledger_lane_{name}_total ")))
        .unwrap_or_else(|| panic!("no counter {name} in {encoded}"));
    line.parse().expect("a number")
}

/// Twice sixteen tasks over four spaces: no error, no duplicate, and batches that another replica
/// overtook are decided again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_replicas_side_by_side_neither_fail_nor_contradict_each_other() {
    let bench = Bench::new().await;
    let replicas = [bench.ledger.clone(), open(&bench.database).await];
    let load = Load::start(&replicas, 4, Duration::from_secs(20));
    load.serve_more(4_000).await;
    let told = load.stop().await;
    let moved: u64 = replicas
        .iter()
        .map(|replica| counter(replica, "moved"))
        .sum();
    let compared = compare(&superuser(&bench.database).await, &told).await;
    println!("{compared:?}, {moved} batches decided again");
    assert!(compared.confirmed >= 4_000, "{compared:?}");
    assert_eq!(
        (compared.unknown, compared.told_unchanged),
        (0, 0),
        "{compared:?}"
    );
    assert!(moved > 0, "the replicas came into each other's way");
    for replica in &replicas {
        assert_eq!(
            counter(replica, "retried_singly"),
            0,
            "no deadlock, no refusal"
        );
    }
    for replica in replicas {
        replica.close().await;
    }
}
