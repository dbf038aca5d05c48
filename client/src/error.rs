use std::fmt::Write as _;

use crate::types::{Problem, ProblemCode};

/// Why a call to the API did not succeed.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// No address took the request, so nothing was applied.
    #[error("cannot reach the API: {}", list(.failures))]
    Unreachable {
        /// The last failure of each address.
        failures: Vec<AddressFailure>,
    },
    /// A request was sent, and the time was over before an answer came.
    #[error("no answer from the API{}: {}", unknown(*.outcome_unknown), list(.failures))]
    NoAnswer {
        /// Whether the request may have been applied; reading changes nothing.
        outcome_unknown: bool,
        /// The last failure of each address.
        failures: Vec<AddressFailure>,
    },
    /// Something answered that is not this API, or not in full.
    #[error("{address} does not answer like the API: {reason}")]
    Protocol {
        /// Who answered.
        address: String,
        /// What was wrong.
        reason: String,
    },
    /// The API refused, and said why.
    #[error("{}", .0.detail)]
    Problem(Box<Problem>),
    /// A header that cannot be sent. The value is not shown, it may be a secret.
    #[error("the value for the HTTP header {name} is empty or not printable ASCII")]
    Header {
        /// The header.
        name: &'static str,
    },
}

/// What one address did last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AddressFailure {
    /// The address, as text.
    pub address: String,
    /// What happened.
    pub reason: String,
}

impl ClientError {
    /// A fixed word for logs and codes.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            ClientError::Unreachable { .. } => "unreachable",
            ClientError::NoAnswer { .. } => "no_answer",
            ClientError::Protocol { .. } => "protocol",
            ClientError::Problem(problem) => problem.code.as_str(),
            ClientError::Header { .. } => "header",
        }
    }

    /// Whether the request may have been applied although no answer says so.
    #[must_use]
    pub fn outcome_unknown(&self) -> bool {
        match self {
            ClientError::Unreachable { .. } | ClientError::Header { .. } => false,
            ClientError::NoAnswer {
                outcome_unknown, ..
            } => *outcome_unknown,
            ClientError::Protocol { .. } => true,
            ClientError::Problem(problem) => {
                matches!(
                    problem.code,
                    ProblemCode::OutcomeUnknown | ProblemCode::Internal
                )
            }
        }
    }
}

fn unknown(outcome_unknown: bool) -> &'static str {
    if outcome_unknown {
        ", and whether it was applied is unknown"
    } else {
        ""
    }
}

fn list(failures: &[AddressFailure]) -> String {
    let mut text = String::new();
    for AddressFailure { address, reason } in failures {
        let separator = if text.is_empty() { "" } else { "; " };
        // Writing to a String cannot fail.
        let _ = write!(text, "{separator}{address}: {reason}");
    }
    if text.is_empty() {
        "no time was left to try".to_owned()
    } else {
        text
    }
}

/// The text of an I/O error without its number, which says nothing to a reader.
#[must_use]
pub fn io_error_text(error: &std::io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or(&text).to_owned()
}
