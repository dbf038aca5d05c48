//! Repeated ADDs that move an order token: no events, but every replica must heed them.

use std::net::IpAddr;

use tokio_postgres::Client;
use uuid::Uuid;

use super::append::{to_i32, to_i64, to_u64};
use super::boots;
use super::connection::classify;
use crate::decide::LaterCall;
use crate::error::Error;
use crate::model::OrderToken;
use crate::state::{SpaceIndex, Stamp, State};

/// See `migrations/0008_calls.sql`. Boots are noted before a call is decided.
const NOTE_SQL: &str = "call ipledger.note_calls_and_commit($1, $2, $3, $4, $5, '[]'::jsonb, null)";

/// Repeats as columns, one entry per hold.
#[derive(Debug, Default)]
pub(super) struct Calls {
    space: Vec<i32>,
    ip: Vec<IpAddr>,
    step: Vec<i32>,
    boot_id: Vec<Uuid>,
    boottime_ns: Vec<i64>,
}

impl Calls {
    pub(super) fn add(&mut self, space_id: i32, call: &LaterCall) {
        self.space.push(space_id);
        self.ip.push(call.ip);
        self.step.push(to_i32(call.step));
        self.boot_id.push(call.token.boot_id);
        self.boottime_ns.push(to_i64(call.token.boottime_ns));
    }

    /// One round trip. False if one of the holds is not the current one any more.
    pub(super) async fn send(&self, client: &Client) -> Result<bool, tokio_postgres::Error> {
        let (space, ip, step) = (&self.space, &self.ip, &self.step);
        let (boot_id, boottime_ns) = (&self.boot_id, &self.boottime_ns);
        let row = client
            .query_one(NOTE_SQL, &[space, ip, step, boot_id, boottime_ns])
            .await?;
        Ok(row.get(0))
    }
}

/// Read what other replicas noted in a space since memory last did. Memory must be at the head
/// that was read with the number of calls, and hold no uncommitted change.
pub(super) async fn follow(
    client: &Client,
    state: &mut State,
    space: SpaceIndex,
) -> Result<(), Error> {
    let (id, known) = (state.spaces.get(space).id, state.spaces.get(space).calls);
    let rows = client
        .query(
            "select ip, allocated_seq, called_boot_id, called_boottime_ns, call \
             from ipledger.addresses where space_id = $1 and call > $2 order by call",
            &[&id, &to_i64(known)],
        )
        .await
        .map_err(|e| classify(&e))?;
    for row in rows {
        let allocated_seq = to_u64(row.get(1));
        if allocated_seq > state.spaces.get(space).seq {
            // Of a hold that memory does not have yet: next time.
            break;
        }
        let token = OrderToken {
            boot_id: row.get(2),
            boottime_ns: to_u64(row.get(3)),
        };
        if !state.order.is_boot_known(token.boot_id) {
            boots::read(client, &mut state.order).await?;
        }
        take_in(state, space, row.get(0), allocated_seq, &token);
        state.spaces.set_calls(space, to_u64(row.get(4)));
    }
    state.commit();
    Ok(())
}

fn take_in(
    state: &mut State,
    space: SpaceIndex,
    ip: IpAddr,
    allocated_seq: u64,
    token: &OrderToken,
) {
    let stamp = state.order.stamp(token);
    let record = state.record_of(space, ip).copied();
    let Some(record) = record.filter(|record| record.allocated_seq == allocated_seq) else {
        return;
    };
    state.set_stamp(space, ip, record.step, record.stamp().max(Some(stamp)));
    if !record.is_held() {
        remember(state, space, ip, stamp);
    }
}

/// The hold ended before memory heard of the repeat: a delayed ADD must find it all the same.
pub(super) fn remember(state: &mut State, space: SpaceIndex, ip: IpAddr, stamp: Stamp) {
    let Some(record) = state.record_of(space, ip).copied() else {
        return;
    };
    state.remember(record.attachment, stamp, record.at_us);
    if record.owner != 0 {
        state.remember(record.owner, stamp, record.at_us);
    }
}

/// The order token of a row of `addresses`: of its last repeat, or else of its allocate.
pub(super) fn last_token(
    called: (Option<Uuid>, Option<i64>),
    allocated: (Option<Uuid>, Option<i64>),
) -> Option<OrderToken> {
    let token = |(boot_id, boottime_ns): (Option<Uuid>, Option<i64>)| {
        Some(OrderToken {
            boot_id: boot_id?,
            boottime_ns: to_u64(boottime_ns?),
        })
    };
    token(called).or_else(|| token(allocated))
}
