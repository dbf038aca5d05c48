//! A ledger and a namespace of its own for each test, one cluster for most of them.

mod incumbent;
mod ledger;
mod objects;
mod pods;
mod scene;
mod tools;

pub(crate) use incumbent::Incumbent;
pub(crate) use ledger::{Ledger, container_id};
pub(crate) use objects::{Objects, entries_of};
pub(crate) use pods::{run_pod, run_pod_with};
pub(crate) use scene::{Scene, World};
pub(crate) use tools::{program, shell};

use std::time::{Duration, Instant};

/// Longer than anything here takes.
const PATIENCE: Duration = Duration::from_secs(60);

/// Waits until the condition holds.
pub(crate) async fn until(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    let start = Instant::now();
    while !holds().await {
        assert!(start.elapsed() < PATIENCE, "waited in vain: {what}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
