//! What is known about one request before its body is read.

use std::sync::Arc;
use std::time::{Duration, Instant};

use http::{HeaderMap, HeaderValue};
use jiff::Timestamp;
use ledger::model::{Actor, Provenance};

use crate::app::SharedIds;
use crate::identity::{self, Peer};
use crate::problem::Failure;

/// The header that carries the id of a request, both ways.
pub const REQUEST_ID_HEADER: &str = "x-request-id";

/// What is known about one request before its body is read.
#[derive(Debug)]
pub(crate) struct RequestContext {
    /// For correlation only.
    pub(crate) id: String,
    /// Name of the caller.
    pub(crate) actor: String,
    /// How the caller is known.
    authenticated_by: Arc<str>,
    arrived: Instant,
    longest: Duration,
}

impl RequestContext {
    /// The context, and the failure if the caller's name cannot be recorded.
    pub(crate) fn new(
        headers: &HeaderMap,
        peer: &Peer,
        ids: &SharedIds,
        arrived: Instant,
        longest: Duration,
    ) -> (Self, Option<Failure>) {
        let id = headers
            .get(REQUEST_ID_HEADER)
            .and_then(|value| value.to_str().ok())
            .filter(|text| identity::is_visible(text))
            .map_or_else(|| ids.next().to_string(), str::to_owned);
        let (actor, failure) = match identity::actor_name(headers) {
            Ok(actor) => (actor, None),
            Err(failure) => (String::new(), Some(failure)),
        };
        let context = Self {
            id,
            actor,
            authenticated_by: Arc::clone(&peer.authenticated_by),
            arrived,
            longest,
        };
        (context, failure)
    }

    /// The id as a header.
    pub(crate) fn id_header(&self) -> HeaderValue {
        HeaderValue::from_str(&self.id).expect("the id is visible ASCII")
    }

    /// How long the request has taken so far.
    pub(crate) fn elapsed(&self) -> Duration {
        self.arrived.elapsed()
    }

    /// How long the request may still take: until its own deadline, counted from its arrival,
    /// or the server's, whichever is earlier.
    pub(crate) fn time_left(&self, deadline_ms: Option<u64>) -> Duration {
        let bound = deadline_ms.map_or(self.longest, |ms| {
            self.longest.min(Duration::from_millis(ms))
        });
        bound.saturating_sub(self.elapsed())
    }

    /// What an event of this request says about where it comes from.
    pub(crate) fn provenance(&self, claimed_at: Option<Timestamp>) -> Provenance {
        Provenance {
            request_id: self.id.clone(),
            actor: Actor {
                authenticated_by: self.authenticated_by.as_ref().to_owned(),
                name: self.actor.clone(),
            },
            claimed_at,
        }
    }
}
