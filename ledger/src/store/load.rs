//! Filling the memory from the derived tables, in one consistent reading.

mod recent;

use std::net::IpAddr;

use futures_util::TryStreamExt;
use ipnet::IpNet;
use tokio_postgres::{Client, Row};

use super::append::{to_hash, to_u32, to_u64};
use super::boots;
use super::calls::last_token;
use super::connection::classify;
use crate::decide::{apply_gate, parse_window, recorded_payload};
use crate::error::Error;
use crate::event::WindowRecord;
use crate::event::encoding::Key;
use crate::state::{Class, Keep, Order, Record, Spaces, State, Tombstone};

/// The whole state, as of one moment. Memory grows with the addresses ever used, not with the
/// events.
pub(super) async fn load(client: &Client) -> Result<State, Error> {
    client
        .batch_execute("begin transaction isolation level repeatable read read only; set local statement_timeout = '10min'; set local idle_in_transaction_session_timeout = 0")
        .await
        .map_err(|e| classify(&e))?;
    let loaded = load_all(client).await;
    client
        .batch_execute("rollback")
        .await
        .map_err(|e| classify(&e))?;
    loaded
}

async fn load_all(client: &Client) -> Result<State, Error> {
    let mut state = State::default();
    state.epoch = epoch(client).await?;
    spaces(client, &mut state.spaces).await?;
    heads(client, &mut state).await?;
    windows(client, &mut state).await?;
    boots::read(client, &mut state.order).await?;
    tombstones(client, &mut state.order).await?;
    addresses(client, &mut state).await?;
    keeps(client, &mut state).await?;
    gates(client, &mut state).await?;
    recent::releases(client, &mut state).await?;
    state.commit();
    Ok(state)
}

pub(super) async fn epoch(client: &Client) -> Result<u32, Error> {
    let row = client
        .query_one("select coalesce(max(epoch), 0) from ipledger.epochs", &[])
        .await
        .map_err(|e| classify(&e))?;
    Ok(to_u32(row.get(0)))
}

/// Spaces, members and clusters. Safe to call again: what is known stays.
pub(super) async fn spaces(client: &Client, spaces: &mut Spaces) -> Result<(), Error> {
    let rows = client
        .query(
            "select id, name, parent, private_cidr::text from ipledger.spaces order by id",
            &[],
        )
        .await
        .map_err(|e| classify(&e))?;
    for row in rows {
        let private = match (row.get::<_, Option<i32>>(2), row.get::<_, Option<&str>>(3)) {
            (Some(parent), Some(cidr)) => Some((parent, parse_net("spaces", cidr)?)),
            _ => None,
        };
        spaces.add(row.get(0), row.get(1), private);
    }
    let rows = client
        .query(
            "select cluster, network_name, space_id from ipledger.space_members",
            &[],
        )
        .await
        .map_err(|e| classify(&e))?;
    for row in rows {
        if let Some(space) = spaces.index_of_id(row.get(2)) {
            spaces.add_member(row.get(0), row.get(1), space);
        }
    }
    let rows = client
        .query(
            "select name, uid from ipledger.clusters where uid is not null",
            &[],
        )
        .await
        .map_err(|e| classify(&e))?;
    for row in rows {
        spaces.bind(row.get(0), row.get(1));
    }
    Ok(())
}

async fn heads(client: &Client, state: &mut State) -> Result<(), Error> {
    let rows = client
        .query(
            "select id, seq, hash, (extract(epoch from recorded_at) * 1000000)::bigint, calls \
             from ipledger.spaces",
            &[],
        )
        .await
        .map_err(|e| classify(&e))?;
    for row in rows {
        if let Some(space) = state.spaces.index_of_id(row.get(0)) {
            let seq = to_u64(row.get(1));
            state.advance(space, seq, row.get::<_, Option<i64>>(3).unwrap_or(0));
            state.spaces.set_anchor(space, seq, to_hash(row.get(2)));
            state.spaces.set_calls(space, to_u64(row.get(4)));
        }
    }
    Ok(())
}

async fn windows(client: &Client, state: &mut State) -> Result<(), Error> {
    let rows = client
        .query(
            "select space_id, cidr::text, first_ip, last_ip, exclude from ipledger.windows \
             order by first_seq, space_id",
            &[],
        )
        .await
        .map_err(|e| classify(&e))?;
    for row in rows {
        let record = WindowRecord {
            cidr: parse_net("windows", row.get(1))?,
            exclude: row.get(4),
            exclude_digest: None,
            first: row.get(2),
            last: row.get(3),
        };
        let window = parse_window(&record).map_err(|problem| Error::Inconsistent {
            table: "windows",
            row: record.cidr.to_string(),
            problem,
        })?;
        if let Some(space) = state.spaces.index_of_id(row.get(0)) {
            state.record_window(space, &window);
            state.pools.set_persisted(space, &window);
        }
    }
    Ok(())
}

/// All tombstones that still count.
pub(super) async fn tombstones(client: &Client, order: &mut Order) -> Result<(), Error> {
    let rows = client
        .query(
            "select attachment, boot_id, boottime_ns, \
             (extract(epoch from expires_at) * 1000000)::bigint \
             from ipledger.tombstones where expires_at > clock_timestamp()",
            &[],
        )
        .await
        .map_err(|e| classify(&e))?;
    let all = rows.iter().map(|row| {
        let tombstone = Tombstone {
            token: last_token((row.get(1), row.get(2)), (None, None)),
            expires_us: row.get(3),
        };
        (to_key(row.get(0)), tombstone)
    });
    order.set_tombstones(all);
    Ok(())
}

