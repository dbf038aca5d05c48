use serde::{Deserialize, Serialize};

use super::Hold;

/// An address that has another holder at the later moment, or none any more.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct AddressChange {
    /// Name of the space.
    pub space: String,
    /// The address.
    pub address: String,
    /// Who held it at the earlier moment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<Hold>,
    /// Who held it at the later moment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<Hold>,
}

/// A page of changes, all of one reading.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct DifferencePage {
    /// In order of space and address.
    pub changes: Vec<AddressChange>,
    /// The earlier positions, by space.
    pub from: std::collections::BTreeMap<String, u64>,
    /// The later positions, by space.
    pub to: std::collections::BTreeMap<String, u64>,
    /// Give it back as `cursor` for the next page; absent on the last one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}
