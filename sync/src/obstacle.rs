//! Why a pass cannot judge. Nothing is freed meanwhile.

use ipledger_client::ClientError;

use crate::diff::{Blind, ClusterError};
use crate::observe::blind_word;

/// Why nothing can be judged now.
#[derive(Debug, thiserror::Error)]
pub enum Obstacle {
    /// The cluster's identity could not be read.
    #[error("the UID of the namespace kube-system cannot be read: {text}")]
    IdentityUnread {
        /// What kind of failure.
        blind: Blind,
        /// In the words of whoever failed.
        text: String,
    },
    /// It is not the cluster that the ledger knows under this name, or not bound yet.
    #[error(transparent)]
    Cluster(#[from] ClusterError),
    /// The ledger refused to bind the name: somebody else was first.
    #[error("{0}")]
    BindRefused(String),
    /// The ledger cannot be asked.
    #[error("the ledger cannot be read: {0}")]
    Ledger(#[from] ClientError),
    /// What the ledger shows cannot be understood.
    #[error("the ledger shows {0}")]
    LedgerUnreadable(String),
    /// The pods were not listed yet.
    #[error("the pods of the cluster are not listed yet{}", after_colon(.0.as_deref()))]
    PodsNotListed(Option<String>),
}

impl Obstacle {
    /// A fixed word for metrics and codes.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Obstacle::IdentityUnread { blind, .. } => blind_word(*blind),
            Obstacle::Cluster(error) => error.kind(),
            Obstacle::BindRefused(_) => "another_cluster",
            Obstacle::Ledger(_) => "ledger_unavailable",
            Obstacle::LedgerUnreadable(_) => "ledger_unreadable",
            Obstacle::PodsNotListed(_) => "pods_not_listed",
        }
    }
}

fn after_colon(text: Option<&str>) -> String {
    text.map(|text| format!(": {text}")).unwrap_or_default()
}
