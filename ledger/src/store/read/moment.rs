//! Positions of a moment. Recorded time never runs backwards in a stream, so a position is found by
//! halving, without an index that every append would pay for.

use std::collections::BTreeMap;

use jiff::Timestamp;
use sqlx::Row as _;

use super::super::ledger::Ledger;
use super::rows;
use crate::error::Error;
use crate::refusal::Refusal;

const SQL: &str = "
    select s.name, (
        with recursive search (low, high) as (
            select 0::bigint, s.seq
            union all
            select case when m.at <= t.at then m.middle else s.low end,
                case when m.at <= t.at then s.high else m.middle - 1 end
            from search s cross join lateral (
                select h.middle, (select e.recorded_at from ipledger.events e
                    where e.space_id = x.id and e.seq = h.middle) as at
                from (select (s.low + s.high + 1) / 2 as middle) h
            ) m
            where s.low < s.high
        )
        select low from search where low = high limit 1
    ) as seq
    from ipledger.spaces s
    cross join lateral (select s.id) x
    cross join lateral (
        select timestamptz '1970-01-01 00:00:00Z' + $2 * interval '1 microsecond' as at
    ) t
    where $1::text is null or s.name = $1";

/// Of each address its last step up to the position ($2): from the derived row if nothing came
/// after it, else from the events.
macro_rules! last_steps {
    () => {
        " from ipledger.addresses a
        cross join lateral (
            select a.step, a.seq, a.recorded_at where a.seq <= $2
            union all
            (select e.step, e.seq, e.recorded_at from ipledger.events e
             where a.seq > $2 and e.space_id = a.space_id and e.ip = a.ip and e.seq <= $2
             order by e.step desc limit 1)
        ) x"
    };
}
pub(super) use last_steps;

impl Ledger {
    /// The position of the last event of each space, or of one, that was recorded at that moment
    /// or before; 0 where there is none. For a moment that is hardly over the answer may still
    /// grow: time of record is taken when a batch begins, not when it is committed.
    ///
    /// # Errors
    /// [`Refusal::NoSuchSpace`]; [`Error::Unavailable`] without a database.
    pub async fn positions_at(
        &self,
        space: Option<&str>,
        at: Timestamp,
    ) -> Result<BTreeMap<String, u64>, Error> {
        let found = sqlx::query(SQL)
            .bind(space)
            .bind(at.as_microsecond())
            .fetch_all(&self.reads)
            .await?;
        if let (Some(space), true) = (space, found.is_empty()) {
            return Err(Refusal::NoSuchSpace(space.to_owned()).into());
        }
        found
            .iter()
            .map(|row| Ok((row.try_get("name")?, rows::position(row, "seq")?)))
            .collect()
    }
}
