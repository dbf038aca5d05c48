//! A reading that is kept up to date by the ledger's events.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;

use ipledger_client::asynchronous::{Client, EventFilter, HoldFilter};
use ipledger_client::types::{Attachment, Event, Owner, SpaceHead};
use ipledger_client::{Budget, ClientError};
use ipnet::IpNet;
use serde::Deserialize;

use super::reading::{HeldAddress, Reading, ReadingError};
use crate::clock::SharedClock;

/// How long a full reading may take: 100,000 holds are twenty pages.
const PATIENCE: Duration = Duration::from_secs(60);
/// From this many new events on, the holds are read anew.
const MANY_EVENTS: u64 = 5_000;

/// Why the ledger could not be read.
#[derive(Debug, thiserror::Error)]
pub enum FollowError {
    /// It cannot be asked, or refuses.
    #[error(transparent)]
    Client(#[from] ClientError),
    /// Its answers do not fit together.
    #[error(transparent)]
    Reading(#[from] ReadingError),
}

impl FollowError {
    /// A fixed word for metrics and logs.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            FollowError::Client(_) => "ledger_unavailable",
            FollowError::Reading(error) => error.kind(),
        }
    }
}

/// Follows the holds of one cluster.
pub struct Follower {
    cluster: String,
    clock: SharedClock,
    reading: Option<Reading>,
}

/// What matters of an allocated event's payload.
#[derive(Deserialize)]
struct Allocated {
    attachment: Attachment,
    owner: Option<Owner>,
    decision: Decision,
}

#[derive(Deserialize)]
struct Decision {
    window: Window,
}

#[derive(Deserialize)]
struct Window {
    cidr: IpNet,
}

impl Follower {
    /// Nothing is read yet.
    #[must_use]
    pub fn new(cluster: &str, clock: SharedClock) -> Follower {
        Follower {
            cluster: cluster.to_owned(),
            clock,
            reading: None,
        }
    }

    /// The reading, once there is one.
    #[must_use]
    pub fn reading(&self) -> Option<&Reading> {
        self.reading.as_ref()
    }

    /// Brings the reading to these heads, or later: by the new events of each space if they are
    /// few, else by reading everything anew.
    ///
    /// # Errors
    /// See [`FollowError`]. The reading stays as it was: older, but of one position per space.
    pub async fn catch_up(
        &mut self,
        ledger: &Client,
        heads: &[SpaceHead],
    ) -> Result<(), FollowError> {
        if let Some(reading) = &self.reading
            && let Some(steps) = steps(reading, heads)
            && let Some(reading) = self.follow(ledger, reading.clone(), &steps).await?
        {
            self.reading = Some(reading);
            return Ok(());
        }
        self.reading = Some(self.read_all(ledger, heads).await?);
        Ok(())
    }

    async fn read_all(&self, ledger: &Client, heads: &[SpaceHead]) -> Result<Reading, FollowError> {
        let read_at = self.clock.now();
        let budget = Budget::within(PATIENCE);
        let spaces = ledger.spaces(budget).await?;
        let filter = HoldFilter {
            cluster: Some(self.cluster.clone()),
            ..HoldFilter::default()
        };
        let read = ledger.holds(&filter, budget).await?;
        let mut reading =
            Reading::assemble(&self.cluster, &spaces, &read.as_of, read.holds, read_at)?;
        reading.epoch = heads.iter().map(|head| head.epoch).max();
        Ok(reading)
    }

    /// Nothing if the events are not what they must be, or say more than who holds what.
    async fn follow(
        &self,
        ledger: &Client,
        mut reading: Reading,
        steps: &[(String, u64)],
    ) -> Result<Option<Reading>, ClientError> {
        let budget = Budget::within(PATIENCE);
        let read_at = self.clock.now();
        for (space, after) in steps {
            let filter = EventFilter {
                space: space.clone(),
                after: *after,
                address: None,
            };
            for event in ledger.events(&filter, budget).await? {
                if apply(&mut reading, &self.cluster, &event).is_none() {
                    return Ok(None);
                }
            }
        }
        reading.read_at = read_at;
        Ok(Some(reading))
    }
}

/// From where to follow which spaces. Nothing if that is not possible: a space is new, history is
/// another one, or the way is long.
fn steps(reading: &Reading, heads: &[SpaceHead]) -> Option<Vec<(String, u64)>> {
    let mut steps = Vec::new();
    let mut events = 0;
    for head in heads {
        let known = reading.spaces.get(&head.space)?;
        (reading.epoch == Some(head.epoch) && known.seq <= head.seq).then_some(())?;
        if known.seq < head.seq {
            events += head.seq - known.seq;
            steps.push((head.space.clone(), known.seq));
        }
    }
    (events <= MANY_EVENTS).then_some(steps)
}

/// One event further. Nothing if it is not the next one of its space, cannot be understood, or is
/// about something else than an address: spaces may have changed then.
fn apply(reading: &mut Reading, cluster: &str, event: &Event) -> Option<()> {
    let space = reading.spaces.get_mut(&event.space)?;
    (event.seq == space.seq + 1 && reading.epoch == Some(event.epoch)).then_some(())?;
    let address: IpAddr = event.address.as_ref()?.parse().ok()?;
    match event.kind.as_str() {
        "released" => {
            space.holds.remove(&address);
        }
        "allocated" => {
            let allocated: Allocated = Allocated::deserialize(&event.payload).ok()?;
            space.holds.remove(&address);
            if allocated.attachment.cluster == cluster {
                let held = held(allocated, event.seq, event.step?);
                held.pool.contains(&address).then_some(())?;
                space.holds.insert(address, held);
            }
        }
        _ => return None,
    }
    space.seq = event.seq;
    Some(())
}

fn held(allocated: Allocated, seq: u64, step: u32) -> HeldAddress {
    let podref = allocated
        .owner
        .map(|owner| format!("{}/{}", owner.namespace, owner.name));
    HeldAddress {
        pool: allocated.decision.window.cidr,
        step,
        seq,
        container_id: allocated.attachment.container_id,
        podref: podref.unwrap_or_default(),
        ifname: allocated.attachment.ifname,
    }
}

/// Positions that the reading is behind the heads, and spaces that it does not know.
#[must_use]
pub fn positions_behind(reading: Option<&Reading>, heads: &[SpaceHead]) -> u64 {
    let known: BTreeMap<&str, u64> = reading
        .into_iter()
        .flat_map(|reading| &reading.spaces)
        .map(|(name, space)| (name.as_str(), space.seq))
        .collect();
    let behind = |head: &SpaceHead| {
        let known = known.get(head.space.as_str()).copied().unwrap_or(0);
        head.seq.saturating_sub(known)
    };
    heads.iter().map(behind).sum()
}

#[cfg(test)]
#[path = "follow/tests.rs"]
mod tests;
