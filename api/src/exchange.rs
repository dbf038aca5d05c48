//! One request and its answer, whatever happens in between: an id, a count, a log event, and a
//! problem body in place of a panic.

mod observed;

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Instant;

use axum::Router;
use axum::body::Bytes;
use axum::response::{IntoResponse, Response};
use futures_util::FutureExt as _;
use http::Request;
use hyper::body::Incoming;
use tower::Service as _;

use crate::app::App;
use crate::context::{REQUEST_ID_HEADER, RequestContext};
use crate::identity::Peer;
use crate::operation::Operation;
use crate::problem::Failure;
use observed::Observed;

/// Answers one request.
pub(crate) async fn answer(
    app: Arc<App>,
    router: Router,
    peer: Peer,
    mut request: Request<Incoming>,
) -> Response {
    let arrived = Instant::now();
    let operation = Operation::of(request.method(), request.uri().path());
    let longest = app.config.request_time;
    let (context, refused) =
        RequestContext::new(request.headers(), &peer, &app.ids, arrived, longest);
    let context = Arc::new(context);
    let observed = Observed::begin(&app, &context, operation);
    let response = match refused {
        Some(failure) => failure.into_response(),
        None => {
            request.extensions_mut().insert(Arc::clone(&context));
            call(router, request).await
        }
    };
    finish(response, &context, observed)
}

async fn call<B>(mut router: Router, request: Request<B>) -> Response
where
    B: hyper::body::Body<Data = Bytes> + Send + 'static,
    B::Error: Into<axum::BoxError>,
{
    match AssertUnwindSafe(router.call(request)).catch_unwind().await {
        Ok(Ok(response)) => response,
        Err(panic) => {
            let text = panic
                .downcast_ref::<String>()
                .map(String::as_str)
                .or_else(|| panic.downcast_ref::<&str>().copied())
                .unwrap_or("a panic without words");
            Failure::internal(format!("panicked: {text}")).into_response()
        }
    }
}

fn finish(mut response: Response, context: &RequestContext, observed: Observed<'_>) -> Response {
    let failure = response.extensions_mut().remove::<Failure>();
    if let Some(failure) = &failure {
        response = failure.render(response, &context.id);
    }
    response
        .headers_mut()
        .insert(REQUEST_ID_HEADER, context.id_header());
    observed.end(response.status(), failure.as_ref());
    response
}

#[cfg(test)]
mod tests {
    use axum::body::Body;
    use axum::routing::get;
    use ipledger_client::types::ProblemCode;

    use super::*;

    async fn panics() {
        panic!("{} is no number", "seven");
    }

    #[tokio::test]
    async fn a_panic_becomes_a_problem_that_keeps_its_words_for_the_log() {
        let router = Router::new().route("/", get(panics));
        let response = call(router, Request::new(Body::empty())).await;
        let failure = response.extensions().get::<Failure>().unwrap();
        assert_eq!(failure.code(), ProblemCode::Internal);
        assert_eq!(failure.cause(), Some("panicked: seven is no number"));
        assert!(!failure.detail().contains("seven"));
    }
}
