//! Calls of the last minutes: a delayed ADD that they overtook must find them.

use std::collections::HashMap;
use std::net::IpAddr;

use tokio_postgres::{Client, Row};

use super::super::append::{to_i64, to_u64};
use super::super::calls;
use super::super::connection::classify;
use crate::decide::{recorded_payload, remember_release};
use crate::error::Error;
use crate::event::Payload;
use crate::state::{Order, Record, State};

/// How many events before the head are looked through; as many calls as memory keeps.
const REACH: u64 = 131_072;
/// Releases read at a time.
const PAGE: i64 = 2_000;

/// Read backwards from each head, so the cost does not grow with the history.
pub(super) async fn releases(client: &Client, state: &mut State) -> Result<(), Error> {
    let heads: Vec<(i32, u64)> = state
        .spaces
        .iter()
        .map(|(_, space)| (space.id, space.seq))
        .collect();
    for (id, seq) in heads {
        let mut after = seq.saturating_sub(REACH);
        while let Some(last) = page(client, state, id, after).await? {
            after = last;
        }
    }
    Ok(())
}

/// One page of a space; gives its last position.
async fn page(
    client: &Client,
    state: &mut State,
    id: i32,
    after: u64,
) -> Result<Option<u64>, Error> {
    let rows = client
        .query(
            "select e.seq, (extract(epoch from e.recorded_at) * 1000000)::bigint, p.body, e.ip \
             from ipledger.events e join ipledger.payloads p using (space_id, seq) \
             where e.space_id = $1 and e.seq > $2 and p.kind = 'released' \
               and e.recorded_at > clock_timestamp() - $3::bigint * interval '1 microsecond' \
             order by e.seq limit $4",
            &[&id, &to_i64(after), &Order::horizon_us(), &PAGE],
        )
        .await
        .map_err(|e| classify(&e))?;
    let released: Vec<(i64, Payload)> = rows
        .iter()
        .filter_map(|row| Some((row.get(1), recorded_payload(row.get(2))?)))
        .collect();
    let ended = ended(client, id, &released).await?;
    for (at_us, payload) in &released {
        let allocated = payload.ends_seq.and_then(|seq| ended.get(&seq));
        remember_release(state, payload, allocated, *at_us);
    }
    for row in &rows {
        remember_repeat(state, id, to_u64(row.get(0)), row.get(3));
    }
    // Nothing here is ever rolled back, so the journal need not grow.
    state.commit();
    Ok(rows.last().map(|row: &Row| to_u64(row.get(0))))
}

/// A repeat moved the order token of the hold that ended: it stands in the row of the address,
/// which has had no other holder since.
fn remember_repeat(state: &mut State, space_id: i32, seq: u64, ip: Option<IpAddr>) {
    let place = state.spaces.index_of_id(space_id).zip(ip);
    let Some((space, ip)) = place else { return };
    let record = state.record_of(space, ip);
    if let Some(stamp) = record
        .filter(|record| record.seq == seq)
        .and_then(Record::stamp)
    {
        calls::remember(state, space, ip, stamp);
    }
}

/// The allocate events that these releases ended, by position.
async fn ended(
    client: &Client,
    id: i32,
    released: &[(i64, Payload)],
) -> Result<HashMap<u64, Payload>, Error> {
    let ends = released.iter().filter_map(|(_, payload)| payload.ends_seq);
    let ends: Vec<i64> = ends.map(to_i64).collect();
    let rows = client
        .query(
            "select seq, body from ipledger.payloads where space_id = $1 and seq = any($2)",
            &[&id, &ends],
        )
        .await
        .map_err(|e| classify(&e))?;
    let payload = |row: &Row| Some((to_u64(row.get(0)), recorded_payload(row.get(1))?));
    Ok(rows.iter().filter_map(payload).collect())
}
