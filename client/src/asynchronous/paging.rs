//! Lists, read to their end.

use std::collections::BTreeMap;

use serde::de::DeserializeOwned;

use super::Client;
use crate::types::{
    ClusterPage, ClusterState, Event, EventPage, Hold, HoldPage, Pool, PoolPage, Space, SpacePage,
    Window, WindowPage,
};
use crate::{Budget, ClientError, target};

/// The most that the API gives in one page.
const PAGE: &str = "5000";
/// Events carry evidence, so fewer of them fit an answer.
const EVENT_PAGE: &str = "500";

/// Which holds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HoldFilter {
    /// Only of this space. Without it, all spaces are read at one moment.
    pub space: Option<String>,
    /// At this position of the space, and not the present one; needs `space`.
    pub as_of: Option<u64>,
    /// Only of this cluster.
    pub cluster: Option<String>,
}

/// Holds, all of one reading.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HoldReading {
    /// In order of space and address.
    pub holds: Vec<Hold>,
    /// The positions that they belong to, by space.
    pub as_of: BTreeMap<String, u64>,
}

/// Pools with their windows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PoolReading {
    /// In order of space and CIDR.
    pub pools: Vec<Pool>,
    /// The positions that the counts of the last page belong to, by space.
    pub as_of: BTreeMap<String, u64>,
}

/// Windows with their counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WindowReading {
    /// In order of space, pool and start.
    pub windows: Vec<Window>,
    /// The positions that the counts of the last page belong to, by space.
    pub as_of: BTreeMap<String, u64>,
}

/// Which events.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EventFilter {
    /// Name of the space.
    pub space: String,
    /// Only about this address.
    pub address: Option<String>,
    /// Only later than this position; 0 means all.
    pub after: u64,
}

impl Client {
    /// `GET /v1/holds`, all pages: every hold that the filter lets through, as of one position
    /// of each space.
    ///
    /// # Errors
    /// See [`ClientError`]; [`ClientError::Protocol`] if the pages are not of one reading.
    pub async fn holds(
        &self,
        filter: &HoldFilter,
        budget: Budget,
    ) -> Result<HoldReading, ClientError> {
        let mut holds = Vec::new();
        let as_of = self
            .each_hold(filter, budget, |hold| holds.push(hold))
            .await?;
        Ok(HoldReading { holds, as_of })
    }

    /// The same hold by hold, for readers that keep less of each. Answers with the positions.
    /// What was taken before an error is of no use.
    ///
    /// # Errors
    /// As for [`Client::holds`].
    pub async fn each_hold(
        &self,
        filter: &HoldFilter,
        budget: Budget,
        mut take: impl FnMut(Hold),
    ) -> Result<BTreeMap<String, u64>, ClientError> {
        let as_of = filter.as_of.map(|seq| seq.to_string());
        let parameters = [
            ("space", filter.space.as_deref()),
            ("as_of", as_of.as_deref()),
            ("cluster", filter.cluster.as_deref()),
            ("limit", Some(PAGE)),
        ];
        let mut as_of = BTreeMap::new();
        let mut torn = None;
        self.pages("/v1/holds", &parameters, budget, |page: HoldPage| {
            for (space, seq) in page.as_of {
                if *as_of.entry(space.clone()).or_insert(seq) != seq {
                    torn = Some(space);
                }
            }
            page.holds.into_iter().for_each(&mut take);
            page.next
        })
        .await?;
        match torn {
            None => Ok(as_of),
            Some(space) => Err(ClientError::Protocol {
                address: "the API".to_owned(),
                reason: format!("the pages of one reading show {space} at two positions"),
            }),
        }
    }

    /// `GET /v1/clusters`, all pages, in order of name.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub async fn clusters(&self, budget: Budget) -> Result<Vec<ClusterState>, ClientError> {
        let mut clusters = Vec::new();
        let parameters = [("limit", Some(PAGE))];
        self.pages("/v1/clusters", &parameters, budget, |page: ClusterPage| {
            clusters.extend(page.clusters);
            page.next
        })
        .await?;
        Ok(clusters)
    }

    /// `GET /v1/spaces`, all pages, in order of name.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub async fn spaces(&self, budget: Budget) -> Result<Vec<Space>, ClientError> {
        let mut spaces = Vec::new();
        let parameters = [("limit", Some(PAGE))];
        self.pages("/v1/spaces", &parameters, budget, |page: SpacePage| {
            spaces.extend(page.spaces);
            page.next
        })
        .await?;
        Ok(spaces)
    }

    /// `GET /v1/pools`, all pages, of one space or of all.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub async fn pools(
        &self,
        space: Option<&str>,
        budget: Budget,
    ) -> Result<PoolReading, ClientError> {
        let (mut pools, mut as_of) = (Vec::new(), BTreeMap::new());
        let parameters = [("space", space), ("limit", Some(PAGE))];
        self.pages("/v1/pools", &parameters, budget, |page: PoolPage| {
            pools.extend(page.pools);
            as_of = page.as_of;
            page.next
        })
        .await?;
        Ok(PoolReading { pools, as_of })
    }

    /// `GET /v1/windows`, all pages, of one space or of all.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub async fn windows(
        &self,
        space: Option<&str>,
        budget: Budget,
    ) -> Result<WindowReading, ClientError> {
        let (mut windows, mut as_of) = (Vec::new(), BTreeMap::new());
        let parameters = [("space", space), ("limit", Some(PAGE))];
        self.pages("/v1/windows", &parameters, budget, |page: WindowPage| {
            windows.extend(page.windows);
            as_of = page.as_of;
            page.next
        })
        .await?;
        Ok(WindowReading { windows, as_of })
    }

    /// `GET /v1/events`, all pages: the events of a space that come after a position, oldest
    /// first.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub async fn events(
        &self,
        filter: &EventFilter,
        budget: Budget,
    ) -> Result<Vec<Event>, ClientError> {
        let mut events = Vec::new();
        let after = filter.after.to_string();
        let parameters = [
            ("space", Some(filter.space.as_str())),
            ("address", filter.address.as_deref()),
            ("after", Some(after.as_str())),
            ("limit", Some(EVENT_PAGE)),
        ];
        self.pages("/v1/events", &parameters, budget, |page: EventPage| {
            events.extend(page.events);
            page.next
        })
        .await?;
        Ok(events)
    }

    /// Reads the pages of any list until `take` gives no cursor of a next one.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub async fn pages<P: DeserializeOwned>(
        &self,
        path: &str,
        parameters: &[(&'static str, Option<&str>)],
        budget: Budget,
        mut take: impl FnMut(P) -> Option<String>,
    ) -> Result<(), ClientError> {
        let mut cursor: Option<String> = None;
        loop {
            let given = parameters
                .iter()
                .filter_map(|(key, value)| Some((*key, (*value)?)));
            let cursor_given = cursor.as_deref().map(|text| ("cursor", text));
            let target = target::with_query(path, given.chain(cursor_given));
            cursor = take(self.get(&target, budget).await?);
            if cursor.is_none() {
                return Ok(());
            }
        }
    }
}
