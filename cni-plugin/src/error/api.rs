use ipledger_client::blocking::ClientError;
use ipledger_client::types::{Problem, ProblemCode};

use super::{CniError, Code};

/// How the keys of a request to the API are called in what the user wrote:
/// `ranges[0].range_start` came from `range_start`, `ipRanges[1].range` or a flat file.
pub(crate) trait KeyNames {
    /// The user's name for a key of the request, if it has one.
    fn user_key(&self, api_key: &str) -> Option<String>;
}

/// A call to the API that failed, to be said in the words of the protocol.
pub(crate) struct ApiFailure<'a> {
    pub(crate) error: ClientError,
    pub(crate) keys: &'a dyn KeyNames,
}

impl From<ApiFailure<'_>> for CniError {
    fn from(failure: ApiFailure<'_>) -> Self {
        match failure.error {
            ClientError::Problem(problem) => from_problem(*problem, failure.keys),
            ClientError::Header {
                name: "Authorization",
            } => CniError::key(
                Code::InvalidConfig,
                "token_file",
                "the token in the file is empty or not printable ASCII",
            ),
            other => CniError {
                kind: other.kind(),
                ..CniError::new(Code::TryAgainLater, other.to_string())
            },
        }
    }
}

fn from_problem(problem: Problem, keys: &dyn KeyNames) -> CniError {
    let code = code_of(&problem);
    let mut message = problem.detail;
    let mut key = problem.key;
    if let Some(api_key) = &key
        && let Some(user_key) = keys.user_key(api_key)
    {
        message = message.replace(api_key.as_str(), &user_key);
        key = Some(user_key);
    }
    CniError {
        code,
        message,
        kind: problem.code.as_str(),
        // The runtime reads 11 as "try again": an answer that no repeat mends must not say so
        // in its details.
        retryable: problem.retryable,
        key,
        value: problem.value,
        request_id: Some(problem.request_id),
    }
}

fn code_of(problem: &Problem) -> Code {
    match problem.code {
        ProblemCode::Exhausted => Code::Exhausted,
        ProblemCode::AddressTaken | ProblemCode::AddressReserved => Code::AddressTaken,
        ProblemCode::AddressOutsideWindow => Code::AddressOutsideWindow,
        ProblemCode::Cooling
        | ProblemCode::AddressCooling
        | ProblemCode::Kept
        | ProblemCode::AddressKept => Code::CoolingDown,
        ProblemCode::Stale | ProblemCode::Deleted => Code::Superseded,
        ProblemCode::AttachmentConflict
        | ProblemCode::SpaceConflict
        | ProblemCode::ClusterMismatch
        | ProblemCode::StepMismatch => Code::Conflict,
        // An API that does not know the route, the method or the encoding is not the one that
        // `api` should name.
        ProblemCode::InvalidRequest
        | ProblemCode::BodyTooLarge
        | ProblemCode::NotFound
        | ProblemCode::MethodNotAllowed
        | ProblemCode::UnsupportedMediaType => Code::InvalidConfig,
        ProblemCode::DeadlinePassed
        | ProblemCode::Overloaded
        | ProblemCode::OutcomeUnknown
        | ProblemCode::DatabaseUnavailable
        | ProblemCode::ShuttingDown
        | ProblemCode::Gated
        | ProblemCode::Internal => Code::TryAgainLater,
        ProblemCode::Unknown => code_of_status(problem.status),
    }
}

/// A code that is newer than this plugin: its HTTP status says who must act.
fn code_of_status(status: u16) -> Code {
    match status {
        401 | 403 => Code::Forbidden,
        409 => Code::Conflict,
        400..=499 => Code::InvalidConfig,
        _ => Code::TryAgainLater,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Names;

    impl KeyNames for Names {
        fn user_key(&self, api_key: &str) -> Option<String> {
            (api_key == "ranges[0].range_start").then(|| "range_start".to_owned())
        }
    }

    fn problem(code: ProblemCode, status: u16) -> CniError {
        let problem = Problem {
            problem_type: String::new(),
            title: String::new(),
            status,
            detail: "ranges[0].range_start: \"x\" is no address".to_owned(),
            code,
            retryable: code.is_retryable(),
            key: Some("ranges[0].range_start".to_owned()),
            value: Some("x".to_owned()),
            holder: None,
            request_id: "r1".to_owned(),
        };
        let error = ClientError::Problem(Box::new(problem));
        ApiFailure {
            error,
            keys: &Names,
        }
        .into()
    }

    #[test]
    fn every_problem_has_its_code() {
        let number = |code: ProblemCode| problem(code, code.status()).code.number();
        let table: Vec<_> = ProblemCode::ALL
            .iter()
            .map(|code| (code.as_str(), number(*code)))
            .collect();
        assert_eq!(
            table,
            [
                ("invalid_request", 7),
                ("not_found", 7),
                ("method_not_allowed", 7),
                ("unsupported_media_type", 7),
                ("body_too_large", 7),
                ("deadline_passed", 11),
                ("cluster_mismatch", 108),
                ("stale", 107),
                ("deleted", 107),
                ("gated", 11),
                ("attachment_conflict", 108),
                ("space_conflict", 108),
                ("address_outside_window", 103),
                ("address_taken", 102),
                ("address_reserved", 102),
                ("address_kept", 106),
                ("address_cooling", 106),
                ("exhausted", 100),
                ("kept", 106),
                ("cooling", 106),
                ("step_mismatch", 108),
                ("overloaded", 11),
                ("outcome_unknown", 11),
                ("database_unavailable", 11),
                ("shutting_down", 11),
                ("internal", 11),
            ]
        );
    }

    #[test]
    fn a_code_from_the_future_is_judged_by_its_status() {
        for (status, number) in [(401, 101), (403, 101), (409, 108), (422, 7), (500, 11)] {
            assert_eq!(problem(ProblemCode::Unknown, status).code.number(), number);
        }
    }

    #[test]
    fn the_users_own_key_is_named_and_the_details_are_complete() {
        let error = problem(ProblemCode::InvalidRequest, 400);
        assert_eq!(error.message, "range_start: \"x\" is no address");
        assert_eq!(
            error.details(),
            "kind=invalid_request key=range_start value=x request_id=r1 retryable=false"
        );
    }
}
