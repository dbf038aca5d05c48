//! A small blocking HTTP/1.1 client for one request at a time, made for the CNI plugin: no async
//! runtime, no TLS, no name resolution, and a bound on everything.
//!
//! * Several API addresses are tried in turn.
//! * One [`Budget`] covers connecting, writing, reading, and every retry. No call outlives it.
//! * Every request of this API may be repeated: allocate, release and GC are idempotent by
//!   attachment and order token. So a request whose outcome is unknown is simply sent again, and
//!   [`ClientError::outcome_unknown`] says whether the question was still open at the end.

mod call;
mod connection;
mod response;

use serde::Serialize;
use serde::de::DeserializeOwned;

pub use crate::address::{ApiAddress, ApiAddressError};
pub use crate::budget::Budget;
pub use crate::error::{AddressFailure, ClientError, io_error_text};

use crate::header;
use crate::outcome::decode;
use crate::types::{
    AllocateRequest, AllocateResponse, Attachment, CheckRangesRequest, CheckRangesResponse,
    GarbageRequest, GarbageResponse, ReleaseRequest, ReleaseResponse,
};
use call::Request;

/// Speaks to one ledger through any of its API addresses.
#[derive(Debug)]
pub struct Client {
    addresses: Vec<ApiAddress>,
    /// Header lines that every request carries.
    headers: Headers,
    /// The address that answered last is asked first.
    preferred: std::sync::atomic::AtomicUsize,
}

/// Complete header lines, each with its CRLF. May hold the token, so `Debug` shows nothing.
struct Headers(String);

impl std::fmt::Debug for Headers {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Headers(..)")
    }
}

impl Client {
    /// A client for the given addresses, tried in this order. The token, if any, is sent as
    /// `Authorization: Bearer`.
    ///
    /// # Errors
    /// [`ClientError::Header`] if the token or the user agent cannot be a header's value.
    pub fn new(
        addresses: &[ApiAddress],
        token: Option<&str>,
        user_agent: &str,
    ) -> Result<Self, ClientError> {
        let mut client = Self {
            addresses: addresses.to_vec(),
            headers: Headers(String::new()),
            preferred: std::sync::atomic::AtomicUsize::new(0),
        };
        client.add_header("User-Agent", user_agent)?;
        if let Some(token) = token {
            client.add_header("Authorization", &header::bearer(token)?)?;
        }
        Ok(client)
    }

    /// Sends one more header with every request, for example `traceparent`.
    ///
    /// # Errors
    /// [`ClientError::Header`] if the value is empty or is not printable ASCII.
    pub fn add_header(&mut self, name: &'static str, value: &str) -> Result<(), ClientError> {
        header::check(name, value)?;
        self.headers.0.push_str(&format!("{name}: {value}\r\n"));
        Ok(())
    }

    /// The addresses, as text.
    #[must_use]
    pub fn addresses(&self) -> Vec<String> {
        self.addresses.iter().map(ToString::to_string).collect()
    }

    /// `POST /v1/allocate`. The request's `deadline_ms` is set to the time that the attempt has.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub fn allocate(
        &self,
        request: &AllocateRequest,
        budget: Budget,
    ) -> Result<AllocateResponse, ClientError> {
        self.post("/v1/allocate", budget, |deadline_ms| AllocateRequest {
            deadline_ms,
            ..request.clone()
        })
    }

    /// `POST /v1/release`. The request's `deadline_ms` is set to the time that the attempt has.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub fn release(
        &self,
        request: &ReleaseRequest,
        budget: Budget,
    ) -> Result<ReleaseResponse, ClientError> {
        self.post("/v1/release", budget, |deadline_ms| ReleaseRequest {
            deadline_ms,
            ..request.clone()
        })
    }

    /// `POST /v1/gc`. The request's `deadline_ms` is set to the time that the attempt has.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub fn gc(
        &self,
        request: &GarbageRequest,
        budget: Budget,
    ) -> Result<GarbageResponse, ClientError> {
        self.post("/v1/gc", budget, |deadline_ms| GarbageRequest {
            deadline_ms,
            ..request.clone()
        })
    }

    /// `POST /v1/ranges/check`: would these ranges serve an allocate now?
    ///
    /// # Errors
    /// See [`ClientError`].
    pub fn check_ranges(
        &self,
        request: &CheckRangesRequest,
        budget: Budget,
    ) -> Result<CheckRangesResponse, ClientError> {
        self.post("/v1/ranges/check", budget, |_| request.clone())
    }

    /// `GET /v1/attachments`: what the attachment holds now. `None` if it holds nothing.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub fn lookup(
        &self,
        attachment: &Attachment,
        budget: Budget,
    ) -> Result<Option<AllocateResponse>, ClientError> {
        let target = crate::target::with_query(
            "/v1/attachments",
            [
                ("cluster", attachment.cluster.as_str()),
                ("network", attachment.network.as_str()),
                ("container_id", attachment.container_id.as_str()),
                ("ifname", attachment.ifname.as_str()),
            ],
        );
        let answer = self.call(&Request::get(&target), budget);
        match answer {
            Err(ClientError::Problem(problem))
                if problem.code == crate::types::ProblemCode::NotFound && problem.status == 404 =>
            {
                Ok(None)
            }
            other => Ok(Some(decode(&other?)?)),
        }
    }

    /// `GET` of any resource, decoded.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub fn get<A: DeserializeOwned>(&self, target: &str, budget: Budget) -> Result<A, ClientError> {
        decode(&self.call(&Request::get(target), budget)?)
    }

    /// `GET /readyz`: is the service ready to serve?
    ///
    /// # Errors
    /// See [`ClientError`].
    pub fn ready(&self, budget: Budget) -> Result<(), ClientError> {
        self.call(&Request::get("/readyz"), budget).map(drop)
    }

    fn post<B: Serialize, A: DeserializeOwned>(
        &self,
        target: &str,
        budget: Budget,
        body: impl Fn(Option<u64>) -> B,
    ) -> Result<A, ClientError> {
        let encode = |milliseconds: u64| {
            serde_json::to_vec(&body(Some(milliseconds)))
                .expect("the request types have only text keys, so they always encode")
        };
        decode(&self.call(&Request::post(target, &encode), budget)?)
    }
}
