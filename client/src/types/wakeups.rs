use serde::{Deserialize, Serialize};

/// A request that was refused for lack of an address, for whoever can free one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Wakeup {
    /// Grows with every wake-up of the ledger.
    pub id: u64,
    /// Name of the space.
    pub space: String,
    /// CIDR of the pool.
    pub cidr: String,
    /// `exhausted` (no address of the window is free) or `address_taken` (the fixed ones are
    /// held).
    pub reason: String,
    /// The fixed addresses that were asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub addresses: Option<Vec<String>>,
    /// When the ledger recorded it.
    pub at: String,
}

/// Answer of `GET /v1/wakeups`: wake-ups of the spaces in which a cluster holds addresses.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct WakeupPage {
    /// In order of id; empty when the wait ended without one.
    pub wakeups: Vec<Wakeup>,
    /// Give it back as `after`.
    pub next: u64,
}
