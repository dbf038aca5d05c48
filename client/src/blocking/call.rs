use std::io::{self, Write};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::backoff::Backoff;
use super::connection::Connection;
use super::error::io_error_text;
use super::response::{self, Response, ResponseError};
use super::{AddressFailure, Answer, ApiAddress, Budget, Client, ClientError};
use crate::types::{Problem, ProblemCode};

/// One attempt gets at most this long: a server that hangs must not eat the whole budget, and
/// the same request may be sent to another one.
const ATTEMPT_LIMIT: Duration = Duration::from_secs(10);

/// Makes the body for an attempt that has this many milliseconds.
type Body<'a> = &'a dyn Fn(u64) -> Vec<u8>;

pub(super) struct Request<'a> {
    method: &'static str,
    target: &'a str,
    body: Option<Body<'a>>,
}

impl<'a> Request<'a> {
    pub(super) fn get(target: &'a str) -> Self {
        Self {
            method: "GET",
            target,
            body: None,
        }
    }

    pub(super) fn post(target: &'a str, body: Body<'a>) -> Self {
        Self {
            method: "POST",
            target,
            body: Some(body),
        }
    }
}

/// Why one attempt did not give an answer.
enum Failure {
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

/// What is known after several attempts.
#[derive(Default)]
struct Account {
    /// The last failure of each address.
    failures: Vec<(ApiAddress, String)>,
    /// Something was sent that nobody answered for.
    unanswered: bool,
    problem: Option<Box<Problem>>,
    retry_after: Option<Duration>,
    not_the_api: Option<(ApiAddress, String)>,
}

impl Client {
    /// Sends the request until there is an answer, a refusal, or no time left.
    pub(super) fn call(
        &self,
        request: &Request<'_>,
        budget: Budget,
    ) -> Result<Answer, ClientError> {
        let mut account = Account::default();
        let mut backoff = Backoff::new();
        for round in 1.. {
            if let Some(answer) = self.round(request, budget, &mut account)? {
                return Ok(answer);
            }
            let wait = backoff.wait(account.retry_after.take());
            if round >= budget.rounds() || wait >= budget.left() {
                break;
            }
            std::thread::sleep(wait);
        }
        Err(account.into_error(request.body.is_some()))
    }

    /// Asks every address once, from the one that answered last.
    fn round(
        &self,
        request: &Request<'_>,
        budget: Budget,
        account: &mut Account,
    ) -> Result<Option<Answer>, ClientError> {
        let count = self.addresses.len();
        let first = self.preferred.load(Ordering::Relaxed);
        let mut strangers = 0;
        for index in (0..count).map(|offset| (first + offset) % count) {
            let address = &self.addresses[index];
            if budget.left().is_zero() {
                break;
            }
            match self.attempt(address, request, budget) {
                Ok(body) => {
                    self.preferred.store(index, Ordering::Relaxed);
                    return Ok(Some(Answer {
                        address: address.to_string(),
                        body,
                    }));
                }
                Err(Failure::Refused(problem)) => return Err(ClientError::Problem(problem)),
                Err(failure) => {
                    strangers += usize::from(matches!(failure, Failure::NotTheApi(_)));
                    account.note(address, failure);
                }
            }
        }
        // Nobody but strangers there: asking again changes nothing.
        match account.not_the_api.take() {
            Some((address, reason)) if strangers == count => Err(ClientError::Protocol {
                address: address.to_string(),
                reason,
            }),
            other => {
                account.not_the_api = other;
                Ok(None)
            }
        }
    }

    fn attempt(
        &self,
        address: &ApiAddress,
        request: &Request<'_>,
        budget: Budget,
    ) -> Result<Vec<u8>, Failure> {
        let deadline = budget.deadline().min(Instant::now() + ATTEMPT_LIMIT);
        let not_sent = |error: io::Error| Failure::NotSent(io_error_text(&error));
        let mut connection = Connection::open(address, deadline).map_err(not_sent)?;
        let message = self.message(address, request, deadline);
        connection.write_all(&message).map_err(not_sent)?;
        match response::read(&mut connection) {
            Ok(response) => judge(response),
            Err(ResponseError::Malformed(reason)) => Err(Failure::NotTheApi(reason)),
            Err(error) => Err(Failure::NoAnswer(error.to_string())),
        }
    }

    fn message(&self, address: &ApiAddress, request: &Request<'_>, deadline: Instant) -> Vec<u8> {
        let host = match address {
            ApiAddress::Tcp(socket) => socket.to_string(),
            ApiAddress::Unix(_) => "localhost".to_owned(),
        };
        let Request {
            method,
            target,
            body,
        } = request;
        let mut message = format!(
            "{method} {target} HTTP/1.1\r\nHost: {host}\r\nAccept: application/json\r\n\
             Connection: close\r\n{}",
            self.headers.0
        )
        .into_bytes();
        if let Some(body) = body {
            let left = deadline.saturating_duration_since(Instant::now());
            let body = body(u64::try_from(left.as_millis()).unwrap_or(u64::MAX));
            let length = body.len();
            message.extend_from_slice(
                format!("Content-Type: application/json\r\nContent-Length: {length}\r\n")
                    .as_bytes(),
            );
            message.extend_from_slice(b"\r\n");
            message.extend_from_slice(&body);
        } else {
            message.extend_from_slice(b"\r\n");
        }
        message
    }
}

fn judge(response: Response) -> Result<Vec<u8>, Failure> {
    let Response {
        status,
        body,
        retry_after,
    } = response;
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

impl Account {
    fn note(&mut self, address: &ApiAddress, failure: Failure) {
        let reason = match failure {
            Failure::NotSent(reason) => reason,
            Failure::NoAnswer(reason) => {
                self.unanswered = true;
                reason
            }
            Failure::NotTheApi(reason) => {
                self.unanswered = true;
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
            Failure::Refused(problem) => problem.detail,
        };
        self.failures.retain(|(known, _)| known != address);
        self.failures.push((address.clone(), reason));
    }

    fn into_error(self, changes_something: bool) -> ClientError {
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
