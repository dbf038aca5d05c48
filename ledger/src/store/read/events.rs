use std::net::IpAddr;

use ipnet::IpNet;
use jiff::Timestamp;
use sqlx::Row as _;
use sqlx::postgres::PgRow;

use super::super::ledger::Ledger;
use super::rows;
use crate::decide::timestamp;
use crate::error::Error;
use crate::refusal::Refusal;

/// One event in full.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// Name of the space.
    pub space: String,
    /// Position.
    pub seq: u64,
    /// Epoch when it was recorded.
    pub epoch: u32,
    /// When it was recorded.
    pub recorded_at: Timestamp,
    /// When the actor says that it happened; `None` if it said nothing. Another axis: nothing is
    /// ordered or decided by it.
    pub claimed_at: Option<Timestamp>,
    /// The address, if it is about one.
    pub ip: Option<IpAddr>,
    /// Its step.
    pub step: Option<u32>,
    /// Position of the event before it in the life of the address; `None` at step 0.
    pub predecessor_seq: Option<u64>,
    /// The kind, as stored.
    pub kind: String,
    /// Version of the payload's encoding; 0 if the payload was moved away.
    pub encoding: u16,
    /// The payload; null if it was moved away.
    pub payload: serde_json::Value,
    /// SHA-256 of the payload's bytes.
    pub digest: [u8; 32],
    /// Hash of the event.
    pub hash: [u8; 32],
    /// Hash of the event before it; zeros for the first.
    pub previous_hash: [u8; 32],
}

/// Which events.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventQuery {
    /// Name of the space.
    pub space: String,
    /// Only those about this address.
    pub address: Option<IpAddr>,
    /// Only those after this position.
    pub after_seq: u64,
    /// How many at most.
    pub limit: u32,
}

/// What an [`Event`] is made of, of the guard row `e` and the space `s`.
macro_rules! event_columns {
    () => {
        "s.name as space, e.seq, e.epoch, e.ip, e.step, e.digest, e.hash,
        (extract(epoch from e.recorded_at) * 1000000)::bigint as recorded_at_us,
        coalesce((select b.hash from ipledger.events b
            where b.space_id = e.space_id and b.seq = e.seq - 1),
            decode(repeat('00', 32), 'hex')) as previous_hash,
        (select b.seq from ipledger.events b where b.ip = e.ip and b.step = e.previous_step
            and b.space_id = e.space_id) as predecessor_seq,
        coalesce(p.kind, 'unknown') as kind, coalesce(p.encoding, 0::smallint) as encoding, p.body"
    };
}
pub(super) use event_columns;

const OF_SPACE: &str = concat!(
    "select ",
    event_columns!(),
    " from ipledger.spaces s
    join ipledger.events e on e.space_id = s.id
    left join ipledger.payloads p on p.space_id = e.space_id and p.seq = e.seq
    where s.id = $1 and e.seq > $2 order by e.seq limit $3"
);

/// By step, which is the order of position as well.
const OF_ADDRESS: &str = concat!(
    "select ",
    event_columns!(),
    " from ipledger.spaces s
    join ipledger.events e on e.space_id = s.id
    left join ipledger.payloads p on p.space_id = e.space_id and p.seq = e.seq
    where s.id = $1 and e.seq > $2 and e.ip = $4 order by e.step limit $3"
);

impl Ledger {
    /// Events of a space in order of position.
    ///
    /// # Errors
    /// [`Refusal::NoSuchSpace`]; [`Error::Unavailable`] without a database.
    pub async fn events(&self, query: &EventQuery) -> Result<Vec<Event>, Error> {
        let space_id = self.space_id(&query.space).await?;
        let found = match query.address {
            None => sqlx::query(OF_SPACE),
            Some(_) => sqlx::query(OF_ADDRESS),
        };
        let mut found = found
            .bind(space_id)
            .bind(rows::to_i64(query.after_seq))
            .bind(i64::from(query.limit));
        if let Some(ip) = query.address {
            found = found.bind(IpNet::from(ip));
        }
        let found = found.fetch_all(&self.reads).await?;
        found.iter().map(event).collect()
    }

    pub(super) async fn space_id(&self, space: &str) -> Result<i32, Error> {
        sqlx::query_scalar("select id from ipledger.spaces where name = $1")
            .bind(space)
            .fetch_optional(&self.reads)
            .await?
            .ok_or_else(|| Refusal::NoSuchSpace(space.to_owned()).into())
    }
}

/// An event from its row; see [`event_columns`].
pub(super) fn event(row: &PgRow) -> Result<Event, Error> {
    let seq = rows::position(row, "seq")?;
    let space: String = row.try_get("space")?;
    let body: Option<Vec<u8>> = row.try_get("body")?;
    let payload = match body {
        None => serde_json::Value::Null,
        Some(body) => serde_json::from_slice(&body).map_err(|error| Error::Inconsistent {
            table: "payloads",
            row: format!("space {space} seq {seq}"),
            problem: error.to_string(),
        })?,
    };
    let predecessor: Option<i64> = row.try_get("predecessor_seq")?;
    Ok(Event {
        space,
        seq,
        epoch: u32::try_from(row.try_get::<i32, _>("epoch")?).unwrap_or(0),
        recorded_at: rows::time(row, "recorded_at_us")?,
        claimed_at: payload["claimed_at_us"].as_i64().map(timestamp),
        ip: rows::ip(row, "ip")?,
        step: rows::step(row, "step")?,
        predecessor_seq: predecessor.map(|seq| u64::try_from(seq).unwrap_or(0)),
        kind: row.try_get("kind")?,
        encoding: u16::try_from(row.try_get::<i16, _>("encoding")?).unwrap_or(0),
        payload,
        digest: rows::hash(row, "digest")?,
        hash: rows::hash(row, "hash")?,
        previous_hash: rows::hash(row, "previous_hash")?,
    })
}
