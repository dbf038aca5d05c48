//! A ledger of its own for each test, one cluster for all of them.

mod ledger;
mod nodes;
mod pods;
mod program;
mod rights;
mod scene;
mod syncer;

pub(crate) use ledger::{Ledger, Want};
pub(crate) use nodes::TestNode;
pub(crate) use pods::Pods;
pub(crate) use program::run_program;
pub(crate) use rights::{Rights, manifest};
pub(crate) use scene::Scene;
pub(crate) use syncer::{Syncer, quick};

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
