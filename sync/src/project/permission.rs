//! Whether objects may be written at all.

use std::time::Duration;

use ipledger_client::asynchronous::Client;
use ipledger_client::types::{ClusterState, Gate};
use ipledger_client::{Budget, ClientError};
use k8s_openapi::api::core::v1::Namespace;

use super::plan::StoredObjects;
use super::stored::StoredContent;
use crate::cut_over::{self, Workload};

/// How long the ledger and the API server may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// What the operator says about writing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub enum ProjectionMode {
    /// Write, unless whereabouts may still be using the objects.
    #[default]
    Auto,
    /// Write, whoever made the objects that are there. A closed gate still stops it.
    On,
    /// Compare, and write nothing.
    Shadow,
}

/// Why nothing is written now.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Withheld {
    /// The operator wants a comparison only.
    #[error("the projection is set to shadow: it compares and writes nothing")]
    Shadow,
    /// The gate is closed since (first field), for a reason.
    #[error(
        "the gate of the cluster is closed since {0} ({1}): the objects belong to whoever gives out addresses now"
    )]
    GateClosed(String, String),
    /// There are objects that this program never wrote.
    #[error(
        "{0} is not ours and shows holds: import them and cut over (ipledger-sync cut-over), or \
         set the projection to on"
    )]
    ForeignObjects(String),
    /// whereabouts runs in the cluster.
    #[error("{0} runs in the cluster and may use the objects: cut over (ipledger-sync cut-over)")]
    IncumbentRuns(String),
    /// The ledger does not know the cluster, or has bound it to no UID.
    #[error("cluster {0} is not bound to a kube-system UID in the ledger")]
    NotBound(String),
    /// Another cluster answers: name, bound UID, UID found.
    #[error("cluster {0} is bound to kube-system UID {1}, but {2} answers; use its own kubeconfig")]
    AnotherCluster(String, String, String),
}

impl Withheld {
    /// A fixed word for metrics and logs.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Withheld::Shadow => "shadow",
            Withheld::GateClosed(..) => "gate_closed",
            Withheld::ForeignObjects(_) => "foreign_objects",
            Withheld::IncumbentRuns(_) => "incumbent_runs",
            Withheld::NotBound(_) => "not_bound",
            Withheld::AnotherCluster(..) => "another_cluster",
        }
    }

    /// Every word that [`Withheld::kind`] gives.
    pub const KINDS: [&str; 6] = [
        "shadow",
        "gate_closed",
        "foreign_objects",
        "incumbent_runs",
        "not_bound",
        "another_cluster",
    ];
}

/// What could not be read while asking for permission.
#[derive(Debug, thiserror::Error)]
pub enum PermissionError {
    /// The ledger cannot be asked.
    #[error("the gate of the cluster cannot be read: {0}")]
    Ledger(#[from] ClientError),
    /// The API server cannot be asked: what, and why.
    #[error("{0} cannot be read: {1}")]
    Kube(&'static str, Box<kube::Error>),
}

impl PermissionError {
    /// A fixed word for metrics and logs.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            PermissionError::Ledger(_) => "ledger_unavailable",
            PermissionError::Kube(..) => "api_server",
        }
    }
}

/// Whether the gate itself, and the setting, let objects be written; nothing if the objects and
/// the cluster have to be looked at.
fn by_gate(mode: ProjectionMode, gate: &Gate) -> Option<Result<(), Withheld>> {
    let since = gate.since.clone().unwrap_or_default();
    match (mode, gate.closed) {
        (ProjectionMode::Shadow, _) => Some(Err(Withheld::Shadow)),
        (_, true) => {
            let reason = gate.reason.clone().unwrap_or_default();
            Some(Err(Withheld::GateClosed(since, reason)))
        }
        (ProjectionMode::On, false) => Some(Ok(())),
        // It was closed and opened: the cluster was cut over.
        (ProjectionMode::Auto, false) if gate.since.is_some() => Some(Ok(())),
        (ProjectionMode::Auto, false) => None,
    }
}

