//! The holds of the cluster as the ledger shows them, kept up to date by its events.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;

use ipledger_client::asynchronous::{Client, EventFilter, HoldFilter};
use ipledger_client::types::{self, Event, SpaceHead};
use ipledger_client::{Budget, ClientError};
use jiff::Timestamp;
use serde::Deserialize;

use crate::clock::SharedClock;
use crate::diff::{Hold, HoldKey, Owner, PodName};
use crate::obstacle::Obstacle;

/// How long a full reading may take: 100,000 holds are twenty pages.
const PATIENCE: Duration = Duration::from_secs(60);
/// From this many new events on, the holds are read anew.
const MANY_EVENTS: u64 = 5_000;

/// The holds of one cluster.
pub struct Holds {
    cluster: String,
    clock: SharedClock,
    held: BTreeMap<HoldKey, Hold>,
    /// What the ledger's heads were when `held` was right; `None` before the first reading.
    position: Option<Position>,
}

struct Position {
    since: String,
    /// Position and epoch of each space.
    heads: BTreeMap<String, (u64, u32)>,
}

impl Holds {
    /// Nothing is known yet.
    #[must_use]
    pub fn new(cluster: &str, clock: SharedClock) -> Self {
        Self {
            cluster: cluster.to_owned(),
            clock,
            held: BTreeMap::new(),
            position: None,
        }
    }

    /// All of them, as of the last refresh.
    #[must_use]
    pub fn all(&self) -> &BTreeMap<HoldKey, Hold> {
        &self.held
    }

    /// Brings them up to date: nothing is read if nothing happened, the new events if there are
    /// few, and else everything.
    ///
    /// # Errors
    /// The ledger cannot be read. What was known before is kept, and is older than it should be.
    pub async fn refresh(&mut self, ledger: &Client) -> Result<(), Obstacle> {
        let since = self
            .position
            .as_ref()
            .map(|position| position.since.as_str());
        let changes = ledger.changes(&self.cluster, since, Duration::ZERO).await?;
        if since.is_some() && !changes.changed {
            return Ok(());
        }
        let heads = heads(&changes.heads);
        let followed = match self.steps_to(&heads) {
            Some(steps) => self.follow(ledger, &steps, &heads).await?,
            None => false,
        };
        if !followed {
            // A reading that is later than these heads does no harm: its events are met again.
            self.read_all(ledger, &heads).await?;
        }
        self.position = Some(Position {
            since: changes.next,
            heads,
        });
        Ok(())
    }

    /// From where to follow which spaces; `None` if that is not possible or too far.
    fn steps_to(&self, heads: &BTreeMap<String, (u64, u32)>) -> Option<Vec<(String, u64)>> {
        let known = &self.position.as_ref()?.heads;
        let mut steps = Vec::new();
        let mut events = 0;
        for (space, (seq, epoch)) in heads {
            let (from, known_epoch) = known.get(space).copied().unwrap_or((0, *epoch));
            // History may have been shortened, or the space is another one.
            (known_epoch == *epoch && from <= *seq).then_some(())?;
            events += seq - from;
            if from < *seq {
                steps.push((space.clone(), from));
            }
        }
        let none_left = known.keys().all(|space| heads.contains_key(space));
        (none_left && events <= MANY_EVENTS).then_some(steps)
    }

