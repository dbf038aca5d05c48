use std::net::IpAddr;

use ipnet::IpNet;
use jiff::Timestamp;
use sqlx::Row as _;
use sqlx::postgres::PgRow;

use super::super::ledger::Ledger;
use super::rows;
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
    /// The address, if it is about one.
    pub ip: Option<IpAddr>,
    /// Its step.
    pub step: Option<u32>,
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

impl Ledger {
    /// Events of a space in order of position.
    ///
    /// # Errors
    /// [`Refusal::NoSuchSpace`]; [`Error::Unavailable`] without a database.
    pub async fn events(&self, query: &EventQuery) -> Result<Vec<Event>, Error> {
        let space_id: Option<i32> =
            sqlx::query_scalar("select id from ipledger.spaces where name = $1")
                .bind(&query.space)
                .fetch_optional(&self.reads)
                .await?;
        let space_id = space_id.ok_or_else(|| Refusal::NoSuchSpace(query.space.clone()))?;
        let found = sqlx::query(
            "select e.seq, e.epoch, e.ip, e.step, e.digest, e.hash,
                (extract(epoch from e.recorded_at) * 1000000)::bigint as recorded_at_us,
                coalesce(b.hash, decode(repeat('00', 32), 'hex')) as previous_hash,
                coalesce(p.kind, 'unknown') as kind, coalesce(p.encoding, 0::smallint) as encoding,
                p.body
             from ipledger.events e
             left join ipledger.events b on b.space_id = e.space_id and b.seq = e.seq - 1
             left join ipledger.payloads p on p.space_id = e.space_id and p.seq = e.seq
             where e.space_id = $1 and e.seq > $2 and ($3::inet is null or e.ip = $3)
             order by e.seq limit $4",
        )
        .bind(space_id)
        .bind(rows::to_i64(query.after_seq))
        .bind(query.address.map(IpNet::from))
        .bind(i64::from(query.limit))
        .fetch_all(&self.reads)
        .await?;
        found.iter().map(|row| event(&query.space, row)).collect()
    }
}

fn event(space: &str, row: &PgRow) -> Result<Event, Error> {
    let seq = rows::position(row, "seq")?;
    let body: Option<Vec<u8>> = row.try_get("body")?;
    let payload = match body {
        None => serde_json::Value::Null,
        Some(body) => serde_json::from_slice(&body).map_err(|error| Error::Inconsistent {
            table: "payloads",
            row: format!("space {space} seq {seq}"),
            problem: error.to_string(),
        })?,
    };
    Ok(Event {
        space: space.to_owned(),
        seq,
        epoch: u32::try_from(row.try_get::<i32, _>("epoch")?).unwrap_or(0),
        recorded_at: rows::time(row, "recorded_at_us")?,
        ip: rows::ip(row, "ip")?,
        step: rows::step(row, "step")?,
        kind: row.try_get("kind")?,
        encoding: u16::try_from(row.try_get::<i16, _>("encoding")?).unwrap_or(0),
        payload,
        digest: rows::hash(row, "digest")?,
        hash: rows::hash(row, "hash")?,
        previous_hash: rows::hash(row, "previous_hash")?,
    })
}
