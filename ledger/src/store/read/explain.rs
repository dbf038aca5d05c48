//! Who is in the way: looked up for the text of a refusal, and worth no more than that.

use std::time::Duration;

use ipnet::IpNet;
use sqlx::Postgres;
use sqlx::postgres::{PgArguments, PgRow};
use sqlx::query::Query;

use super::super::ledger::Ledger;
use super::holds::{Hold, hold};
use crate::error::Error;
use crate::refusal::HoldRef;

impl Ledger {
    /// Who holds an address that a refusal speaks of; `None` if it was freed meanwhile. The
    /// database gives up after `patience`, also if the caller is gone by then.
    ///
    /// # Errors
    /// [`Error::Unavailable`] without a database; [`Error::Database`] if it took too long.
    pub async fn describe(&self, of: &HoldRef, patience: Duration) -> Result<Option<Hold>, Error> {
        let query = sqlx::query(
            "select a.ip, a.step, a.seq, p.body,
                (extract(epoch from a.recorded_at) * 1000000)::bigint as recorded_at_us
             from ipledger.addresses a
             join ipledger.payloads p on p.space_id = a.space_id and p.seq = a.seq
             where a.space_id = (select id from ipledger.spaces where name = $1)
                and a.ip = $2 and a.step = $3",
        )
        .bind(&of.space)
        .bind(IpNet::from(of.ip))
        .bind(i64::from(of.step));
        let found = self.look(query, patience).await?;
        found.map(|row| hold(&of.space, &row)).transpose()
    }

    /// The oldest hold of a window among those of its pool. The database gives up after
    /// `patience`, also if the caller is gone by then.
    ///
    /// # Errors
    /// [`Error::Unavailable`] without a database; [`Error::Database`] if it took too long.
    pub async fn oldest_hold(
        &self,
        space: &str,
        window: &address::Window,
        patience: Duration,
    ) -> Result<Option<Hold>, Error> {
        let query = sqlx::query(
            "select a.ip, a.step, a.seq, p.body,
                (extract(epoch from a.recorded_at) * 1000000)::bigint as recorded_at_us
             from ipledger.addresses a
             join ipledger.payloads p on p.space_id = a.space_id and p.seq = a.seq
             where a.space_id = (select id from ipledger.spaces where name = $1)
                and a.pool = $2::cidr and a.step % 2 = 0 and p.kind = 'allocated' and a.ip between $3 and $4
             order by a.allocated_seq limit 1",
        )
        .bind(space)
        .bind(window.cidr())
        .bind(IpNet::from(window.start()))
        .bind(IpNet::from(window.end()));
        let found = self.look(query, patience).await?;
        found.map(|row| hold(space, &row)).transpose()
    }

    pub(super) async fn look(
        &self,
        query: Query<'_, Postgres, PgArguments>,
        patience: Duration,
    ) -> Result<Option<PgRow>, Error> {
        let mut transaction = self.reads.begin().await?;
        sqlx::query("select set_config('statement_timeout', $1, true)")
            .bind(format!("{}ms", patience.as_millis().max(1)))
            .execute(&mut *transaction)
            .await?;
        let found = query.fetch_optional(&mut *transaction).await?;
        transaction.rollback().await?;
        Ok(found)
    }
}
