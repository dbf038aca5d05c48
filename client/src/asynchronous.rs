//! A client for tokio, for `ipledger-sync` and other long-lived processes.
//!
//! The rules are those of [`crate::blocking`]: several addresses in turn, one [`Budget`] for a
//! call with all its retries, and requests that may be repeated. Connections are kept open.

mod call;
mod following;
mod paging;

use std::fmt;
use std::sync::atomic::AtomicUsize;
use std::time::Duration;

use serde::de::DeserializeOwned;

pub use following::{FollowedEvent, Following};
pub use paging::{EventFilter, HoldFilter, HoldReading, PoolReading, WindowReading};

use crate::outcome::decode;
use crate::types::{
    BindClusterRequest, ChangePage, Cluster, DeclareSpaceRequest, GateRequest, GateResponse,
    GiveBackRequest, ImportRequest, ImportResponse, ReleaseHoldRequest, ReleaseHoldResponse,
    ReserveRequest, ReserveResponse, Space, WakeupPage,
};
use crate::{ApiAddress, Budget, ClientError, header, target};
use call::{Peer, Request};

/// How much longer than its wait a long poll may take.
const POLL_MARGIN: Duration = Duration::from_secs(10);

/// Speaks to one ledger through any of its API addresses.
pub struct Client {
    peers: Vec<Peer>,
    /// The address that answered last is asked first.
    preferred: AtomicUsize,
}

impl fmt::Debug for Client {
    /// Without the headers, which may hold the token.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let addresses: Vec<_> = self.peers.iter().map(|peer| &peer.address).collect();
        formatter
            .debug_struct("Client")
            .field("addresses", &addresses)
            .finish_non_exhaustive()
    }
}

impl Client {
    /// A client for the given addresses, tried in this order. The token, if any, is sent as
    /// `Authorization: Bearer`.
    ///
    /// # Errors
    /// [`ClientError::Header`] if the token or the user agent cannot be a header's value;
    /// [`ClientError::Protocol`] if the system gives no HTTP client.
    pub fn new(
        addresses: &[ApiAddress],
        token: Option<&str>,
        user_agent: &str,
    ) -> Result<Self, ClientError> {
        header::check("User-Agent", user_agent)?;
        let bearer = token.map(header::bearer).transpose()?;
        let peers = addresses
            .iter()
            .map(|address| Peer::new(address, bearer.as_deref(), user_agent));
        Ok(Self {
            peers: peers.collect::<Result<_, _>>()?,
            preferred: AtomicUsize::new(0),
        })
    }

