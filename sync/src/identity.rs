//! The proof that the cluster that answers is the one that the ledger knows under its name.

use std::time::Duration;

use ipledger_client::asynchronous::Client;
use ipledger_client::types::ProblemCode;
use ipledger_client::{Budget, ClientError};

use crate::diff::BoundCluster;
use crate::observe::DirectReader;
use crate::obstacle::Obstacle;

/// How long the ledger may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// Whether a name that the ledger does not know is bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FirstContact {
    /// To the cluster that answers.
    Bind,
    /// Not at all: nothing may be written.
    Refuse,
}

/// The name of a cluster and the UID that it is bound to.
#[derive(Debug)]
pub struct Identity {
    cluster: String,
    first_contact: FirstContact,
    /// Once known it stays: a binding is for ever.
    bound: Option<String>,
}

impl Identity {
    /// Of the cluster with this configured name.
    #[must_use]
    pub fn new(cluster: &str, first_contact: FirstContact) -> Self {
        Self {
            cluster: cluster.to_owned(),
            first_contact,
            bound: None,
        }
    }

    /// Reads who answers, for one pass.
    ///
    /// # Errors
    /// It cannot be read, or it is another cluster.
    pub async fn prove(
        &mut self,
        reader: &DirectReader,
        ledger: &Client,
    ) -> Result<BoundCluster, Obstacle> {
        let read = reader.kube_system().await;
        let (read_at, found) =
            read.map_err(|(blind, text)| Obstacle::IdentityUnread { blind, text })?;
        if self.bound.is_none() {
            self.bound = self.ask(ledger).await?;
        }
        if self.bound.is_none() && self.first_contact == FirstContact::Bind {
            self.bound = Some(self.bind(ledger, &found).await?);
        }
        let bound = self.bound.as_deref();
        Ok(BoundCluster::verify(&self.cluster, bound, &found, read_at)?)
    }

    async fn ask(&self, ledger: &Client) -> Result<Option<String>, ClientError> {
        let clusters = ledger.clusters(Budget::within(PATIENCE)).await?;
        let known = clusters
            .into_iter()
            .find(|known| known.name == self.cluster);
        Ok(known.and_then(|known| known.uid))
    }

    async fn bind(&self, ledger: &Client, uid: &str) -> Result<String, Obstacle> {
        let budget = Budget::within(PATIENCE);
        let answer = ledger.bind_cluster(&self.cluster, uid, budget).await;
        match answer {
            Ok(cluster) => {
                tracing::info!(cluster = self.cluster, uid, "the cluster's name is bound");
                Ok(cluster.uid.unwrap_or_else(|| uid.to_owned()))
            }
            Err(ClientError::Problem(problem)) if problem.code == ProblemCode::ClusterMismatch => {
                Err(Obstacle::BindRefused(problem.detail))
            }
            Err(error) => Err(error.into()),
        }
    }
}
