use std::path::PathBuf;

use ipledger_client::types::ReleaseRequest;
use serde::{Deserialize, Serialize};

/// Version of the file format.
const VERSION: u32 = 1;

/// A release that waits for its delivery, and how it was meant to be delivered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct QueuedRelease {
    version: u32,
    /// The API addresses that the DEL was configured with. Used if the caller that delivers
    /// knows none for this cluster.
    pub api: Vec<String>,
    /// Where the token for them stands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token_file: Option<PathBuf>,
    /// The request, with the order token and the time of the DEL itself.
    pub request: ReleaseRequest,
}

/// Why a file cannot be understood.
#[derive(Debug, thiserror::Error)]
pub enum BadEntry {
    /// Not JSON, or not of this shape.
    #[error("is not a queued release: {0}")]
    Shape(#[from] serde_json::Error),
    /// Written by a newer plugin.
    #[error("has version {0}; this plugin reads version {VERSION}")]
    Version(u32),
}

impl QueuedRelease {
    /// A release in the current format.
    #[must_use]
    pub fn new(api: Vec<String>, token_file: Option<PathBuf>, request: ReleaseRequest) -> Self {
        Self {
            version: VERSION,
            api,
            token_file,
            request,
        }
    }

    pub(super) fn encode(&self) -> Vec<u8> {
        let mut bytes = serde_json::to_vec_pretty(self)
            .expect("a queued release has only text keys, so it always encodes");
        bytes.push(b'\n');
        bytes
    }

    pub(super) fn decode(bytes: &[u8]) -> Result<Self, BadEntry> {
        #[derive(Deserialize)]
        struct Versioned {
            version: u32,
        }
        let Versioned { version } = serde_json::from_slice(bytes)?;
        if version != VERSION {
            return Err(BadEntry::Version(version));
        }
        Ok(serde_json::from_slice(bytes)?)
    }
}
