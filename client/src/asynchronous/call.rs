use std::error::Error as _;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderValue, RETRY_AFTER};

use super::Client;
use crate::backoff::Backoff;
use crate::outcome::{Account, Answer, Failure, judge};
use crate::types::Problem;
use crate::{ApiAddress, Budget, ClientError};

/// One attempt gets at most this long, unless the request says otherwise: a server that hangs
/// must not eat the whole budget.
const ATTEMPT_LIMIT: Duration = Duration::from_secs(10);
/// A blackholed address must not eat the time that the next one needs.
const CONNECT_LIMIT: Duration = Duration::from_secs(2);
/// Shorter than the API keeps idle connections.
const IDLE_LIMIT: Duration = Duration::from_secs(20);
/// A page of 500 events with the longest evidence has half of this.
const MAX_BODY: usize = 64 * 1024 * 1024;

/// Makes the body for an attempt that has this many milliseconds.
type Body<'a> = &'a (dyn Fn(u64) -> Vec<u8> + Sync);

/// What to send, to whichever address.
pub(super) struct Request<'a> {
    target: &'a str,
    body: Option<Body<'a>>,
    attempt_limit: Duration,
}

impl<'a> Request<'a> {
    pub(super) fn get(target: &'a str) -> Self {
        Self {
            target,
            body: None,
            attempt_limit: ATTEMPT_LIMIT,
        }
    }

    pub(super) fn post(target: &'a str, body: Body<'a>) -> Self {
        Self {
            body: Some(body),
            ..Self::get(target)
        }
    }

    /// With another limit for each attempt.
    pub(super) fn within(self, attempt_limit: Duration) -> Self {
        Self {
            attempt_limit,
            ..self
        }
    }
}

/// One address and the connections to it.
pub(super) struct Peer {
    pub(super) address: ApiAddress,
    base: String,
    client: reqwest::Client,
}

impl Peer {
    pub(super) fn new(
        address: &ApiAddress,
        bearer: Option<&str>,
        user_agent: &str,
    ) -> Result<Self, ClientError> {
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
        if let Some(bearer) = bearer {
            let name = "Authorization";
            let value = HeaderValue::from_str(bearer);
            let mut value = value.map_err(|_| ClientError::Header { name })?;
            value.set_sensitive(true);
            headers.insert(AUTHORIZATION, value);
        }
        let builder = reqwest::Client::builder()
            .user_agent(user_agent)
            .default_headers(headers)
            .no_proxy()
            .redirect(reqwest::redirect::Policy::none())
            .connect_timeout(CONNECT_LIMIT)
            .pool_idle_timeout(IDLE_LIMIT);
        let (builder, base) = match address {
            ApiAddress::Tcp(socket) => (builder, format!("http://{socket}")),
            ApiAddress::Unix(path) => (
                builder.unix_socket(path.as_path()),
                "http://localhost".to_owned(),
            ),
        };
        let client = builder.build().map_err(|error| ClientError::Protocol {
            address: address.to_string(),
            reason: cause(&error),
        })?;
        Ok(Self {
            address: address.clone(),
            base,
            client,
        })
    }

    /// Opens an answer that has no end.
    pub(super) async fn open(&self, target: &str) -> Result<reqwest::Response, Failure> {
        let request = self.client.get(format!("{}{target}", self.base)).send();
        let response = match tokio::time::timeout(ATTEMPT_LIMIT, request).await {
            Ok(response) => response.map_err(|error| Failure::NotSent(cause(&error)))?,
            Err(_) => return Err(Failure::NoAnswer("timed out".to_owned())),
        };
        if response.status().is_success() {
            return Ok(response);
        }
        let status = response.status().as_u16();
        match judge(status, read(response).await?, None) {
            Err(failure) => Err(failure),
            Ok(_) => Err(Failure::NotTheApi(format!("HTTP status {status}"))),
        }
    }