/// By the objects, where the gate was never used: whether any of them is ours.
fn by_objects(stored: &StoredObjects) -> Option<Result<(), Withheld>> {
    if stored.values().any(|stored| stored.digest.is_some()) {
        return Some(Ok(()));
    }
    let shows = |content: &StoredContent| match content {
        StoredContent::Pool { entries, .. } => !entries.is_empty(),
        StoredContent::Reservation(_) | StoredContent::Unreadable(_) => true,
    };
    let foreign = stored.iter().find(|(_, stored)| shows(&stored.content));
    foreign.map(|(key, _)| Err(Withheld::ForeignObjects(key.to_string())))
}

/// By whose leave objects are written.
pub(super) enum Permit<'a> {
    /// It is asked for: of the setting, the gate, the cluster's identity, and, as long as the gate
    /// was never used, of what is in the cluster. While whereabouts gives out addresses from the
    /// objects, taking one of its entries out would give an address to two pods.
    Ask {
        mode: ProjectionMode,
        cluster: &'a str,
        ledger: &'a Client,
        kube: &'a kube::Client,
    },
    /// The cut-over has seen to it.
    Granted,
}

impl Permit<'_> {
    /// Whether objects may be written now, given what is stored. An error means that it cannot be
    /// told; then nothing may be written either.
    pub(super) async fn may_write(
        &self,
        stored: &StoredObjects,
    ) -> Result<Result<(), Withheld>, PermissionError> {
        let Permit::Ask {
            mode,
            cluster,
            ledger,
            kube,
        } = self
        else {
            return Ok(Ok(()));
        };
        let state = cluster_state(cluster, ledger).await?;
        if let Err(withheld) = check_identity(cluster, state.as_ref(), kube).await? {
            return Ok(Err(withheld));
        }
        let gate = state.map_or_else(never_used, |state| state.gate);
        if let Some(answer) = by_gate(*mode, &gate).or_else(|| by_objects(stored)) {
            return Ok(answer);
        }
        let running = cut_over::incumbent_workloads(kube).await;
        let running = running.map_err(|error| {
            PermissionError::Kube("Deployments and DaemonSets", Box::new(error))
        })?;
        Ok(match running.first().map(Workload::to_string) {
            Some(workload) => Err(Withheld::IncumbentRuns(workload)),
            None => Ok(()),
        })
    }
}

fn never_used() -> Gate {
    Gate {
        closed: false,
        reason: None,
        since: None,
        seq: None,
    }
}

/// The cluster as the ledger knows it.
///
/// # Errors
/// The ledger cannot be asked.
pub async fn cluster_state(
    cluster: &str,
    ledger: &Client,
) -> Result<Option<ClusterState>, ClientError> {
    let states = ledger.clusters(Budget::within(PATIENCE)).await?;
    Ok(states.into_iter().find(|state| state.name == cluster))
}

/// Whether the cluster that answers is the one that the ledger knows under this name. The holds of
/// one cluster must never be shown in another.
///
/// # Errors
/// The API server cannot be asked.
pub async fn check_identity(
    cluster: &str,
    state: Option<&ClusterState>,
    kube: &kube::Client,
) -> Result<Result<(), Withheld>, PermissionError> {
    let Some(bound) = state.and_then(|state| state.uid.as_ref()) else {
        return Ok(Err(Withheld::NotBound(cluster.to_owned())));
    };
    let found = kube_system_uid(kube).await?;
    if found == *bound {
        return Ok(Ok(()));
    }
    let withheld = Withheld::AnotherCluster(cluster.to_owned(), bound.clone(), found);
    Ok(Err(withheld))
}

/// UID of the namespace `kube-system`, read directly.
///
/// # Errors
/// The API server cannot be asked.
pub async fn kube_system_uid(kube: &kube::Client) -> Result<String, PermissionError> {
    let namespaces: kube::Api<Namespace> = kube::Api::all(kube.clone());
    let namespace = namespaces
        .get("kube-system")
        .await
        .map_err(|error| PermissionError::Kube("namespace kube-system", Box::new(error)))?;
    Ok(namespace.metadata.uid.unwrap_or_default())
}

#[cfg(test)]
#[path = "permission/tests.rs"]
mod tests;
