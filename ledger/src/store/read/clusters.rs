use jiff::Timestamp;
use sqlx::Row as _;
use sqlx::postgres::PgRow;

use super::super::ledger::Ledger;
use super::rows;
use crate::answer::Gate;
use crate::decide::timestamp;
use crate::error::Error;

/// A cluster as the ledger knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClusterRow {
    /// Name.
    pub name: String,
    /// UID of its kube-system namespace, once known.
    pub uid: Option<String>,
    /// When the name was bound to it.
    pub bound_at: Option<Timestamp>,
    /// Its gate; `None` if it never was closed.
    pub gate: Option<Gate>,
    /// How many addresses it holds.
    pub holds: u64,
}

/// The last event of the gate in the cluster's default space. An event that repeats it in another
/// space says so with `gate_seq`, and that may be the default space of another cluster.
const SQL: &str = "
    with page as materialized (
        select n.name from (
            select name from ipledger.clusters union select cluster from ipledger.space_members
        ) n
        where $1::text is null or n.name collate \"C\" > $1
        order by n.name collate \"C\" limit $2
    ), held as materialized (
        select a.cluster, count(*) as holds from ipledger.addresses a
        where a.step % 2 = 0 and a.cluster in (select name from page) group by a.cluster
    )
    select n.name, c.uid, (extract(epoch from c.bound_at) * 1000000)::bigint as bound_at_us,
        coalesce(h.holds, 0) as holds, g.kind, g.seq, g.body, g.at_us
    from page n
    left join ipledger.clusters c on c.name = n.name
    left join held h on h.cluster = n.name
    left join lateral (
        select p.kind, p.seq, p.body,
            (extract(epoch from e.recorded_at) * 1000000)::bigint as at_us
        from ipledger.space_members m
        join ipledger.payloads p on p.space_id = m.space_id
        join ipledger.events e on e.space_id = p.space_id and e.seq = p.seq
        cross join lateral (select convert_from(p.body, 'UTF8')::jsonb -> 'evidence' as said) b
        where m.cluster = n.name and m.network_name = ''
            and p.kind in ('gate_closed', 'gate_opened')
            and b.said ->> 'cluster' = n.name and b.said -> 'gate_seq' is null
        order by p.seq desc limit 1
    ) g on true
    order by n.name collate \"C\"";

impl Ledger {
    /// Clusters that were bound or have a space, by name; those after `after`, at most so many.
    ///
    /// # Errors
    /// [`Error::Unavailable`] without a database.
    pub async fn clusters(
        &self,
        after: Option<&str>,
        limit: u32,
    ) -> Result<Vec<ClusterRow>, Error> {
        let found = sqlx::query(SQL)
            .bind(after)
            .bind(i64::from(limit))
            .fetch_all(&self.reads)
            .await?;
        found.iter().map(cluster).collect()
    }
}

fn cluster(row: &PgRow) -> Result<ClusterRow, Error> {
    let name: String = row.try_get("name")?;
    let kind: Option<String> = row.try_get("kind")?;
    let gate = match kind {
        None => None,
        Some(kind) => {
            let seq = rows::position(row, "seq")?;
            let body: Vec<u8> = row.try_get("body")?;
            Some(Gate {
                closed: kind == "gate_closed",
                reason: rows::payload(&body, &name, seq)?.reason,
                since: rows::time(row, "at_us")?,
                seq,
            })
        }
    };
    Ok(ClusterRow {
        uid: row.try_get("uid")?,
        bound_at: row.try_get::<Option<i64>, _>("bound_at_us")?.map(timestamp),
        gate,
        holds: rows::position(row, "holds")?,
        name,
    })
}
