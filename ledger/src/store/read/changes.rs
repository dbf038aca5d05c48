use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::future::Future;
use std::pin::pin;

use super::super::ledger::Ledger;
use super::super::watch::Heads;
use crate::error::Error;
use crate::event::encoding::fingerprint_of;

/// The heads of the spaces of a cluster, of one reading.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Changes {
    /// They are not those that were known.
    pub changed: bool,
    /// Epoch of the ledger.
    pub epoch: u32,
    /// Positions by name of the space; private spaces are among them.
    pub heads: BTreeMap<String, u64>,
    /// Stands for epoch and heads; see [`Ledger::changes`].
    pub fingerprint: u64,
}

impl Ledger {
    /// The heads of the spaces that a cluster is a member of, as soon as their fingerprint is not
    /// the `known` one, else at `end`.
    ///
    /// # Errors
    /// [`Error::Unavailable`] without a database.
    pub async fn changes(
        &self,
        cluster: &str,
        known: Option<u64>,
        end: impl Future<Output = ()>,
    ) -> Result<Changes, Error> {
        let mut end = pin!(end);
        let mut waiter = self.watch.now().await?;
        loop {
            let mut changes = of_cluster(&waiter.heads, cluster);
            changes.changed = known != Some(changes.fingerprint);
            if changes.changed {
                return Ok(changes);
            }
            tokio::select! {
                () = &mut end => return Ok(changes),
                () = waiter.changed() => {}
            }
        }
    }
}

fn of_cluster(all: &Heads, cluster: &str) -> Changes {
    let own = all.spaces.iter().filter(|(_, head)| {
        let mut clusters = head.clusters.iter();
        clusters.any(|member| member == cluster)
    });
    let heads: BTreeMap<String, u64> = own.map(|(name, head)| (name.clone(), head.seq)).collect();
    let mut text = all.epoch.to_string();
    for (name, seq) in &heads {
        // Names of spaces have no control characters.
        let _ = write!(text, "\n{name}\n{seq}");
    }
    Changes {
        changed: false,
        epoch: all.epoch,
        heads,
        fingerprint: fingerprint_of(&[&text]),
    }
}
