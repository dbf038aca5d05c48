use std::net::IpAddr;
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use ipnet::IpNet;
use serde_json::{Map, Value};
use sqlx::Row as _;

use super::super::ledger::{Ledger, unexpected};
use crate::answer::Answer;
use crate::command::{Command, ReleaseHold};
use crate::error::Error;
use crate::model::Provenance;
use crate::refusal::Refusal;

/// Holds ended together.
const BATCH: i64 = 256;
/// Time kept for the answer.
const MARGIN: Duration = Duration::from_secs(1);

/// See [`Ledger::release_cluster`].
#[derive(Debug, Clone)]
pub struct ReleaseCluster {
    /// Name of the cluster.
    pub cluster: String,
    /// The UID that it is bound to; `None` only if it never was bound.
    pub uid: Option<String>,
    /// Why.
    pub reason: String,
    /// Count, but write nothing.
    pub dry_run: bool,
    /// Where the command comes from.
    pub provenance: Provenance,
}

/// What became of the holds of a cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClusterReleased {
    /// Ended now.
    pub released: u64,
    /// Not ended yet.
    pub remaining: u64,
}

/// One hold, by its place.
struct Place {
    space_id: i32,
    space: String,
    ip: IpAddr,
    step: u32,
}

impl Ledger {
    /// End everything that a cluster holds which does not exist any more, each hold with an event
    /// of its own. What the time does not suffice for is left to the same call again.
    ///
    /// # Errors
    /// [`Refusal::ClusterMismatch`], [`Refusal::NoSuchCluster`], and as [`Ledger::execute`]; what
    /// was ended before an error stays ended.
    pub async fn release_cluster(
        &self,
        release: &ReleaseCluster,
        wait: Duration,
    ) -> Result<ClusterReleased, Error> {
        let end = Instant::now() + wait;
        self.check_release(release).await?;
        let mut released = 0;
        let mut after = (0, IpAddr::from([0, 0, 0, 0]));
        while !release.dry_run && Instant::now() + MARGIN < end {
            let places = self.holds_of_cluster(&release.cluster, after).await?;
            let Some(last) = places.last() else {
                break;
            };
            after = (last.space_id, last.ip);
            let left = end.saturating_duration_since(Instant::now());
            let commands = places.iter().map(|place| {
                let command = release_place(release, place);
                self.execute(Command::ReleaseHold(Box::new(command)), left)
            });
            for outcome in join_all(commands).await {
                match outcome {
                    Ok(Answer::HoldReleased(ended)) => released += u64::from(!ended.repeated),
                    Ok(other) => return Err(unexpected(&other)),
                    // Somebody else ended it, and it is held again: not the hold that was meant.
                    Err(Error::Refused(Refusal::StepMismatch { .. })) => {}
                    Err(error) => return Err(error),
                }
            }
        }
        let remaining: i64 = sqlx::query_scalar(
            "select count(*) from ipledger.addresses a where a.cluster = $1 and a.step % 2 = 0",
        )
        .bind(&release.cluster)
        .fetch_one(&self.reads)
        .await?;
        Ok(ClusterReleased {
            released,
            remaining: u64::try_from(remaining).unwrap_or(0),
        })
    }

    async fn check_release(&self, release: &ReleaseCluster) -> Result<(), Error> {
        let cluster = release.cluster.as_str();
        self.check_identity(cluster, release.uid.as_deref()).await?;
        let invalid = |value: &str, problem: &str| {
            Err(Error::Refused(Refusal::Invalid {
                key: "uid".to_owned(),
                value: value.to_owned(),
                problem: problem.to_owned(),
            }))
        };
        match (self.bound_uid(cluster).await?, &release.uid) {
            (Some(_), None) => invalid("", "is missing, and the cluster is bound to a UID"),
            (None, Some(given)) => invalid(
                given,
                "is given, and the cluster was never bound to a UID: leave it out",
            ),
            (Some(_), Some(_)) => Ok(()),
            (None, None) => {
                let is_known: bool = sqlx::query_scalar(
                    "select exists (select from ipledger.space_members where cluster = $1)",
                )
                .bind(cluster)
                .fetch_one(&self.reads)
                .await?;
                if is_known {
                    return Ok(());
                }
                Err(Error::Refused(Refusal::NoSuchCluster(cluster.to_owned())))
            }
        }
    }

    async fn holds_of_cluster(
        &self,
        cluster: &str,
        (space_id, ip): (i32, IpAddr),
    ) -> Result<Vec<Place>, Error> {
        let found = sqlx::query(
            "select a.space_id, s.name, a.ip, a.step from ipledger.addresses a
             join ipledger.spaces s on s.id = a.space_id
             where a.cluster = $1 and a.step % 2 = 0 and (a.space_id, a.ip) > ($2, $3)
             order by a.space_id, a.ip limit $4",
        )
        .bind(cluster)
        .bind(space_id)
        .bind(IpNet::from(ip))
        .bind(BATCH)
        .fetch_all(&self.reads)
        .await?;
        found
            .iter()
            .map(|row| {
                let net: IpNet = row.try_get("ip")?;
                Ok(Place {
                    space_id: row.try_get("space_id")?,
                    space: row.try_get("name")?,
                    ip: net.addr(),
                    step: u32::try_from(row.try_get::<i32, _>("step")?).unwrap_or(0),
                })
            })
            .collect()
    }
}

fn release_place(release: &ReleaseCluster, place: &Place) -> ReleaseHold {
    let mut evidence = Map::new();
    evidence.insert("cluster".to_owned(), Value::from(release.cluster.as_str()));
    if let Some(uid) = &release.uid {
        evidence.insert("cluster_uid".to_owned(), Value::from(uid.as_str()));
    }
    evidence.insert("kind".to_owned(), Value::from("operator"));
    ReleaseHold {
        space: place.space.clone(),
        ip: place.ip,
        step: place.step,
        reason: release.reason.clone(),
        evidence,
        provenance: release.provenance.clone(),
    }
}
