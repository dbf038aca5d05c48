use std::net::IpAddr;

use ipnet::IpNet;
use jiff::Timestamp;
use sqlx::Row as _;
use sqlx::postgres::PgRow;

use crate::decide::timestamp;
use crate::error::Error;
use crate::event::Payload;

/// Times cross as microseconds under this name.
pub(in super::super) fn time(row: &PgRow, column: &str) -> Result<Timestamp, Error> {
    Ok(timestamp(row.try_get(column)?))
}

/// A host address.
pub(in super::super) fn ip(row: &PgRow, column: &str) -> Result<Option<IpAddr>, Error> {
    let net: Option<IpNet> = row.try_get(column)?;
    Ok(net.map(|net| net.addr()))
}

/// Positions and steps are never negative: the database's checks refuse it.
pub(in super::super) fn position(row: &PgRow, column: &str) -> Result<u64, Error> {
    Ok(u64::try_from(row.try_get::<i64, _>(column)?).unwrap_or(0))
}

pub(in super::super) fn step(row: &PgRow, column: &str) -> Result<Option<u32>, Error> {
    let step: Option<i32> = row.try_get(column)?;
    Ok(step.map(|step| u32::try_from(step).unwrap_or(0)))
}

pub(in super::super) fn hash(row: &PgRow, column: &str) -> Result<[u8; 32], Error> {
    let bytes: Vec<u8> = row.try_get(column)?;
    Ok(bytes.try_into().unwrap_or([0; 32]))
}

/// A stored payload; the error says which.
pub(in super::super) fn payload(body: &[u8], space: &str, seq: u64) -> Result<Payload, Error> {
    serde_json::from_slice(body).map_err(|error| Error::Inconsistent {
        table: "payloads",
        row: format!("space {space} seq {seq}"),
        problem: error.to_string(),
    })
}

pub(in super::super) fn to_i64(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
