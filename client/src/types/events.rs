use serde::{Deserialize, Serialize};

/// One row of the ledger, in full.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Event {
    /// Name of the space.
    pub space: String,
    /// Position in the space, counted from 1, without gaps.
    pub seq: u64,
    /// Epoch of the ledger when it was recorded.
    pub epoch: u32,
    /// When the ledger recorded it.
    pub recorded_at: String,
    /// When the actor says that it happened, if it said anything. Another axis than
    /// `recorded_at`: nothing is ordered by it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claimed_at: Option<String>,
    /// The address, if the event is about one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
    /// Position in the life of the address: even means held from here on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<u32>,
    /// Position of the event before it in the life of the address; absent at step 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub predecessor_seq: Option<u64>,
    /// `allocated`, `released`, ...
    pub kind: String,
    /// Version of the payload's encoding.
    pub encoding: u16,
    /// Everything else that was recorded: attachment, owner, actor, reason, evidence, decision.
    pub payload: serde_json::Value,
    /// SHA-256 of the payload's canonical bytes, in hex.
    pub digest: String,
    /// Hash of the event, in hex; covers `previous_hash`.
    pub hash: String,
    /// Hash of the event before it in the space; 64 zeros for the first.
    pub previous_hash: String,
}

/// A page of events.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct EventPage {
    /// In the order of the list: of position, oldest first, or as it was asked for.
    pub events: Vec<Event>,
    /// Give it back as `cursor` for the next page; absent when the end was reached.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}
