use serde::{Deserialize, Serialize};

use super::{Attachment, Owner};

/// One address that is held.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Hold {
    /// Name of the space.
    pub space: String,
    /// CIDR of the pool.
    pub pool: String,
    /// Canonical text, without prefix length.
    pub address: String,
    /// The current even step.
    pub step: u32,
    /// Position of the allocate event in the space.
    pub seq: u64,
    /// When the ledger recorded it.
    pub recorded_at: String,
    /// Which range of the request the address came from, counted from 0.
    pub position: u16,
    /// Whose it is.
    pub attachment: Attachment,
    /// The pod behind it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<Owner>,
}

/// A page of holds, all of one reading.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct HoldPage {
    /// In address order within a space.
    pub holds: Vec<Hold>,
    /// The positions that the pages of this reading show, by space: `{"prod": 4711}`.
    pub as_of: std::collections::BTreeMap<String, u64>,
    /// Give it back as `cursor` for the next page; absent on the last one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}
