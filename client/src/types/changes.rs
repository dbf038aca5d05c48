use serde::{Deserialize, Serialize};

/// The head of one stream.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SpaceHead {
    /// Name of the space.
    pub space: String,
    /// Position of its last event; 0 when it has none.
    pub seq: u64,
    /// Epoch of the ledger. After a restore it is another one, and positions may be lower.
    pub epoch: u32,
}

/// Answer of `GET /v1/changes`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ChangePage {
    /// Something differs from `since`; `false` after a wait in which nothing happened.
    pub changed: bool,
    /// Every space that the cluster is a member of, in order of name, all of one reading. The
    /// private spaces that were split from them are among them.
    pub heads: Vec<SpaceHead>,
    /// Give it back as `since`.
    pub next: String,
}
