//! What can go wrong, and whether trying again may help.

use crate::refusal::Refusal;

/// Why a call of the ledger did not get its answer.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The command was judged and refused; nothing changed.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// Too many requests wait already; nothing changed.
    #[error("too many requests are waiting ({waiting})")]
    Overloaded {
        /// How many wait.
        waiting: usize,
    },
    /// The caller's deadline passed before the decision; nothing changed.
    #[error("the caller's deadline passed before the decision")]
    DeadlinePassed,
    /// It is not known whether the command was applied. The same command again finds the truth.
    #[error(
        "it is not known whether the request was applied ({reason}); ask again with the same attachment"
    )]
    OutcomeUnknown {
        /// What was lost.
        reason: String,
    },
    /// The database cannot be reached; nothing changed.
    #[error("the database cannot be reached: {reason}")]
    Unavailable {
        /// The driver's words.
        reason: String,
    },
    /// The service is stopping; nothing changed.
    #[error("the service is stopping")]
    ShuttingDown,
    /// A row says what cannot be.
    #[error("table {table}, {row}: {problem}")]
    Inconsistent {
        /// Name of the table.
        table: &'static str,
        /// Which row.
        row: String,
        /// What does not fit.
        problem: String,
    },
    /// The database is not set up as it must be.
    #[error("{0}")]
    Guard(String),
    /// The database refused a statement.
    #[error("the database refused: {0}")]
    Database(String),
}

impl Error {
    /// A fixed word for metrics and codes.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Error::Refused(refusal) => refusal.kind(),
            Error::Overloaded { .. } => "overloaded",
            Error::DeadlinePassed => "deadline_passed",
            Error::OutcomeUnknown { .. } => "outcome_unknown",
            Error::Unavailable { .. } => "database_unavailable",
            Error::ShuttingDown => "shutting_down",
            Error::Inconsistent { .. } | Error::Guard(_) | Error::Database(_) => "internal",
        }
    }
}

impl From<sqlx::Error> for Error {
    fn from(error: sqlx::Error) -> Error {
        match error {
            sqlx::Error::Io(_)
            | sqlx::Error::PoolTimedOut
            | sqlx::Error::PoolClosed
            | sqlx::Error::WorkerCrashed
            | sqlx::Error::Tls(_) => Error::Unavailable {
                reason: error.to_string(),
            },
            sqlx::Error::Database(ref database)
                if database
                    .code()
                    .is_some_and(|code| is_connection_loss(&code)) =>
            {
                Error::Unavailable {
                    reason: error.to_string(),
                }
            }
            other => Error::Database(other.to_string()),
        }
    }
}

/// SQLSTATE classes after which a connection is of no use: connection exceptions (08), operator
/// intervention (57P), too many connections (53300).
pub(crate) fn is_connection_loss(code: &str) -> bool {
    code.starts_with("08") || code.starts_with("57P") || code == "53300"
}
