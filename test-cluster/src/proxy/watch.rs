//! Watches that pass through, and how they break.

use std::sync::Mutex;

use futures_util::stream;
use http_body_util::{BodyExt, StreamBody};
use hyper::body::{Bytes, Frame};
use serde_json::json;
use tokio::sync::{mpsc, oneshot};

use super::forward::{AnswerBody, BoxError};
use super::list::EventFilter;
use super::lock;
use super::matcher::Matcher;
use super::request::SeenRequest;

/// How an open watch breaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WatchBreak {
    /// The connection breaks off.
    Cut,
    /// The API server says that the resource version is too old (410) and ends it.
    Expired,
    /// The connection stays, and nothing comes any more: a cable was pulled.
    Silent,
}

/// The watches that are open now.
#[derive(Debug, Default)]
pub(super) struct OpenWatches(Mutex<Vec<OpenWatch>>);

#[derive(Debug)]
struct OpenWatch {
    request: SeenRequest,
    end: oneshot::Sender<WatchBreak>,
}

impl OpenWatches {
    fn add(&self, request: SeenRequest) -> oneshot::Receiver<WatchBreak> {
        let (end, receiver) = oneshot::channel();
        lock(&self.0).push(OpenWatch { request, end });
        receiver
    }

    pub(super) fn count(&self, matcher: &Matcher) -> usize {
        let mut watches = lock(&self.0);
        watches.retain(|watch| !watch.end.is_closed());
        let matching = watches
            .iter()
            .filter(|watch| matcher.matches(&watch.request));
        matching.count()
    }

    pub(super) fn break_matching(&self, matcher: &Matcher, how: WatchBreak) -> usize {
        let mut watches = lock(&self.0);
        let broken = watches.extract_if(.., |watch| matcher.matches(&watch.request));
        broken.filter_map(|watch| watch.end.send(how).ok()).count()
    }

    /// The body of a watch, line by line, until it is broken.
    pub(super) fn relay(
        &self,
        request: SeenRequest,
        body: kube::client::Body,
        filter: Option<EventFilter>,
    ) -> AnswerBody {
        let (answer, receiver) = mpsc::channel(16);
        let end = self.add(request);
        let relay = Relay {
            answer,
            filter,
            pending: Vec::new(),
        };
        tokio::spawn(relay.run(body, end));
        let frames = stream::unfold(receiver, async |mut receiver| {
            let frame = receiver.recv().await?;
            Some((frame, receiver))
        });
        StreamBody::new(frames).boxed_unsync()
    }
}

type AnswerFrame = Result<Frame<Bytes>, BoxError>;

/// From the API server's body to the client's.
struct Relay {
    answer: mpsc::Sender<AnswerFrame>,
    filter: Option<EventFilter>,
    /// The beginning of a line whose end has not come yet.
    pending: Vec<u8>,
}

impl Relay {
    async fn run(mut self, mut body: kube::client::Body, mut end: oneshot::Receiver<WatchBreak>) {
        loop {
            tokio::select! {
                how = &mut end => return self.finish(how.unwrap_or(WatchBreak::Cut)).await,
                () = self.answer.closed() => return,
                frame = body.frame() => match frame {
                    Some(Ok(frame)) => self.pass(frame.into_data().unwrap_or_default()).await,
                    Some(Err(error)) => return self.send(Err(error.into())).await,
                    None => return,
                },
            }
        }
    }

    /// Passes on the lines that are complete.
    async fn pass(&mut self, data: Bytes) {
        self.pending.extend_from_slice(&data);
        let Some(last) = self.pending.iter().rposition(|byte| *byte == b'\n') else {
            return;
        };
        let rest = self.pending.split_off(last + 1);
        let mut lines = std::mem::replace(&mut self.pending, rest);
        if let Some(filter) = &mut self.filter {
            let kept = lines.split_inclusive(|byte| *byte == b'\n');
            lines = kept
                .filter(|line| filter.keeps(line))
                .flatten()
                .copied()
                .collect();
        }
        self.send(Ok(Frame::data(lines.into()))).await;
    }

    async fn finish(&self, how: WatchBreak) {
        match how {
            WatchBreak::Cut => self.send(Err("the watch was cut".into())).await,
            WatchBreak::Expired => self.send(Ok(Frame::data(expired()))).await,
            WatchBreak::Silent => self.answer.closed().await,
        }
    }

    /// A client that is gone needs no more.
    async fn send(&self, frame: AnswerFrame) {
        let _ = self.answer.send(frame).await;
    }
}

fn expired() -> Bytes {
    let event = json!({"type": "ERROR", "object": {
        "apiVersion": "v1",
        "kind": "Status",
        "metadata": {},
        "status": "Failure",
        "message": "too old resource version",
        "reason": "Expired",
        "code": 410,
    }});
    format!("{event}\n").into()
}
