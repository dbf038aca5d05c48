//! Following the streams: what is new behind a vector of positions, without a gap and without a
//! repeat.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::pin;

use super::ledger::Ledger;
use super::read::{Event, EventQuery};
use super::watch::Heads;
use crate::error::Error;
use crate::refusal::Refusal;

/// Which streams, and from where on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FollowQuery {
    /// Only this space.
    pub space: Option<String>,
    /// Only spaces that this cluster is a member of.
    pub cluster: Option<String>,
    /// Position of each space up to which everything is known; without it, the present heads. A
    /// space that is not among them was opened later and is read from its beginning.
    pub positions: Option<BTreeMap<String, u64>>,
    /// How many events at most in one answer.
    pub limit: u32,
}

/// What is new.
#[derive(Debug, Clone, PartialEq)]
pub struct Followed {
    /// In order of position within each space.
    pub events: Vec<Event>,
    /// What to go on from, before any of these events.
    pub positions: BTreeMap<String, u64>,
    /// Epoch of the ledger. Positions of another one say nothing.
    pub epoch: u32,
}

impl Ledger {
    /// Events behind the known positions, as soon as there are any, else none at `end`. Without
    /// known positions it answers at once with the present ones.
    ///
    /// # Errors
    /// [`Refusal::NoSuchSpace`]; [`Error::Unavailable`] without a database.
    pub async fn follow(
        &self,
        query: &FollowQuery,
        end: impl Future<Output = ()>,
    ) -> Result<Followed, Error> {
        let mut end = pin!(end);
        let mut waiter = self.watch.now().await?;
        if let Some(space) = &query.space
            && !waiter.heads.spaces.contains_key(space)
        {
            return Err(Refusal::NoSuchSpace(space.clone()).into());
        }
        loop {
            let heads = of_query(&waiter.heads, query);
            let epoch = waiter.heads.epoch;
            let positions = query.positions.clone().unwrap_or_else(|| heads.clone());
            let events = self.behind(&positions, &heads, query.limit).await?;
            let answer = Followed {
                events,
                positions,
                epoch,
            };
            if !answer.events.is_empty() || query.positions.is_none() {
                return Ok(answer);
            }
            tokio::select! {
                () = &mut end => return Ok(answer),
                () = waiter.changed() => {}
            }
        }
    }

    async fn behind(
        &self,
        positions: &BTreeMap<String, u64>,
        heads: &BTreeMap<String, u64>,
        limit: u32,
    ) -> Result<Vec<Event>, Error> {
        let mut events = Vec::new();
        for (space, &head) in heads {
            let known = positions.get(space).copied().unwrap_or(0);
            let left = limit.saturating_sub(u32::try_from(events.len()).unwrap_or(u32::MAX));
            if head <= known || left == 0 {
                continue;
            }
            let query = EventQuery {
                space: space.clone(),
                address: None,
                after_seq: known,
                limit: left,
            };
            events.extend(self.events(&query).await?);
        }
        Ok(events)
    }
}

fn of_query(all: &Heads, query: &FollowQuery) -> BTreeMap<String, u64> {
    let wanted = all.spaces.iter().filter(|(name, head)| {
        query.space.as_ref().is_none_or(|space| space == *name)
            && query
                .cluster
                .as_ref()
                .is_none_or(|cluster| head.clusters.contains(cluster))
    });
    wanted
        .map(|(name, head)| (name.clone(), head.seq))
        .collect()
}
