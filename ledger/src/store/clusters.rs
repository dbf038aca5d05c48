//! Clusters: who may act for one, and what is done to one as a whole.

mod gate;
mod release;

use std::time::Duration;

use ipnet::IpNet;

pub use release::{ClusterReleased, ReleaseCluster};

use super::ledger::{Ledger, unexpected};
use crate::answer::{Answer, HoldReleased};
use crate::command::{Command, ReleaseHold};
use crate::error::Error;
use crate::refusal::Refusal;

impl Ledger {
    /// Refuse a caller that means another cluster than the one that goes by the name. A name is
    /// bound once and for all, so the look is as good later.
    ///
    /// # Errors
    /// [`Refusal::ClusterMismatch`]; [`Error::Unavailable`] without a database.
    pub(super) async fn check_identity(
        &self,
        cluster: &str,
        uid: Option<&str>,
    ) -> Result<(), Error> {
        let Some(given) = uid else {
            return Ok(());
        };
        match self.bound_uid(cluster).await? {
            Some(bound) if bound != given => Err(Error::Refused(Refusal::ClusterMismatch {
                cluster: cluster.to_owned(),
                bound,
                given: given.to_owned(),
            })),
            _ => Ok(()),
        }
    }

    async fn bound_uid(&self, cluster: &str) -> Result<Option<String>, Error> {
        let uid: Option<Option<String>> =
            sqlx::query_scalar("select uid from ipledger.clusters where name = $1")
                .bind(cluster)
                .fetch_optional(&self.reads)
                .await?;
        Ok(uid.flatten())
    }

    /// End one hold, named by address and step, unless it is of another cluster than the caller
    /// means.
    ///
    /// # Errors
    /// As [`Ledger::execute`].
    pub async fn release_hold(
        &self,
        release: ReleaseHold,
        cluster_uid: Option<&str>,
        wait: Duration,
    ) -> Result<HoldReleased, Error> {
        if cluster_uid.is_some()
            && let Some(cluster) = self.cluster_of(&release).await?
        {
            self.check_identity(&cluster, cluster_uid).await?;
        }
        let command = Command::ReleaseHold(Box::new(release));
        match self.execute(command, wait).await? {
            Answer::HoldReleased(released) => Ok(released),
            other => Err(unexpected(&other)),
        }
    }

    /// The cluster of this very hold, also after its end; no later holder's.
    async fn cluster_of(&self, release: &ReleaseHold) -> Result<Option<String>, Error> {
        let step = i64::from(release.step);
        let cluster = sqlx::query_scalar(
            "select a.cluster from ipledger.addresses a
             where a.space_id = (select id from ipledger.spaces where name = $1)
                and a.ip = $2 and a.step in ($3, $3 + 1)",
        )
        .bind(&release.space)
        .bind(IpNet::from(release.ip))
        .bind(step)
        .fetch_optional(&self.reads)
        .await?;
        Ok(cluster)
    }
}
