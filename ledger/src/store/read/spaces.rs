use std::collections::BTreeMap;

use ipnet::IpNet;
use jiff::Timestamp;
use sqlx::Row as _;

use super::super::ledger::Ledger;
use super::rows;
use crate::error::Error;

/// A space and the head of its stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpaceRow {
    /// Name.
    pub name: String,
    /// Position of the last event; 0 for none.
    pub seq: u64,
    /// Hash of the last event; zeros for none.
    pub hash: [u8; 32],
    /// Time of record of the last event.
    pub recorded_at: Option<Timestamp>,
    /// (cluster, network name) that resolve to it; the unnamed network is empty.
    pub members: Vec<(String, String)>,
    /// The one CIDR of a private space.
    pub private_cidr: Option<IpNet>,
}

impl Ledger {
    /// All spaces, by name.
    ///
    /// # Errors
    /// [`Error::Unavailable`] without a database.
    pub async fn spaces(&self) -> Result<Vec<SpaceRow>, Error> {
        let found = sqlx::query(
            "select s.name, s.seq, s.hash, s.private_cidr,
                (extract(epoch from s.recorded_at) * 1000000)::bigint as recorded_at_us,
                coalesce(array_agg(m.cluster order by m.cluster, m.network_name)
                    filter (where m.cluster is not null), '{}') as clusters,
                coalesce(array_agg(m.network_name order by m.cluster, m.network_name)
                    filter (where m.cluster is not null), '{}') as network_names
             from ipledger.spaces s
             left join ipledger.space_members m on m.space_id = s.id
             group by s.id order by s.name collate \"C\"",
        )
        .fetch_all(&self.reads)
        .await?;
        found
            .iter()
            .map(|row| {
                let clusters: Vec<String> = row.try_get("clusters")?;
                let names: Vec<String> = row.try_get("network_names")?;
                let recorded: Option<i64> = row.try_get("recorded_at_us")?;
                Ok(SpaceRow {
                    name: row.try_get("name")?,
                    seq: rows::position(row, "seq")?,
                    hash: rows::hash(row, "hash")?,
                    recorded_at: recorded.map(crate::decide::timestamp),
                    members: clusters.into_iter().zip(names).collect(),
                    private_cidr: row.try_get("private_cidr")?,
                })
            })
            .collect()
    }

    /// Positions of all spaces, or of one, in one reading.
    pub(super) async fn positions(
        &self,
        only: Option<&str>,
    ) -> Result<BTreeMap<String, u64>, Error> {
        let found = sqlx::query(
            "select name, seq from ipledger.spaces where $1::text is null or name = $1",
        )
        .bind(only)
        .fetch_all(&self.reads)
        .await?;
        found
            .iter()
            .map(|row| Ok((row.try_get("name")?, rows::position(row, "seq")?)))
            .collect()
    }
}
