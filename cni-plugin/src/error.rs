//! Failures in the form of the protocol: a stable code, a sentence, and details.

mod api;

use std::fmt::{self, Write as _};

use serde::Serialize;
use serde_json::Value;

pub(crate) use api::{ApiFailure, KeyNames};

/// Codes that the plugin answers with. 1 to 99 are the specification's, from 100 our own. They
/// are documented in `docs/cni.md` and never change their meaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum Code {
    /// The version of the configuration is not spoken, or does not have this command.
    IncompatibleVersion = 1,
    /// A key that cannot be meant.
    UnsupportedField = 2,
    /// An environment variable is missing or wrong.
    InvalidEnvironment = 4,
    /// Reading or writing failed on this node, also of the release queue.
    Io = 5,
    /// The input is not JSON.
    Decode = 6,
    /// The network configuration cannot be meant.
    InvalidConfig = 7,
    /// Nothing is wrong with the request; the runtime should try again.
    TryAgainLater = 11,
    /// STATUS: an ADD would not be served now.
    NotAvailable = 50,
    /// No address is free.
    Exhausted = 100,
    /// The API does not allow this node or token to ask.
    Forbidden = 101,
    /// The requested address is held by another.
    AddressTaken = 102,
    /// The requested address may not be handed out here.
    AddressOutsideWindow = 103,
    /// CHECK: the addresses are not reserved for this attachment.
    NotReserved = 104,
    /// The free addresses, or the requested one, rest after their release.
    CoolingDown = 106,
    /// A later call for this pod and interface was applied before.
    Superseded = 107,
    /// The request contradicts what the ledger has for this attachment, range or cluster.
    Conflict = 108,
}

impl Code {
    /// The number on the wire.
    #[must_use]
    pub fn number(self) -> u32 {
        self as u32
    }

    /// The word in the details.
    fn kind(self) -> &'static str {
        match self {
            Code::IncompatibleVersion => "incompatible_version",
            Code::UnsupportedField => "unsupported_field",
            Code::InvalidEnvironment => "invalid_environment",
            Code::Io => "io",
            Code::Decode => "decode",
            Code::InvalidConfig => "invalid_config",
            Code::TryAgainLater => "try_again_later",
            Code::NotAvailable => "not_available",
            Code::Exhausted => "exhausted",
            Code::Forbidden => "forbidden",
            Code::AddressTaken => "address_taken",
            Code::AddressOutsideWindow => "address_outside_window",
            Code::NotReserved => "not_reserved",
            Code::CoolingDown => "cooling_down",
            Code::Superseded => "superseded",
            Code::Conflict => "conflict",
        }
    }

    fn is_retryable(self) -> bool {
        matches!(
            self,
            Code::Io
                | Code::TryAgainLater
                | Code::NotAvailable
                | Code::Exhausted
                | Code::AddressTaken
                | Code::CoolingDown
        )
    }
}

/// One failure of the plugin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CniError {
    /// The number that the runtime sees.
    pub code: Code,
    /// One sentence that names the key and the value.
    pub message: String,
    /// A word that is finer than the code; the API's own code where the API refused.
    kind: &'static str,
    retryable: bool,
    key: Option<String>,
    value: Option<String>,
    request_id: Option<String>,
}

impl CniError {
    /// A failure without a key.
    #[must_use]
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            kind: code.kind(),
            retryable: code.is_retryable(),
            key: None,
            value: None,
            request_id: None,
        }
    }

    /// `key` has a value that cannot be meant: `range: "10.0.0.0" is not ...`.
    #[must_use]
    pub fn value(code: Code, key: &str, value: &Value, why: &str) -> Self {
        let value = shown(value);
        Self {
            key: Some(key.to_owned()),
            value: Some(value.clone()),
            ..Self::new(code, format!("{key}: {value} {why}"))
        }
    }

    /// `key` is missing: `cluster: ...`.
    #[must_use]
    pub fn key(code: Code, key: &str, why: &str) -> Self {
        Self {
            key: Some(key.to_owned()),
            ..Self::new(code, format!("{key}: {why}"))
        }
    }

    /// The same failure with more said.
    #[must_use]
    pub fn and(mut self, more: impl fmt::Display) -> Self {
        // Writing to a String cannot fail.
        let _ = write!(self.message, "; {more}");
        self
    }

    /// The same failure under another code, which does not change what helps.
    #[must_use]
    pub(crate) fn with_code(self, code: Code) -> Self {
        Self { code, ..self }
    }

    /// Code, key, value and whether trying again helps, as text.
    #[must_use]
    pub fn details(&self) -> String {
        let mut text = format!("kind={}", self.kind);
        let parts = [
            ("key", &self.key),
            ("value", &self.value),
            ("request_id", &self.request_id),
        ];
        for (name, part) in parts {
            if let Some(part) = part {
                // Writing to a String cannot fail.
                let _ = write!(text, " {name}={part}");
            }
        }
        let _ = write!(text, " retryable={}", self.retryable);
        text
    }

    /// The JSON object of the protocol, pretty-printed as the reference plugins do.
    #[must_use]
    pub fn render(&self, cni_version: &str) -> String {
        #[derive(Serialize)]
        struct Wire<'a> {
            #[serde(rename = "cniVersion")]
            cni_version: &'a str,
            code: u32,
            msg: &'a str,
            details: String,
        }
        crate::result::pretty(&Wire {
            cni_version,
            code: self.code.number(),
            msg: &self.message,
            details: self.details(),
        })
    }
}

impl fmt::Display for CniError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.message)
    }
}

/// A value as the user wrote it, cut to a length that a message can carry.
pub(crate) fn shown(value: &Value) -> String {
    const LONGEST: usize = 200;
    let text = value.to_string();
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text,
    }
}
