//! Events as they are recorded: server-sent events, resumable by position.

use std::collections::BTreeMap;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use axum::Extension;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use futures_util::stream;
use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue};
use ipledger_client::types::{LAST_EVENT_ID_HEADER, ProblemCode};
use ledger::{Error, Event, FollowQuery, Followed};
use serde::{Deserialize, Serialize};
use tokio::sync::OwnedSemaphorePermit;
use utoipa::IntoParams;

use crate::app::App;
use crate::check;
use crate::context::RequestContext;
use crate::input::{Cursor, Query};
use crate::openapi::problems::ListHoldsProblems;
use crate::problem::{Failure, Keys};
use crate::wire;

/// Events read at a time. They are held in memory until the follower takes them.
const AT_ONCE: u32 = 500;
/// A follower that hears nothing for so long is told that the connection lives.
const QUIET: Duration = Duration::from_secs(15);

/// What to follow.
#[derive(Debug, IntoParams)]
#[into_params(parameter_in = Query)]
#[expect(
    dead_code,
    reason = "read parameter by parameter; here for the documentation"
)]
pub(super) struct FollowParameters {
    /// Only this space.
    space: Option<String>,
    /// Only spaces that this cluster is a member of.
    cluster: Option<String>,
    /// Begin behind this position; needs `space`. Without it, with what comes from now on.
    after: Option<u64>,
    /// The id of the last event that was seen, with the same other parameters; as the header
    /// `Last-Event-ID`, which goes before it.
    last_event_id: Option<String>,
}

/// A vector of positions, and the epoch that they belong to.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Place {
    epoch: u32,
    positions: BTreeMap<String, u64>,
}

/// Follow events
///
/// Server-sent events (`text/event-stream`): each event of the ledger in one message, its `data`
/// the event as in the lists, in order of position within each space. Its `id` stands for the
/// positions of all spaces followed: who comes back with it as `Last-Event-ID` goes on behind that
/// event, without a gap and without a repeat, at any replica. Spaces that are opened later are
/// followed from their beginning. A comment comes when nothing happened for 15 seconds; a message
/// of the type `problem` says why the stream ends.
#[utoipa::path(
    get, path = "/v1/follow", operation_id = "follow", tag = "history",
    params(FollowParameters),
    responses(
        (status = 200, description = "Events, without end.", body = String,
            content_type = "text/event-stream"),
        ListHoldsProblems,
    ),
)]
pub(super) async fn follow(
    State(app): State<Arc<App>>,
    Extension(context): Extension<Arc<RequestContext>>,
    headers: HeaderMap,
    mut query: Query,
) -> Result<Response, Failure> {
    let space = query.text("space");
    let cluster = query.text("cluster");
    let after = query.number("after")?;
    let given = query.text("last_event_id");
    query.end()?;
    if let Some(space) = &space {
        check::space("space", space)?;
    }
    if let Some(cluster) = &cluster {
        check::cluster("cluster", cluster)?;
    }
    let header = headers.get(LAST_EVENT_ID_HEADER);
    let header = header.and_then(|value| value.to_str().ok());
    let given = header.map(str::to_owned).or(given);
    let parameters = [("space", space.as_deref()), ("cluster", cluster.as_deref())];
    let cursor = Cursor::named("last_event_id", "follow", parameters);
    let known: Option<Place> = given.as_deref().map(|text| cursor.read(text)).transpose()?;
    let first = match (&known, after, &space) {
        (Some(place), ..) => Some(place.positions.clone()),
        (None, Some(after), Some(space)) => {
            let after = check::position("after", Some(after))?;
            Some(BTreeMap::from([(space.clone(), after)]))
        }
        (None, Some(_), None) => return Err(Failure::missing("space")),
        (None, None, _) => None,
    };
    let place = app.following.clone().try_acquire_owned().map_err(|_| {
        let detail = "too many followers; follow at another replica, or read the lists";
        Failure::new(ProblemCode::Overloaded, detail)
    })?;
    let query = FollowQuery {
        space,
        cluster,
        positions: first,
        limit: AT_ONCE,
    };
    // The first look answers what is wrong with the query, before the stream begins.
    let followed = app
        .wait_for(
            &context,
            Duration::ZERO,
            app.ledger.follow(&query, async {}),
        )
        .await?;
    if let (Some(known), Some(given)) = (&known, &given)
        && known.epoch != followed.epoch
    {
        let problem = format!(
            "is of epoch {}, and the ledger is at epoch {}: history may have been cut short in \
             between, begin anew",
            known.epoch, followed.epoch
        );
        return Err(Failure::invalid("last_event_id", given, &problem));
    }
    let mut follower = Follower {
        app,
        context,
        cursor,
        query,
        epoch: followed.epoch,
        waiting: VecDeque::new(),
        ended: false,
        _place: place,
    };
    follower.take(followed);
    let messages = stream::unfold(follower, |mut follower| async move {
        let message = follower.next().await?;
        Some((Ok::<_, std::convert::Infallible>(message), follower))
    });
    let headers = [
        (CONTENT_TYPE, HeaderValue::from_static("text/event-stream")),
        (CACHE_CONTROL, HeaderValue::from_static("no-cache")),
    ];
    Ok((headers, Body::from_stream(messages)).into_response())
}

