//! What attempts lead to: an answer, a refusal, or the sum of their failures. The same for both
//! clients.

use std::time::Duration;

use serde::de::DeserializeOwned;

use crate::address::ApiAddress;
use crate::error::{AddressFailure, ClientError};
use crate::types::{Problem, ProblemCode};

/// The answer of a success, with the address that gave it.
pub(crate) struct Answer {
    pub(crate) address: String,
    pub(crate) body: Vec<u8>,
}

/// Reads the answer as what it must be.
pub(crate) fn decode<A: DeserializeOwned>(answer: &Answer) -> Result<A, ClientError> {
    serde_json::from_slice(&answer.body).map_err(|error| ClientError::Protocol {
        address: answer.address.clone(),
        reason: format!("the answer is not what this API sends: {error}"),
    })
}

/// Why one attempt did not give an answer.
pub(crate) enum Failure {
    /// The request did not leave in full, so it was not applied.
    NotSent(String),
    /// It left, and no answer came back.
    NoAnswer(String),
    /// Something else than the API answered.
    NotTheApi(String),
    /// The API cannot serve now.
    Later(Box<Problem>, Option<Duration>),
    /// The API said no.
    Refused(Box<Problem>),
}

/// What a response that was read in full means.
pub(crate) fn judge(
    status: u16,
    body: Vec<u8>,
    retry_after: Option<Duration>,
) -> Result<Vec<u8>, Failure> {
    if (200..300).contains(&status) {
        return Ok(body);
    }
    match serde_json::from_slice::<Problem>(&body) {
        Ok(problem) if status == 503 && problem.retryable => {
            Err(Failure::Later(Box::new(problem), retry_after))
        }
        Ok(problem) => Err(Failure::Refused(Box::new(problem))),
        // A proxy in between lost its server.
        Err(_) if status >= 500 => Err(Failure::NoAnswer(format!("HTTP status {status}"))),
        Err(_) => Err(Failure::NotTheApi(format!(
            "HTTP status {status} without a problem body"
        ))),
    }
}

/// What is known after several attempts.
#[derive(Default)]
pub(crate) struct Account {
    /// The last failure of each address.
    failures: Vec<(ApiAddress, String)>,
    /// Something was sent that nobody answered for.
    unanswered: bool,
    problem: Option<Box<Problem>>,
    retry_after: Option<Duration>,
    not_the_api: Option<(ApiAddress, String)>,
    /// Addresses where something else than the API answered, in this round.
    strangers: usize,
}

impl Account {
    /// Takes a failure down.
    ///
    /// # Errors
    /// The API refused: no other address would say anything else.
    pub(crate) fn note(
        &mut self,
        address: &ApiAddress,
        failure: Failure,
    ) -> Result<(), ClientError> {
        let reason = match failure {
            Failure::NotSent(reason) => reason,
            Failure::NoAnswer(reason) => {
                self.unanswered = true;
                reason
            }
            Failure::NotTheApi(reason) => {
                self.unanswered = true;
                self.strangers += 1;
                self.not_the_api = Some((address.clone(), reason.clone()));
                reason
            }
            Failure::Later(problem, wait) => {
                self.unanswered |= problem.code == ProblemCode::OutcomeUnknown;
                self.retry_after = self.retry_after.max(wait);
                let reason = problem.detail.clone();
                self.problem = Some(problem);
                reason
            }
            Failure::Refused(problem) => return Err(ClientError::Problem(problem)),
        };
        self.failures.retain(|(known, _)| known != address);
        self.failures.push((address.clone(), reason));
        Ok(())
    }

    /// Ends a round over `count` addresses.
    ///
    /// # Errors
    /// Nobody but strangers there: asking again changes nothing.
    pub(crate) fn end_round(&mut self, count: usize) -> Result<(), ClientError> {
        let strangers = std::mem::take(&mut self.strangers);
        match &self.not_the_api {
            Some((address, reason)) if strangers == count => Err(ClientError::Protocol {
                address: address.to_string(),
                reason: reason.clone(),
            }),
            _ => Ok(()),
        }
    }

    /// How long the API asked to wait in this round.
    pub(crate) fn take_retry_after(&mut self) -> Option<Duration> {
        self.retry_after.take()
    }

    /// The end, when no time is left.
    pub(crate) fn into_error(self, changes_something: bool) -> ClientError {
        let failures = self
            .failures
            .into_iter()
            .map(|(address, reason)| AddressFailure {
                address: address.to_string(),
                reason,
            })
            .collect();
        match (self.unanswered, self.problem) {
            (false, Some(problem)) => ClientError::Problem(problem),
            (false, None) => ClientError::Unreachable { failures },
            (true, _) => ClientError::NoAnswer {
                outcome_unknown: changes_something,
                failures,
            },
        }
    }
}