    async fn attempt(&self, request: &Request<'_>, budget: Budget) -> Result<Vec<u8>, Failure> {
        let deadline = budget
            .deadline()
            .min(Instant::now() + request.attempt_limit);
        let left = deadline.saturating_duration_since(Instant::now());
        let url = format!("{}{}", self.base, request.target);
        let builder = match request.body {
            None => self.client.get(url),
            Some(body) => {
                let milliseconds = u64::try_from(left.as_millis()).unwrap_or(u64::MAX);
                let json = HeaderValue::from_static("application/json");
                let builder = self.client.post(url).header(CONTENT_TYPE, json);
                builder.body(body(milliseconds))
            }
        };
        let response = builder.timeout(left).send().await.map_err(|error| {
            if error.is_connect() || error.is_builder() {
                Failure::NotSent(cause(&error))
            } else {
                Failure::NoAnswer(cause(&error))
            }
        })?;
        let status = response.status().as_u16();
        let retry_after = response
            .headers()
            .get(RETRY_AFTER)
            .and_then(|value| value.to_str().ok()?.parse().ok())
            .map(Duration::from_secs);
        judge(status, read(response).await?, retry_after)
    }
}

/// The next bytes of a stream; `None` at its end, however it came.
pub(super) async fn piece_of(response: &mut reqwest::Response) -> Option<Vec<u8>> {
    let piece = response.chunk().await.ok().flatten()?;
    Some(piece.to_vec())
}

/// What the API said instead of going on.
pub(super) fn refused(problem: Problem) -> ClientError {
    ClientError::Problem(Box::new(problem))
}

async fn read(mut response: reqwest::Response) -> Result<Vec<u8>, Failure> {
    let mut body = Vec::new();
    let no_answer = |error: reqwest::Error| Failure::NoAnswer(cause(&error));
    while let Some(piece) = response.chunk().await.map_err(no_answer)? {
        if body.len() + piece.len() > MAX_BODY {
            let reason = "the body is larger than 64 MiB".to_owned();
            return Err(Failure::NotTheApi(reason));
        }
        body.extend_from_slice(&piece);
    }
    Ok(body)
}

/// The innermost cause: the layers above only say that sending failed.
fn cause(error: &reqwest::Error) -> String {
    if error.is_timeout() {
        return "timed out".to_owned();
    }
    let mut innermost = error.source();
    while let Some(source) = innermost.and_then(std::error::Error::source) {
        innermost = Some(source);
    }
    let text = innermost.map_or_else(|| error.to_string(), ToString::to_string);
    text.split(" (os error").next().unwrap_or(&text).to_owned()
}

impl Client {
    /// Sends the request until there is an answer, a refusal, or no time left.
    pub(super) async fn call(
        &self,
        request: &Request<'_>,
        budget: Budget,
    ) -> Result<Answer, ClientError> {
        let mut account = Account::default();
        let mut backoff = Backoff::new();
        for round in 1.. {
            if let Some(answer) = self.round(request, budget, &mut account).await? {
                return Ok(answer);
            }
            let wait = backoff.wait(account.take_retry_after());
            if round >= budget.rounds() || wait >= budget.left() {
                break;
            }
            tokio::time::sleep(wait).await;
        }
        Err(account.into_error(request.body.is_some()))
    }

    /// Asks every address once, from the one that answered last.
    async fn round(
        &self,
        request: &Request<'_>,
        budget: Budget,
        account: &mut Account,
    ) -> Result<Option<Answer>, ClientError> {
        let count = self.peers.len();
        let first = self.preferred.load(Ordering::Relaxed);
        for index in (0..count).map(|offset| (first + offset) % count) {
            let peer = &self.peers[index];
            if budget.left().is_zero() {
                break;
            }
            match peer.attempt(request, budget).await {
                Ok(body) => {
                    self.preferred.store(index, Ordering::Relaxed);
                    return Ok(Some(Answer {
                        address: peer.address.to_string(),
                        body,
                    }));
                }
                Err(failure) => account.note(&peer.address, failure)?,
            }
        }
        account.end_round(count)?;
        Ok(None)
    }
}
