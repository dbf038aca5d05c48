use std::future::Future;
use std::net::IpAddr;
use std::pin::pin;

use ipnet::IpNet;
use jiff::Timestamp;
use sqlx::Row as _;
use sqlx::postgres::PgRow;

use super::super::ledger::Ledger;
use super::rows;
use crate::error::Error;

/// Wake-ups in one answer, at most.
const MOST: u32 = 1000;

/// A refused allocate, where a hold may be in the way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wakeup {
    /// Counts up over all spaces.
    pub id: u64,
    /// Name of the space.
    pub space: String,
    /// CIDR of the pool.
    pub cidr: IpNet,
    /// First address of the window.
    pub first: IpAddr,
    /// Last address of the window.
    pub last: IpAddr,
    /// Kind of the refusal: `exhausted` or `address_taken`; then the window is one address.
    pub reason: String,
    /// When it was recorded.
    pub at: Timestamp,
}

/// Wake-ups, and where to go on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wakeups {
    /// In order of id.
    pub wakeups: Vec<Wakeup>,
    /// Id of the last one that was looked at, whoever it concerns.
    pub next: u64,
}

impl Ledger {
    /// Wake-ups after an id that concern a cluster: it holds an address in the window. Waits for
    /// one until `end`, and is told within milliseconds of what this replica wrote, within a
    /// quarter of a second of others. An id that is not given out yet (the database was restored)
    /// counts as 0.
    ///
    /// # Errors
    /// [`Error::Unavailable`] without a database.
    pub async fn wakeups(
        &self,
        cluster: &str,
        after: u64,
        end: impl Future<Output = ()>,
    ) -> Result<Wakeups, Error> {
        let mut end = pin!(end);
        let mut waiter = self.watch.now().await?;
        let mut from = after;
        loop {
            let head = waiter.heads.wakeups;
            if head < from {
                from = 0;
            }
            if head > from {
                let wakeups = self.wakeups_between(cluster, from, head).await?;
                if let Some(last) = wakeups.last() {
                    let is_full = wakeups.len() >= MOST as usize;
                    let next = if is_full { last.id } else { head };
                    return Ok(Wakeups { wakeups, next });
                }
                from = head;
            }
            tokio::select! {
                () = &mut end => return Ok(Wakeups { wakeups: Vec::new(), next: from }),
                () = waiter.changed() => {}
            }
        }
    }

    async fn wakeups_between(
        &self,
        cluster: &str,
        after: u64,
        head: u64,
    ) -> Result<Vec<Wakeup>, Error> {
        let found = sqlx::query(
            "select w.id, s.name, w.cidr, w.first_ip, w.last_ip, w.reason,
                (extract(epoch from w.at) * 1000000)::bigint as at_us
             from ipledger.wakeups w
             join ipledger.spaces s on s.id = w.space_id
             where w.id > $1 and w.id <= $2 and exists (
                select from ipledger.addresses a
                where a.space_id = w.space_id and a.ip >= w.first_ip and a.ip <= w.last_ip
                    and a.step % 2 = 0 and a.cluster = $3)
             order by w.id limit $4",
        )
        .bind(rows::to_i64(after))
        .bind(rows::to_i64(head))
        .bind(cluster)
        .bind(i64::from(MOST))
        .fetch_all(&self.reads)
        .await?;
        found.iter().map(wakeup).collect()
    }
}

fn wakeup(row: &PgRow) -> Result<Wakeup, Error> {
    let address = |column: &str| {
        rows::ip(row, column)?.ok_or_else(|| Error::Inconsistent {
            table: "wakeups",
            row: format!("{column} of {:?}", row.try_get::<i64, _>("id")),
            problem: "is null".to_owned(),
        })
    };
    Ok(Wakeup {
        id: rows::position(row, "id")?,
        space: row.try_get("name")?,
        cidr: row.try_get("cidr")?,
        first: address("first_ip")?,
        last: address("last_ip")?,
        reason: row.try_get("reason")?,
        at: rows::time(row, "at_us")?,
    })
}
