use std::io::{self, Write};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use super::connection::Connection;
use super::response::{self, Response, ResponseError};
use super::{ApiAddress, Budget, Client, ClientError};
use crate::backoff::Backoff;
use crate::error::io_error_text;
use crate::outcome::{Account, Answer, Failure, judge};

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
            let wait = backoff.wait(account.take_retry_after());
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
                Err(failure) => account.note(address, failure)?,
            }
        }
        account.end_round(count)?;
        Ok(None)
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
            Ok(Response {
                status,
                body,
                retry_after,
            }) => judge(status, body, retry_after),
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
