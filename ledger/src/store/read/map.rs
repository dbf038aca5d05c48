//! A pool as a map: the state of each address of a range, or counts of its parts, at one position.

use std::net::IpAddr;

use ipnet::IpNet;
use jiff::Timestamp;
use sqlx::Row as _;

use super::super::ledger::Ledger;
use super::moment::last_steps;
use super::rows;
use crate::decide::timestamp;
use crate::error::Error;
use crate::event::Payload;
use crate::model::{Attachment, Owner};

/// Which part of a space, and when.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MapQuery {
    /// Name of the space.
    pub space: String,
    /// The addresses to show.
    pub range: IpNet,
    /// Nothing behind this position.
    pub position: u64,
    /// Which addresses still rest is judged for this moment.
    pub moment: Timestamp,
}

/// An address that was used at some time before the position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AddressState {
    /// The address.
    pub ip: IpAddr,
    /// Its last step: even is held.
    pub step: u32,
    /// Position of that step.
    pub seq: u64,
    /// When it was recorded.
    pub recorded_at: Timestamp,
    /// Until when it rests; `None` if it is held, or rests no more.
    pub cooling_until: Option<Timestamp>,
    /// The holder, or the last one; `None` if the payload was moved away.
    pub attachment: Option<Attachment>,
    /// The pod behind it.
    pub owner: Option<Owner>,
}

/// A part of a range in numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Density {
    /// The part.
    pub part: IpNet,
    /// Addresses that are held.
    pub held: u64,
    /// Addresses that rest.
    pub cooling: u64,
    /// Addresses that were ever used.
    pub used: u64,
}

/// $1 space, $2 position, $3 and $4 first and last address.
const ADDRESSES: &str = concat!(
    "select a.ip, x.step, x.seq, h.seq as held_seq, h.body,
        (extract(epoch from x.recorded_at) * 1000000)::bigint as recorded_at_us",
    last_steps!(),
    " left join lateral (
        select e.seq, p.body from ipledger.events e
        join ipledger.payloads p on p.space_id = e.space_id and p.seq = e.seq
        where e.space_id = a.space_id and e.ip = a.ip and e.step = x.step - x.step % 2
    ) h on true
    where a.space_id = $1 and a.ip between $3 and $4 order by a.ip"
);

/// Also $5, the moment in microseconds, and $6, the prefix length of a part.
const PARTS: &str = concat!(
    "select network(set_masklen(a.ip, $6)) as part,
        count(*) filter (where x.step % 2 = 0) as held,
        count(*) filter (where x.step % 2 = 1 and case when a.seq <= $2 then a.cooling_until
            else x.recorded_at + interval '1 second' * coalesce((
                select (convert_from(p.body, 'UTF8')::jsonb ->> 'cooldown_seconds')::int
                from ipledger.events e
                join ipledger.payloads p on p.space_id = e.space_id and p.seq = e.seq
                where e.space_id = a.space_id and e.ip = a.ip and e.step = x.step - 1), 0)
            end > timestamptz '1970-01-01 00:00:00Z' + $5 * interval '1 microsecond') as cooling,
        count(*) as used",
    last_steps!(),
    " where a.space_id = $1 and a.ip between $3 and $4 group by 1 order by 1"
);

impl Ledger {
    /// The addresses of a range that were ever used, in order. Ask for small ranges only: each
    /// address comes with its holder.
    ///
    /// # Errors
    /// [`crate::Refusal::NoSuchSpace`]; [`Error::Unavailable`] without a database.
    pub async fn address_map(&self, query: &MapQuery) -> Result<Vec<AddressState>, Error> {
        let space_id = self.space_id(&query.space).await?;
        let found = sqlx::query(ADDRESSES)
            .bind(space_id)
            .bind(rows::to_i64(query.position))
            .bind(IpNet::from(query.range.network()))
            .bind(IpNet::from(query.range.broadcast()))
            .fetch_all(&self.reads)
            .await?;
        let mut states = Vec::with_capacity(found.len());
        for row in &found {
            let held_seq: Option<i64> = row.try_get("held_seq")?;
            let body: Option<Vec<u8>> = row.try_get("body")?;
            let allocated = match (held_seq, body) {
                (Some(seq), Some(body)) => {
                    let seq = u64::try_from(seq).unwrap_or(0);
                    Some(rows::payload(&body, &query.space, seq)?)
                }
                _ => None,
            };
            let Some(ip) = rows::ip(row, "ip")? else {
                continue;
            };
            let step = rows::step(row, "step")?.unwrap_or(0);
            let recorded_at = rows::time(row, "recorded_at_us")?;
            states.push(AddressState {
                ip,
                step,
                seq: rows::position(row, "seq")?,
                recorded_at,
                cooling_until: rests_until(step, recorded_at, allocated.as_ref())
                    .filter(|until| *until > query.moment),
                attachment: allocated.as_ref().and_then(|p| p.attachment.clone()),
                owner: allocated.and_then(|p| p.owner),
            });
        }
        Ok(states)
    }

    /// The same, counted by parts of this prefix length. Parts without a used address are left
    /// out.
    ///
    /// # Errors
    /// As [`Ledger::address_map`].
    pub async fn density_map(
        &self,
        query: &MapQuery,
        prefix_length: u8,
    ) -> Result<Vec<Density>, Error> {
        let space_id = self.space_id(&query.space).await?;
        let found = sqlx::query(PARTS)
            .bind(space_id)
            .bind(rows::to_i64(query.position))
            .bind(IpNet::from(query.range.network()))
            .bind(IpNet::from(query.range.broadcast()))
            .bind(query.moment.as_microsecond())
            .bind(i32::from(prefix_length))
            .fetch_all(&self.reads)
            .await?;
        found
            .iter()
            .map(|row| {
                Ok(Density {
                    part: row.try_get("part")?,
                    held: rows::position(row, "held")?,
                    cooling: rows::position(row, "cooling")?,
                    used: rows::position(row, "used")?,
                })
            })
            .collect()
    }
}

/// The end of the rest after a release: it was fixed by the allocate.
fn rests_until(
    step: u32,
    released_at: Timestamp,
    allocated: Option<&Payload>,
) -> Option<Timestamp> {
    if step.is_multiple_of(2) {
        return None;
    }
    let seconds = allocated?.cooldown_seconds?;
    Some(timestamp(
        released_at.as_microsecond() + i64::from(seconds) * 1_000_000,
    ))
}