    /// `GET` of any resource, decoded.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub async fn get<A: DeserializeOwned>(
        &self,
        target: &str,
        budget: Budget,
    ) -> Result<A, ClientError> {
        decode(&self.call(&Request::get(target), budget).await?)
    }

    /// `GET /readyz`: is the service ready to serve?
    ///
    /// # Errors
    /// See [`ClientError`].
    pub async fn ready(&self, budget: Budget) -> Result<(), ClientError> {
        self.call(&Request::get("/readyz"), budget).await.map(drop)
    }

    /// `POST /v1/clusters/{cluster}/bind`. Binding to the bound UID changes nothing; another one
    /// is refused as `cluster_mismatch`.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub async fn bind_cluster(
        &self,
        cluster: &str,
        uid: &str,
        budget: Budget,
    ) -> Result<Cluster, ClientError> {
        let target = format!("/v1/clusters/{}/bind", target::encode(cluster));
        let body = BindClusterRequest {
            uid: uid.to_owned(),
        };
        let encode = |_| to_json(&body);
        decode(&self.call(&Request::post(&target, &encode), budget).await?)
    }

    /// `POST /v1/clusters/{cluster}/gate`: closes or opens the gate of a cluster.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub async fn set_gate(
        &self,
        cluster: &str,
        request: &GateRequest,
        budget: Budget,
    ) -> Result<GateResponse, ClientError> {
        let target = format!("/v1/clusters/{}/gate", target::encode(cluster));
        let encode = |_| to_json(request);
        decode(&self.call(&Request::post(&target, &encode), budget).await?)
    }

    /// `POST /v1/spaces`: declares a space that several clusters share.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub async fn declare_space(
        &self,
        request: &DeclareSpaceRequest,
        budget: Budget,
    ) -> Result<Space, ClientError> {
        let encode = |_| to_json(request);
        let request = Request::post("/v1/spaces", &encode);
        decode(&self.call(&request, budget).await?)
    }

    /// `POST /v1/holds/release`. The request's `deadline_ms` is set to the time that the attempt
    /// has.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub async fn release_hold(
        &self,
        request: &ReleaseHoldRequest,
        budget: Budget,
    ) -> Result<ReleaseHoldResponse, ClientError> {
        let encode = |milliseconds| {
            to_json(&ReleaseHoldRequest {
                deadline_ms: Some(milliseconds),
                ..request.clone()
            })
        };
        let request = Request::post("/v1/holds/release", &encode);
        decode(&self.call(&request, budget).await?)
    }

    /// `POST /v1/holds/import`.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub async fn import_hold(
        &self,
        request: &ImportRequest,
        budget: Budget,
    ) -> Result<ImportResponse, ClientError> {
        let encode = |_| to_json(request);
        let request = Request::post("/v1/holds/import", &encode);
        decode(&self.call(&request, budget).await?)
    }

    /// `POST /v1/reservations`: sets an address aside by hand.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub async fn reserve(
        &self,
        request: &ReserveRequest,
        budget: Budget,
    ) -> Result<ReserveResponse, ClientError> {
        let encode = |milliseconds| {
            to_json(&ReserveRequest {
                deadline_ms: Some(milliseconds),
                ..request.clone()
            })
        };
        let request = Request::post("/v1/reservations", &encode);
        decode(&self.call(&request, budget).await?)
    }

    /// `POST /v1/reservations/release`: gives an address back.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub async fn give_back(
        &self,
        request: &GiveBackRequest,
        budget: Budget,
    ) -> Result<ReleaseHoldResponse, ClientError> {
        let encode = |milliseconds| {
            to_json(&GiveBackRequest {
                deadline_ms: Some(milliseconds),
                ..request.clone()
            })
        };
        let request = Request::post("/v1/reservations/release", &encode);
        decode(&self.call(&request, budget).await?)
    }

    /// `GET /v1/wakeups`: waits until there is a wake-up later than `after` that concerns the
    /// cluster, or the time is over. Each address is asked at most once.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub async fn wakeups(
        &self,
        cluster: &str,
        after: u64,
        wait: Duration,
    ) -> Result<WakeupPage, ClientError> {
        let after = after.to_string();
        self.poll("/v1/wakeups", cluster, Some(("after", &after)), wait)
            .await
    }

    /// `GET /v1/changes`: waits until the heads of the cluster's spaces differ from those that
    /// `since` stands for (`next` of the answer before), or the time is over. Without `since` it
    /// answers at once. Each address is asked at most once.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub async fn changes(
        &self,
        cluster: &str,
        since: Option<&str>,
        wait: Duration,
    ) -> Result<ChangePage, ClientError> {
        let since = since.map(|since| ("since", since));
        self.poll("/v1/changes", cluster, since, wait).await
    }

    /// A long poll.
    async fn poll<A: DeserializeOwned>(
        &self,
        path: &str,
        cluster: &str,
        behind: Option<(&'static str, &str)>,
        wait: Duration,
    ) -> Result<A, ClientError> {
        let seconds = wait.as_secs().to_string();
        let fixed = [("cluster", cluster), ("wait_seconds", seconds.as_str())];
        let target = target::with_query(path, fixed.into_iter().chain(behind));
        let budget = Budget::within(wait + POLL_MARGIN).one_round();
        let request = Request::get(&target).within(wait + POLL_MARGIN);
        decode(&self.call(&request, budget).await?)
    }
}

fn to_json<B: serde::Serialize>(body: &B) -> Vec<u8> {
    serde_json::to_vec(body).expect("the request types have only text keys, so they always encode")
}