    /// `false` if the events are not what they must be.
    async fn follow(
        &mut self,
        ledger: &Client,
        steps: &[(String, u64)],
        heads: &BTreeMap<String, (u64, u32)>,
    ) -> Result<bool, ClientError> {
        let budget = Budget::within(PATIENCE);
        for (space, after) in steps {
            let filter = EventFilter {
                space: space.clone(),
                after: *after,
                address: None,
            };
            let events = ledger.events(&filter, budget).await?;
            let seen_at = self.clock.now();
            let reached = events.last().map(|event| event.seq);
            if reached < heads.get(space).map(|head| head.0) {
                return Ok(false);
            }
            for event in events {
                if self.apply(event, seen_at).is_none() {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    /// `None` if the event cannot be understood. One that was met before changes nothing.
    fn apply(&mut self, event: Event, seen_at: Timestamp) -> Option<()> {
        let (Some(address), Some(step)) = (event.address, event.step) else {
            return Some(());
        };
        let key = HoldKey {
            space: event.space,
            address: address.parse().ok()?,
            step,
        };
        match event.kind.as_str() {
            "released" => {
                let step = step.checked_sub(1)?;
                self.held.remove(&HoldKey { step, ..key });
            }
            "allocated" => {
                let allocated: Allocated = serde_json::from_value(event.payload).ok()?;
                if allocated.attachment.cluster == self.cluster {
                    let owner = allocated.owner.map(owner);
                    let allocated_at = event.recorded_at.parse().ok()?;
                    self.insert(key, owner, allocated_at, seen_at);
                }
            }
            _ => return None,
        }
        Some(())
    }

    async fn read_all(
        &mut self,
        ledger: &Client,
        heads: &BTreeMap<String, (u64, u32)>,
    ) -> Result<(), Obstacle> {
        let filter = HoldFilter {
            cluster: Some(self.cluster.clone()),
            ..HoldFilter::default()
        };
        let mut read: BTreeMap<HoldKey, (Option<Owner>, Timestamp)> = BTreeMap::new();
        let mut wrong = None;
        let take = |hold: types::Hold| {
            let named = format!("{} {} step {}", hold.space, hold.address, hold.step);
            let is_new = parts(hold).map(|(key, rest)| read.insert(key, rest).is_none());
            if is_new != Some(true) {
                wrong = Some(named);
            }
        };
        let budget = Budget::within(PATIENCE);
        let as_of = ledger.each_hold(&filter, budget, take).await?;
        if let Some((space, _)) = heads
            .iter()
            .find(|(space, (seq, _))| as_of.get(*space).is_some_and(|shown| shown < seq))
        {
            let text = format!("space {space} at an older position than before");
            return Err(Obstacle::LedgerUnreadable(text));
        }
        if let Some(named) = wrong {
            let text = format!("the hold {named} twice, or without what a hold has");
            return Err(Obstacle::LedgerUnreadable(text));
        }
        let seen_at = self.clock.now();
        let before = std::mem::take(&mut self.held);
        for (key, (owner, allocated_at)) in read {
            let known = before.get(&key).map_or(seen_at, |hold| hold.seen_at);
            self.insert(key, owner, allocated_at, known);
        }
        Ok(())
    }

    /// A hold that is known stays as it is, with the moment at which it was seen first.
    fn insert(
        &mut self,
        key: HoldKey,
        owner: Option<Owner>,
        allocated_at: Timestamp,
        seen_at: Timestamp,
    ) {
        let cluster = &self.cluster;
        self.held.entry(key).or_insert_with_key(|key| Hold {
            key: key.clone(),
            cluster: cluster.clone(),
            owner,
            allocated_at,
            seen_at,
        });
    }
}

fn heads(heads: &[SpaceHead]) -> BTreeMap<String, (u64, u32)> {
    let positions = heads
        .iter()
        .map(|head| (head.space.clone(), (head.seq, head.epoch)));
    positions.collect()
}

/// What matters of an allocated event's payload.
#[derive(Deserialize)]
struct Allocated {
    attachment: types::Attachment,
    owner: Option<types::Owner>,
}

fn owner(owner: types::Owner) -> Owner {
    Owner {
        pod: PodName {
            namespace: owner.namespace,
            name: owner.name,
        },
        uid: owner.uid,
        node: owner.node,
    }
}

fn parts(hold: types::Hold) -> Option<(HoldKey, (Option<Owner>, Timestamp))> {
    let address: IpAddr = hold.address.parse().ok()?;
    let key = HoldKey {
        space: hold.space,
        address,
        step: hold.step,
    };
    let allocated_at = hold.recorded_at.parse().ok()?;
    Some((key, (hold.owner.map(owner), allocated_at)))
}

#[cfg(test)]
#[path = "holds/tests.rs"]
mod tests;
