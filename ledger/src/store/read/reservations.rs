use std::net::IpAddr;
use std::time::Duration;

use ipnet::IpNet;
use jiff::Timestamp;
use sqlx::postgres::PgRow;

use super::super::ledger::Ledger;
use super::holds::{Hold, hold};
use super::rows;
use crate::error::Error;
use crate::model::Actor;
use crate::refusal::HoldRef;

/// An address that is set aside by hand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reservation {
    /// Name of the space.
    pub space: String,
    /// CIDR of the pool.
    pub pool: IpNet,
    /// The address.
    pub ip: IpAddr,
    /// The even step.
    pub step: u32,
    /// Position of the event.
    pub seq: u64,
    /// When it was recorded.
    pub recorded_at: Timestamp,
    /// Who set it aside.
    pub actor: Actor,
    /// Why.
    pub reason: String,
}

/// Which reservations.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReservationQuery {
    /// Only of this space.
    pub space: Option<String>,
    /// Only after this place.
    pub after: Option<(String, IpAddr)>,
    /// How many at most.
    pub limit: u32,
}

/// An address without a sandbox is set aside.
const COLUMNS: &str = "
    select s.name, a.ip, a.step, a.seq, p.body,
        (extract(epoch from a.recorded_at) * 1000000)::bigint as recorded_at_us
    from ipledger.addresses a
    join ipledger.spaces s on s.id = a.space_id
    join ipledger.payloads p on p.space_id = a.space_id and p.seq = a.seq
    where a.step % 2 = 0 and a.container_id = ''";

impl Ledger {
    /// What is set aside now, by space and address.
    ///
    /// # Errors
    /// [`crate::Refusal::NoSuchSpace`]; [`Error::Unavailable`] without a database.
    pub async fn reservations(&self, query: &ReservationQuery) -> Result<Vec<Reservation>, Error> {
        if let Some(space) = &query.space {
            self.space_id(space).await?;
        }
        let (after_space, after_ip) = query.after.clone().unzip();
        let sql = format!(
            "{COLUMNS} and ($1::text is null or s.name = $1)
                and ($2::text is null or s.name collate \"C\" > $2 or s.name = $2 and a.ip > $3)
             order by s.name collate \"C\", a.ip limit $4"
        );
        let found = sqlx::query(sqlx::AssertSqlSafe(sql))
            .bind(&query.space)
            .bind(after_space)
            .bind(after_ip.map(IpNet::from))
            .bind(i64::from(query.limit))
            .fetch_all(&self.reads)
            .await?;
        found.iter().map(reservation).collect()
    }

    /// Who set an address aside that a refusal speaks of; `None` if it was given back meanwhile.
    /// The database gives up after `patience`, also if the caller is gone by then.
    ///
    /// # Errors
    /// [`Error::Unavailable`] without a database; [`Error::Database`] if it took too long.
    pub async fn describe_reservation(
        &self,
        of: &HoldRef,
        patience: Duration,
    ) -> Result<Option<Reservation>, Error> {
        let sql = format!("{COLUMNS} and s.name = $1 and a.ip = $2 and a.step = $3");
        let query = sqlx::query(sqlx::AssertSqlSafe(sql))
            .bind(&of.space)
            .bind(IpNet::from(of.ip))
            .bind(i64::from(of.step));
        let found = self.look(query, patience).await?;
        found.map(|row| reservation(&row)).transpose()
    }

    /// Who had an address last that a refusal speaks of; `None` if it is held again, or if the
    /// payload was moved away. The database gives up after `patience`.
    ///
    /// # Errors
    /// [`Error::Unavailable`] without a database; [`Error::Database`] if it took too long.
    pub async fn describe_last(
        &self,
        of: &HoldRef,
        patience: Duration,
    ) -> Result<Option<Hold>, Error> {
        let query = sqlx::query(
            "select a.ip, a.step - 1 as step, a.allocated_seq as seq, p.body,
                (extract(epoch from a.allocated_at) * 1000000)::bigint as recorded_at_us
             from ipledger.addresses a
             join ipledger.payloads p on p.space_id = a.space_id and p.seq = a.allocated_seq
             where a.space_id = (select id from ipledger.spaces where name = $1)
                and a.ip = $2 and a.step = $3",
        )
        .bind(&of.space)
        .bind(IpNet::from(of.ip))
        .bind(i64::from(of.step));
        let found = self.look(query, patience).await?;
        found.map(|row| hold(&of.space, &row)).transpose()
    }
}

fn reservation(row: &PgRow) -> Result<Reservation, Error> {
    use sqlx::Row as _;
    let space: String = row.try_get("name")?;
    let seq = rows::position(row, "seq")?;
    let body: Vec<u8> = row.try_get("body")?;
    let payload = rows::payload(&body, &space, seq)?;
    let inconsistent = |problem: &str| Error::Inconsistent {
        table: "payloads",
        row: format!("space {space} seq {seq}"),
        problem: problem.to_owned(),
    };
    let decision = payload
        .decision
        .ok_or_else(|| inconsistent("it has no decision record"))?;
    Ok(Reservation {
        pool: decision.window.cidr,
        ip: rows::ip(row, "ip")?.ok_or_else(|| inconsistent("it has no address"))?,
        step: rows::step(row, "step")?.ok_or_else(|| inconsistent("it has no step"))?,
        seq,
        recorded_at: rows::time(row, "recorded_at_us")?,
        actor: payload.actor,
        reason: payload.reason,
        space,
    })
}
