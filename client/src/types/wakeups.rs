use serde::{Deserialize, Serialize};

/// Why somebody should look at the holds of a window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum WakeupReason {
    /// An allocate was refused because no address of the window was free, nor resting.
    Exhausted,
    /// An allocate was refused because the fixed address it asked for was held by another.
    AddressTaken,
    /// A reason that this version does not know: look at the window all the same.
    #[serde(other)]
    Unknown,
}

/// An allocate was refused, and would succeed if a hold of this window belonged to nobody any
/// more. There is one wake-up per window or address: a later refusal takes it over under a new id.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Wakeup {
    /// Counts up over all spaces; give the last one back as `after`.
    pub id: u64,
    /// Name of the space.
    pub space: String,
    /// CIDR of the pool.
    pub cidr: String,
    /// First address of the window; for a fixed address, that address.
    pub first: String,
    /// Last address of the window; for a fixed address, that address.
    pub last: String,
    /// Why.
    pub reason: WakeupReason,
    /// The fixed address that is held; only with `address_taken`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
    /// When the last such refusal was recorded. Refusals of one second are recorded once.
    pub at: String,
}

/// Answer of `GET /v1/wakeups`; without wake-ups if none came in time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct WakeupPage {
    /// In order of id: those after `after` in whose window the cluster holds an address.
    pub wakeups: Vec<Wakeup>,
    /// Give it back as `after`. It also moves past wake-ups that concern other clusters.
    pub next: u64,
}
