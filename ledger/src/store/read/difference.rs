//! What changed between two moments: for each address whose holder differs, both holders.

use std::collections::BTreeMap;
use std::net::IpAddr;

use ipnet::IpNet;
use jiff::Timestamp;
use sqlx::postgres::PgRow;
use sqlx::{Row as _, ValueRef as _};

use super::super::ledger::Ledger;
use super::holds::{Hold, hold, payloads_gone};
use super::rows;
use crate::error::Error;
use crate::refusal::Refusal;

/// A moment of the past.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    /// After everything that was recorded until then.
    Time(Timestamp),
    /// After the event at this position; of one space.
    Position(u64),
}

/// Which difference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DifferenceQuery {
    /// Only of this space; positions need it.
    pub space: Option<String>,
    /// The earlier moment.
    pub from: Moment,
    /// The later moment; the present one without it.
    pub to: Option<Moment>,
    /// Only after this place.
    pub after: Option<(String, IpAddr)>,
    /// The positions that an earlier page of this reading compared.
    pub positions: Option<(BTreeMap<String, u64>, BTreeMap<String, u64>)>,
    /// How many addresses at most.
    pub limit: u32,
}

/// An address that has another holder at the later moment, or none any more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AddressChange {
    /// Name of the space.
    pub space: String,
    /// The address.
    pub ip: IpAddr,
    /// Who held it at the earlier moment.
    pub before: Option<Hold>,
    /// Who held it at the later one.
    pub after: Option<Hold>,
}

/// A page, all of one reading.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DifferencePage {
    /// By space name and address.
    pub changes: Vec<AddressChange>,
    /// The earlier positions, by space.
    pub from: BTreeMap<String, u64>,
    /// The later positions, by space.
    pub to: BTreeMap<String, u64>,
    /// There are more.
    pub more: bool,
}

/// Up to so many events it is cheaper to read them than the addresses of the space.
const FEW_EVENTS: u64 = 50_000;

/// $1 space, $2 and $3 the positions, $4 the address before the page, $5 limit.
const OF_EVENTS: &str = "(select distinct e.ip from ipledger.events e
    where e.space_id = $1 and e.seq > $2 and e.seq <= $3 and e.ip is not null)";
const OF_ADDRESSES: &str = "(select a.ip from ipledger.addresses a
    where a.space_id = $1 and a.seq > $2 and ($4::inet is null or a.ip > $4) order by a.ip)";

macro_rules! page {
    () => {
        "select c.ip, x.is_after, x.step, x.seq, p.body,
            (extract(epoch from x.recorded_at) * 1000000)::bigint as recorded_at_us
        from (
            select c.ip, b.step as old_step, b.seq as old_seq, b.recorded_at as old_at,
                n.step, n.seq, n.recorded_at
            from {candidates} c
            left join lateral (select e.step, e.seq, e.recorded_at from ipledger.events e
                where e.space_id = $1 and e.ip = c.ip and e.seq <= $2
                order by e.step desc limit 1) b on true
            join lateral (select e.step, e.seq, e.recorded_at from ipledger.events e
                where e.space_id = $1 and e.ip = c.ip and e.seq <= $3
                order by e.step desc limit 1) n on true
            where ($4::inet is null or c.ip > $4) and n.seq is distinct from b.seq
                and (b.step % 2 = 0 or n.step % 2 = 0)
            order by c.ip limit $5
        ) c
        cross join lateral (
            select false as is_after, c.old_step as step, c.old_seq as seq, c.old_at as recorded_at
            union all select true, c.step, c.seq, c.recorded_at
        ) x
        left join ipledger.payloads p on p.space_id = $1 and p.seq = x.seq
        where x.step % 2 = 0 and p.kind is distinct from 'reserved'
        order by c.ip, x.is_after"
    };
}

impl Ledger {
    /// The addresses whose holder differs between two moments, a page at a time.
    ///
    /// # Errors
    /// [`Refusal::NoSuchSpace`]; [`Refusal::Invalid`] if the payloads of that time were moved
    /// away; [`Error::Unavailable`] without a database.
    pub async fn difference(&self, query: &DifferenceQuery) -> Result<DifferencePage, Error> {
        let (from, to) = match &query.positions {
            Some(positions) => positions.clone(),
            None => {
                let space = query.space.as_deref();
                let from = self.positions_of(space, Some(query.from)).await?;
                (from, self.positions_of(space, query.to).await?)
            }
        };
        let limit = query.limit as usize;
        let mut changes = Vec::new();
        let after_space = query.after.as_ref().map(|(space, _)| space.as_str());
        for (space, &later) in &to {
            if after_space.is_some_and(|after| space.as_str() < after) {
                continue;
            }
            // A space that was opened meanwhile had nothing.
            let earlier = from.get(space).copied().unwrap_or(0);
            let after = query.after.as_ref().filter(|(of, _)| of == space);
            let after = after.map(|(_, ip)| *ip);
            let left = limit + 1 - changes.len();
            changes.extend(
                self.changes_of(space, (earlier, later), after, left)
                    .await?,
            );
            if changes.len() > limit {
                break;
            }
        }
        let more = changes.len() > limit;
        changes.truncate(limit);
        Ok(DifferencePage {
            changes,
            from,
            to,
            more,
        })
    }

    async fn positions_of(
        &self,
        space: Option<&str>,
        moment: Option<Moment>,
    ) -> Result<BTreeMap<String, u64>, Error> {
        if let Some(Moment::Time(at)) = moment {
            return self.positions_at(space, at).await;
        }
        let mut positions = self.positions(space).await?;
        if let Some(space) = space
            && positions.is_empty()
        {
            return Err(Refusal::NoSuchSpace(space.to_owned()).into());
        }
        if let Some(Moment::Position(seq)) = moment {
            positions
                .values_mut()
                .for_each(|head| *head = seq.min(*head));
        }
        Ok(positions)
    }

    async fn changes_of(
        &self,
        space: &str,
        (from, to): (u64, u64),
        after: Option<IpAddr>,
        limit: usize,
    ) -> Result<Vec<AddressChange>, Error> {
        if from >= to {
            return Ok(Vec::new());
        }
        let candidates = match to - from <= FEW_EVENTS {
            true => OF_EVENTS,
            false => OF_ADDRESSES,
        };
        let sql = page!().replace("{candidates}", candidates);
        let found = sqlx::query(sqlx::AssertSqlSafe(sql))
            .bind(self.space_id(space).await?)
            .bind(rows::to_i64(from))
            .bind(rows::to_i64(to))
            .bind(after.map(IpNet::from))
            .bind(i64::try_from(limit).unwrap_or(i64::MAX))
            .fetch_all(&self.reads)
            .await?;
        let mut changes: Vec<AddressChange> = Vec::new();
        for row in &found {
            if row.try_get_raw("body")?.is_null() {
                return Err(payloads_gone("from", from));
            }
            add(&mut changes, hold(space, row)?, row)?;
        }
        Ok(changes)
    }
}

/// The two holds of an address come one after the other.
fn add(changes: &mut Vec<AddressChange>, hold: Hold, row: &PgRow) -> Result<(), Error> {
    if changes.last().is_none_or(|last| last.ip != hold.ip) {
        changes.push(AddressChange {
            space: hold.space.clone(),
            ip: hold.ip,
            before: None,
            after: None,
        });
    }
    let is_after: bool = row.try_get("is_after")?;
    if let Some(last) = changes.last_mut() {
        match is_after {
            true => last.after = Some(hold),
            false => last.before = Some(hold),
        }
    }
    Ok(())
}