/// All gates that were ever closed or opened: a handful, by an index of their own.
async fn gates(client: &Client, state: &mut State) -> Result<(), Error> {
    let rows = client
        .query(
            "select p.space_id, p.seq, (extract(epoch from e.recorded_at) * 1000000)::bigint, \
             p.body from ipledger.payloads p join ipledger.events e using (space_id, seq) \
             where p.kind in ('gate_closed', 'gate_opened') order by p.space_id, p.seq",
            &[],
        )
        .await
        .map_err(|e| classify(&e))?;
    for row in rows {
        let space = state.spaces.index_of_id(row.get(0));
        if let (Some(space), Some(payload)) = (space, recorded_payload(row.get(3))) {
            apply_gate(state, space, to_u64(row.get(1)), row.get(2), &payload);
        }
    }
    state.commit();
    Ok(())
}

async fn addresses(client: &Client, state: &mut State) -> Result<(), Error> {
    let now_us = database_time(client).await?;
    let no_parameters: [i32; 0] = [];
    let rows = client
        .query_raw(
            "select space_id, ip, step, seq, (extract(epoch from recorded_at) * 1000000)::bigint, \
             pool::text, allocated_seq, attachment, owner, position, boot_id, boottime_ns, \
             content, cooldown_seconds, called_boot_id, called_boottime_ns, container_id = '' \
             from ipledger.addresses",
            no_parameters,
        )
        .await
        .map_err(|e| classify(&e))?;
    let mut rows = std::pin::pin!(rows);
    while let Some(row) = rows.try_next().await.map_err(|e| classify(&e))? {
        let record = record(state, &row, now_us)?;
        state.put(record);
        // Nothing here is ever rolled back, so the journal need not grow.
        state.commit();
    }
    Ok(())
}

fn record(state: &mut State, row: &Row, now_us: i64) -> Result<Record, Error> {
    let ip: IpAddr = row.get(1);
    let inconsistent = |problem: &str| Error::Inconsistent {
        table: "addresses",
        row: ip.to_string(),
        problem: problem.to_owned(),
    };
    let space = state
        .spaces
        .index_of_id(row.get(0))
        .ok_or_else(|| inconsistent("its space does not exist"))?;
    let cidr = parse_net("addresses", row.get(5))?;
    let pool = state
        .pools
        .find(space, cidr)
        .ok_or_else(|| inconsistent("its pool is unknown"))?;
    let step = to_u32(row.get(2));
    let at_us: i64 = row.get(4);
    let cooldown_seconds = to_u32(row.get(13));
    // Only a reservation has no sandbox.
    let is_reserved: bool = row.get(16);
    let class = match step % 2 {
        0 if is_reserved => Class::Reserved,
        0 => Class::Held,
        _ if at_us + i64::from(cooldown_seconds) * 1_000_000 > now_us => Class::Cooling,
        _ => Class::Free,
    };
    let (called, allocated) = ((row.get(14), row.get(15)), (row.get(10), row.get(11)));
    let token = last_token(called, allocated);
    let boot = token.map(|token| state.order.see(&token).boot);
    Ok(Record {
        number: address::to_number(ip),
        attachment: to_key(row.get(7)),
        owner: row.get::<_, Option<&[u8]>>(8).map_or(0, to_key),
        boottime_ns: token.map_or(0, |token| token.boottime_ns),
        seq: to_u64(row.get(3)),
        allocated_seq: to_u64(row.get(6)),
        at_us,
        content: row.get::<_, i64>(12).cast_unsigned(),
        boot,
        space,
        pool,
        step,
        cooldown_seconds,
        position: u16::try_from(row.get::<_, i16>(9)).unwrap_or(0),
        family: address::family(ip),
        class,
    })
}

/// For whom addresses are kept; what was noted for an earlier hold counts no more.
async fn keeps(client: &Client, state: &mut State) -> Result<(), Error> {
    let rows = client
        .query(
            "select k.space_id, k.ip, k.name, k.seconds from ipledger.keeps k \
             join ipledger.addresses a using (space_id, ip, allocated_seq)",
            &[],
        )
        .await
        .map_err(|e| classify(&e))?;
    for row in rows {
        let keep = Keep {
            name: to_key(row.get(2)),
            seconds: to_u32(row.get(3)),
        };
        if let Some(space) = state.spaces.index_of_id(row.get(0)) {
            state.keep_address(space, row.get(1), keep);
        }
    }
    state.commit();
    Ok(())
}

/// The database's time, in microseconds.
pub(super) async fn database_time(client: &Client) -> Result<i64, Error> {
    let row = client
        .query_one(
            "select (extract(epoch from clock_timestamp()) * 1000000)::bigint",
            &[],
        )
        .await
        .map_err(|e| classify(&e))?;
    Ok(row.get(0))
}

/// The database's columns hold 16 bytes; a shorter one would match nothing.
fn to_key(bytes: &[u8]) -> Key {
    bytes.try_into().map_or(0, Key::from_be_bytes)
}

fn parse_net(table: &'static str, text: &str) -> Result<IpNet, Error> {
    text.parse().map_err(|_| Error::Inconsistent {
        table,
        row: text.to_owned(),
        problem: "not a CIDR".to_owned(),
    })
}
