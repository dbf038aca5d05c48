//! One request: its fault, if it meets one, and its answer.

use futures_util::stream;
use http::header::{
    ACCEPT, ACCEPT_ENCODING, CONNECTION, CONTENT_LENGTH, HOST, HeaderMap, HeaderValue,
    TRANSFER_ENCODING,
};
use http::request::Parts;
use http::{Request, Response, StatusCode};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::{Bytes, Frame, Incoming};
use kube::client::Body;

use super::fault::{Fault, refusal};
use super::list::{EventFilter, spoil};
use super::request::{SeenRequest, Verb};
use super::{State, lock};

pub(super) type BoxError = Box<dyn std::error::Error + Send + Sync>;
pub(super) type AnswerBody = UnsyncBoxBody<Bytes, BoxError>;
type Answer = Result<Response<AnswerBody>, BoxError>;

/// An error closes the connection without an answer.
pub(super) async fn answer(
    state: &State,
    api_server: &kube::Client,
    request: Request<Incoming>,
) -> Answer {
    let seen = SeenRequest::parse(request.method(), request.uri());
    lock(&state.seen).push(seen.clone());
    let (mut parts, body) = request.into_parts();
    let body = body.collect().await?.to_bytes();
    end_to_end(&mut parts.headers);
    let passage = Passage {
        state,
        api_server,
        seen,
        parts,
        body,
    };
    let Some((fault, mut rule)) = state.rules.meet(&passage.seen) else {
        return passage.unchanged().await;
    };
    match fault {
        Fault::Status(status) => Ok(whole(refusal(status, "the fault proxy was told to refuse"))),
        Fault::Disconnect => Err("the fault proxy was told to disconnect".into()),
        Fault::Hang => {
            // The sender is dropped with the rule.
            while rule.changed().await.is_ok() {}
            Err("the fault is over".into())
        }
        Fault::Delay(time) => {
            tokio::time::sleep(time).await;
            passage.unchanged().await
        }
        Fault::TruncateBody { after_bytes } => passage.truncated(after_bytes).await,
        Fault::EmptyList | Fault::WithoutNamespace(_) => passage.spoiled(fault).await,
    }
}

/// A request on its way.
struct Passage<'a> {
    state: &'a State,
    api_server: &'a kube::Client,
    seen: SeenRequest,
    parts: Parts,
    body: Bytes,
}

impl Passage<'_> {
    async fn unchanged(mut self) -> Answer {
        let response = self.send().await?;
        Ok(self.relay(response, None))
    }

    async fn truncated(mut self, after_bytes: usize) -> Answer {
        let response = self.send().await?;
        Ok(response.map(|body| truncate(body, after_bytes)))
    }

    async fn spoiled(mut self, fault: Fault) -> Answer {
        self.accept_json_only();
        let response = self.send().await?;
        if !response.status().is_success() {
            return Ok(self.relay(response, None));
        }
        if self.seen.verb == Verb::Watch {
            let filter = EventFilter::new(fault, self.seen.begins_with_a_list());
            return Ok(self.relay(response, Some(filter)));
        }
        let (mut parts, body) = response.into_parts();
        let Some(list) = spoil(&fault, &body.collect().await?.to_bytes()) else {
            let message = format!(
                "the fault proxy sees no list in the answer of {}",
                self.seen.path
            );
            return Ok(whole(refusal(StatusCode::BAD_GATEWAY, &message)));
        };
        parts.headers.remove(CONTENT_LENGTH);
        Ok(whole(Response::from_parts(parts, list)))
    }

    async fn send(&mut self) -> Result<Response<Body>, BoxError> {
        let path = self
            .parts
            .uri
            .path_and_query()
            .map_or("/", |path| path.as_str());
        let mut request = Request::new(Body::from(self.body.clone()));
        *request.method_mut() = self.parts.method.clone();
        *request.uri_mut() = path.parse()?;
        *request.headers_mut() = std::mem::take(&mut self.parts.headers);
        let (parts, body) = self.api_server.send(request).await?.into_parts();
        let mut response = Response::new(body);
        *response.status_mut() = parts.status;
        *response.headers_mut() = parts.headers;
        end_to_end(response.headers_mut());
        Ok(response)
    }

    fn relay(self, response: Response<Body>, filter: Option<EventFilter>) -> Response<AnswerBody> {
        let watch = self.seen.verb == Verb::Watch && response.status().is_success();
        let watches = &self.state.watches;
        response.map(|body| {
            if watch {
                watches.relay(self.seen, body, filter)
            } else {
                body.map_err(BoxError::from).boxed_unsync()
            }
        })
    }

    /// What is to be changed must be readable.
    fn accept_json_only(&mut self) {
        let Some(accept) = self.parts.headers.get(ACCEPT) else {
            return;
        };
        let forms = accept.to_str().unwrap_or_default().split(',');
        let json: Vec<&str> = forms.filter(|form| form.contains("json")).collect();
        let json = HeaderValue::from_str(&json.join(","));
        let plain = HeaderValue::from_static("application/json");
        self.parts.headers.insert(ACCEPT, json.unwrap_or(plain));
    }
}

/// Leaves what is not for this connection only. Compressed bodies could not be read.
fn end_to_end(headers: &mut HeaderMap) {
    for name in [HOST, CONNECTION, TRANSFER_ENCODING, ACCEPT_ENCODING] {
        headers.remove(name);
    }
}

fn whole(response: Response<Vec<u8>>) -> Response<AnswerBody> {
    response.map(|body| {
        Full::new(Bytes::from(body))
            .map_err(BoxError::from)
            .boxed_unsync()
    })
}

/// The body up to so many bytes, then an error, which breaks the connection off.
fn truncate(body: Body, after_bytes: usize) -> AnswerBody {
    let frames = stream::unfold(Some((body, after_bytes)), async |rest| {
        let (mut body, left) = rest?;
        let data = match body.frame().await? {
            Ok(frame) => frame.into_data().unwrap_or_default(),
            Err(error) => return Some((Err(error.into()), None)),
        };
        if left == 0 {
            return Some((Err(BoxError::from("the body was truncated")), None));
        }
        let data = data.slice(..data.len().min(left));
        let left = left - data.len();
        Some((Ok(Frame::data(data)), Some((body, left))))
    });
    StreamBody::new(frames).boxed_unsync()
}
