use serde::{Deserialize, Serialize};

/// Body of `POST /v1/reservations`: set an address aside by hand.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct ReserveRequest {
    /// Name of the cluster; in a space that clusters share, of any of them.
    pub cluster: String,
    /// whereabouts' `network_name`. Absent: the cluster's default space.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network_name: Option<String>,
    /// whereabouts' `enable_overlapping_ranges`.
    #[serde(default = "default_true")]
    pub enable_overlapping_ranges: bool,
    /// CIDR of the pool that the address is in.
    pub range: String,
    /// The address.
    pub address: String,
    /// Why, in a few words.
    pub reason: String,
    /// How long the caller still waits, in milliseconds from the arrival of the request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline_ms: Option<u64>,
    /// When the actor says that this happened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claimed_at: Option<String>,
}

/// Answer of `POST /v1/reservations`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ReserveResponse {
    /// Canonical text, without prefix length.
    pub address: String,
    /// Name of the space.
    pub space: String,
    /// CIDR of the pool.
    pub pool: String,
    /// The step that the reservation took; even. It is needed to give the address back.
    pub step: u32,
    /// Position of the event in the space.
    pub seq: u64,
    /// When the ledger recorded the event.
    pub recorded_at: String,
    /// It was set aside before, for the same reason; nothing was appended.
    pub repeated: bool,
    /// Epoch of the ledger at the time of the answer.
    pub epoch: u32,
}

/// Body of `POST /v1/reservations/release`: give back an address that was set aside, named by
/// address and step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct GiveBackRequest {
    /// Name of the space.
    pub space: String,
    /// The address.
    pub address: String,
    /// The reservation that ends: the even step that the caller looked at.
    pub step: u32,
    /// Why, in a few words.
    pub reason: String,
    /// How long the caller still waits, in milliseconds from the arrival of the request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline_ms: Option<u64>,
    /// When the actor says that this happened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claimed_at: Option<String>,
}

/// One address that is set aside.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Reservation {
    /// Name of the space.
    pub space: String,
    /// CIDR of the pool.
    pub pool: String,
    /// Canonical text, without prefix length.
    pub address: String,
    /// The current even step.
    pub step: u32,
    /// Position of the event in the space.
    pub seq: u64,
    /// When the ledger recorded it.
    pub recorded_at: String,
    /// Who set it aside: the name that the caller gave.
    pub actor: String,
    /// How the caller was known, for example `loopback` or `unix peer uid 0`.
    pub authenticated_by: String,
    /// Why.
    pub reason: String,
}

/// A page of reservations.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ReservationPage {
    /// In order of space and address.
    pub reservations: Vec<Reservation>,
    /// Give it back as `cursor` for the next page; absent on the last one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

fn default_true() -> bool {
    true
}
