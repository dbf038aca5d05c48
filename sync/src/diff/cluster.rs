use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// A cluster that was proven to be the one its name is bound to. Nothing is judged without it:
/// the wrong kubeconfig must never look like "all pods gone".
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BoundCluster {
    name: String,
    uid: String,
    read_at: Timestamp,
}

/// Why a cluster may not be judged.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ClusterError {
    /// The ledger has not bound the name (first field) yet.
    #[error("cluster {0} is not bound to a kube-system UID in the ledger; bind it first")]
    NotBound(String),
    /// Another cluster answers: name, bound UID, UID found.
    #[error("cluster {0} is bound to kube-system UID {1}, but {2} answers; use its own kubeconfig")]
    AnotherCluster(String, String, String),
}

impl ClusterError {
    /// A fixed word for metrics and codes.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            ClusterError::NotBound(..) => "cluster_not_bound",
            ClusterError::AnotherCluster(..) => "another_cluster",
        }
    }
}

impl BoundCluster {
    /// Compares the UID of the namespace `kube-system`, read directly at `read_at` through the
    /// client that makes the pass, with the one in the ledger.
    ///
    /// # Errors
    /// The name is not bound, or the UIDs differ.
    pub fn verify(
        name: &str,
        bound: Option<&str>,
        found: &str,
        read_at: Timestamp,
    ) -> Result<BoundCluster, ClusterError> {
        let (name, found) = (name.to_owned(), found.to_owned());
        match bound.filter(|uid| !uid.is_empty()) {
            None => Err(ClusterError::NotBound(name)),
            Some(uid) if uid == found => Ok(BoundCluster {
                name,
                uid: found,
                read_at,
            }),
            Some(uid) => Err(ClusterError::AnotherCluster(name, uid.to_owned(), found)),
        }
    }

    /// Configured name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// UID of its namespace `kube-system`.
    #[must_use]
    pub fn uid(&self) -> &str {
        &self.uid
    }

    /// When the UID was read.
    #[must_use]
    pub fn read_at(&self) -> Timestamp {
        self.read_at
    }
}
