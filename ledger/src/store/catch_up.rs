//! Following the stream: what other writers appended since the known heads.

use std::collections::HashMap;
use std::net::IpAddr;

use tokio_postgres::Client;

use super::append::{to_hash, to_i64, to_u32, to_u64};
use super::boots;
use super::calls;
use super::connection::classify;
use super::load;
use crate::decide::apply_recorded;
use crate::error::Error;
use crate::event::Payload;
use crate::state::{SpaceIndex, State};

/// Events read at a time.
const PAGE: i64 = 2_000;

/// Whether memory could follow, or has to be loaded anew.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Followed {
    /// Memory is at the heads that were read.
    Yes,
    /// The history is not the one that memory knows: it was shortened or replaced.
    Replaced,
}

/// Bring the state to the heads of the database, all of one reading: what one space tells is never
/// newer than what another does, and no space is known that was opened after it. The state must
/// hold no uncommitted change.
pub(super) async fn catch_up(client: &Client, state: &mut State) -> Result<Followed, Error> {
    let mut heads = read_heads(client).await?;
    if heads
        .iter()
        .any(|(id, _, _)| state.spaces.index_of_id(*id).is_none())
    {
        load::spaces(client, &mut state.spaces).await?;
        heads = read_heads(client).await?;
    }
    let mut epoch_may_have_begun = false;
    for (id, seq, calls) in heads {
        let Some(space) = state.spaces.index_of_id(id) else {
            continue;
        };
        let known = state.spaces.get(space).seq;
        if seq < known {
            return Ok(Followed::Replaced);
        }
        if seq > known {
            if follow(client, state, space, id, seq).await? == Followed::Replaced {
                return Ok(Followed::Replaced);
            }
            epoch_may_have_begun = true;
        }
        if calls > state.spaces.get(space).calls {
            calls::follow(client, state, space).await?;
        }
    }
    if epoch_may_have_begun {
        state.epoch = load::epoch(client).await?;
    }
    state.commit();
    state.pools.set_all_persisted();
    Ok(Followed::Yes)
}

/// Whether the database still has the boots, the spaces and the events that memory was built from: after a
/// new connection this may be another server.
pub(super) async fn anchors_stand(client: &Client, state: &State) -> Result<bool, Error> {
    let rows = client
        .query("select id, name from ipledger.spaces", &[])
        .await
        .map_err(|e| classify(&e))?;
    let names: HashMap<i32, &str> = rows.iter().map(|row| (row.get(0), row.get(1))).collect();
    if !boots::stand(client, &state.order).await? {
        return Ok(false);
    }
    for (_, space) in state.spaces.iter() {
        // A space without events has no anchor, and its key may be another space's by now.
        if names.get(&space.id) != Some(&space.name.as_str()) {
            return Ok(false);
        }
        let (seq, hash) = space.anchor;
        if seq > 0 && stored_hash(client, space.id, seq).await? != Some(hash) {
            return Ok(false);
        }
    }
    Ok(true)
}

async fn stored_hash(client: &Client, id: i32, seq: u64) -> Result<Option<[u8; 32]>, Error> {
    let row = client
        .query_opt(
            "select hash from ipledger.events where space_id = $1 and seq = $2",
            &[&id, &to_i64(seq)],
        )
        .await
        .map_err(|e| classify(&e))?;
    Ok(row.map(|row| to_hash(row.get(0))))
}

/// Every space: key, position, and number of repeats that moved an order token.
async fn read_heads(client: &Client) -> Result<Vec<(i32, u64, u64)>, Error> {
    let rows = client
        .query(
            "select id, seq, calls from ipledger.spaces order by id",
            &[],
        )
        .await
        .map_err(|e| classify(&e))?;
    let head = |row: &tokio_postgres::Row| (row.get(0), to_u64(row.get(1)), to_u64(row.get(2)));
    Ok(rows.iter().map(head).collect())
}

/// Bring one space to this head.
async fn follow(
    client: &Client,
    state: &mut State,
    space: SpaceIndex,
    id: i32,
    head: u64,
) -> Result<Followed, Error> {
    loop {
        let known = state.spaces.get(space).seq;
        let rows = client
            .query(
                "select e.seq, e.ip, e.step, e.hash, \
                 (extract(epoch from e.recorded_at) * 1000000)::bigint, p.body \
                 from ipledger.events e left join ipledger.payloads p using (space_id, seq) \
                 where e.space_id = $1 and e.seq > $2 and e.seq <= $3 order by e.seq limit $4",
                &[&id, &to_i64(known), &to_i64(head), &PAGE],
            )
            .await
            .map_err(|e| classify(&e))?;
        for row in &rows {
            let seq = to_u64(row.get(0));
            let target = match (
                row.get::<_, Option<IpAddr>>(1),
                row.get::<_, Option<i32>>(2),
            ) {
                (Some(ip), Some(step)) => Some((ip, to_u32(step))),
                _ => None,
            };
            let inconsistent = |problem: String| Error::Inconsistent {
                table: "events",
                row: format!("space {id} seq {seq}"),
                problem,
            };
            let Some(body) = row.get::<_, Option<&[u8]>>(5) else {
                // It was moved away already; the tables have what it led to.
                return Ok(Followed::Replaced);
            };
            let payload: Payload =
                serde_json::from_slice(body).map_err(|error| inconsistent(error.to_string()))?;
            // Another space may have shown an earlier boot of the same node first.
            let boot = payload.token.map(|token| token.boot_id);
            if boot.is_some_and(|boot_id| !state.order.is_boot_known(boot_id)) {
                boots::read(client, &mut state.order).await?;
            }
            apply_recorded(state, space, seq, row.get(4), target, payload).map_err(inconsistent)?;
            state.spaces.set_anchor(space, seq, to_hash(row.get(3)));
        }
        state.commit();
        if rows.is_empty() {
            // Events went missing between two statements: only a replaced history does that.
            return Ok(Followed::Replaced);
        }
        if state.spaces.get(space).seq >= head {
            return Ok(Followed::Yes);
        }
    }
}
