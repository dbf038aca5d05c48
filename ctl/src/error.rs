//! How a command ends.

use ipledger_client::ClientError;

/// Nothing was found.
pub(crate) const NOTHING_FOUND: u8 = 1;
/// The arguments cannot be meant.
pub(crate) const USAGE: u8 = 2;
/// The API cannot be reached or does not answer.
const NO_ANSWER: u8 = 3;
/// The API refused.
const REFUSED: u8 = 4;

/// A command that ran to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ended {
    /// With an answer.
    Done,
    /// There is no such thing.
    NothingFound,
}

/// One line for the user.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// A value that cannot be meant; names the argument and the value.
    #[error("{0}")]
    Usage(String),
    /// The API did not do it.
    #[error(transparent)]
    Api(#[from] ClientError),
    /// The answer cannot be written.
    #[error("cannot write: {0}")]
    Output(std::io::Error),
    /// The answer cannot be put into that format.
    #[error("cannot write the answer as {0}")]
    Format(String),
}

impl Error {
    /// For `argument "value" problem`.
    pub(crate) fn usage(argument: &str, value: &str, problem: &str) -> Error {
        Error::Usage(format!("{argument} {value:?} {problem}"))
    }

    /// Whoever read the output has seen enough.
    pub(crate) fn is_closed_pipe(&self) -> bool {
        matches!(self, Error::Output(error) if error.kind() == std::io::ErrorKind::BrokenPipe)
    }

    pub(crate) fn exit_code(&self) -> u8 {
        match self {
            Error::Usage(_) => USAGE,
            Error::Api(ClientError::Problem(problem)) if problem.code.status() != 503 => {
                match problem.code.status() {
                    400 => USAGE,
                    404 => NOTHING_FOUND,
                    _ => REFUSED,
                }
            }
            Error::Api(ClientError::Header { .. }) => USAGE,
            Error::Api(_) | Error::Output(_) | Error::Format(_) => NO_ANSWER,
        }
    }
}