/// One who follows.
struct Follower {
    app: Arc<App>,
    context: Arc<RequestContext>,
    cursor: Cursor,
    query: FollowQuery,
    epoch: u32,
    waiting: VecDeque<Event>,
    ended: bool,
    _place: OwnedSemaphorePermit,
}

impl Follower {
    fn take(&mut self, followed: Followed) {
        self.query.positions.get_or_insert(followed.positions);
        self.waiting.extend(followed.events);
    }

    /// The next message; `None` when the service stops, or after a problem was told.
    async fn next(&mut self) -> Option<Bytes> {
        if let Some(event) = self.waiting.pop_front() {
            return Some(self.message(event));
        }
        if self.ended || self.app.is_stopping() {
            return None;
        }
        let end = self.app.end_of_wait(QUIET);
        let followed = self.app.ledger.follow(&self.query, end);
        // The time of the request itself was over long ago.
        let longest = QUIET + self.app.config.request_time;
        let followed = match tokio::time::timeout(longest, followed).await {
            Ok(followed) => followed,
            Err(_) => Err(Error::DeadlinePassed),
        };
        match followed {
            Ok(followed) if followed.epoch != self.epoch => {
                let detail = "the epoch of the ledger changed: begin anew";
                let failure = Failure::new(ProblemCode::NotFound, detail);
                Some(self.last_words(&failure))
            }
            Ok(followed) => {
                self.take(followed);
                match self.waiting.pop_front() {
                    Some(event) => Some(self.message(event)),
                    None => Some(Bytes::from_static(b": nothing new\n\n")),
                }
            }
            Err(error) => {
                let now = self.app.clock.now();
                let failure = Failure::from_ledger(error, Keys::default(), now);
                Some(self.last_words(&failure))
            }
        }
    }

    fn message(&mut self, event: Event) -> Bytes {
        let positions = self.query.positions.get_or_insert_default();
        positions.insert(event.space.clone(), event.seq);
        let place = Place {
            epoch: self.epoch,
            positions: positions.clone(),
        };
        let text = self.cursor.write(&place).and_then(|id| {
            let data = serde_json::to_string(&wire::event(event));
            let data = data.map_err(|error| Failure::internal(format!("event: {error}")))?;
            Ok(format!("id: {id}\nevent: event\ndata: {data}\n\n"))
        });
        match text {
            Ok(text) => Bytes::from(text),
            Err(failure) => self.last_words(&failure),
        }
    }

    fn last_words(&mut self, failure: &Failure) -> Bytes {
        self.ended = true;
        self.waiting.clear();
        let problem = failure.problem(&self.context.id);
        let data = serde_json::to_string(&problem)
            .expect("a problem has text keys and no failing serializers");
        Bytes::from(format!("event: problem\ndata: {data}\n\n"))
    }
}
