use std::time::{Duration, Instant};

use sqlx::Row as _;

use super::super::ledger::{Ledger, unexpected};
use super::super::read::rows;
use crate::answer::{Answer, GateSet};
use crate::command::{Command, SetGate};
use crate::decide::SHARED;
use crate::error::Error;

impl Ledger {
    /// Close or open a cluster's gate. After the answer every replica keeps to it: each space that
    /// an allocate of the cluster could write to has an event that says so, and `append` takes
    /// nothing from whoever does not know it.
    ///
    /// # Errors
    /// As [`Ledger::execute`]; the same command again finishes what was begun.
    pub async fn set_gate(&self, mut set: SetGate, wait: Duration) -> Result<GateSet, Error> {
        let deadline = Instant::now() + wait;
        let mut repeated = true;
        loop {
            (set.spaces, set.read_at) = self.spaces_of_gate(&set.cluster).await?;
            let left = deadline.saturating_duration_since(Instant::now());
            let command = Command::SetGate(Box::new(set.clone()));
            let outcome = match self.execute(command, left).await? {
                Answer::GateSet(outcome) => outcome,
                other => return Err(unexpected(&other)),
            };
            repeated &= outcome.repeated;
            // A space may have been opened after the reading and before the gate was set. With a
            // reading that is later than the gate none can be missing.
            if outcome.settled {
                return Ok(GateSet {
                    repeated,
                    ..outcome
                });
            }
        }
    }

    /// Names of the spaces that must tell a cluster's gate, and the head of its default space.
    async fn spaces_of_gate(&self, cluster: &str) -> Result<(Vec<String>, u64), Error> {
        let found = sqlx::query(
            "select s.name, s.seq, coalesce(s.id = (select m.space_id
                    from ipledger.space_members m
                    where m.cluster = $1 and m.network_name = ''), false) as is_default
             from ipledger.spaces s join ipledger.spaces o on o.id = coalesce(s.parent, s.id)
             where starts_with(o.name, $2) or exists (select from ipledger.space_members m
                where m.cluster = $1 and m.space_id = o.id)",
        )
        .bind(cluster)
        .bind(SHARED)
        .fetch_all(&self.reads)
        .await?;
        let mut names = Vec::with_capacity(found.len());
        let mut read_at = 0;
        for row in &found {
            names.push(row.try_get("name")?);
            if row.try_get("is_default")? {
                read_at = rows::position(row, "seq")?;
            }
        }
        Ok((names, read_at))
    }
}
