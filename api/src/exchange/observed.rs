//! What is counted and logged about one request.

use http::StatusCode;

use crate::app::App;
use crate::context::RequestContext;
use crate::metrics::{ABORTED, OK};
use crate::operation::Operation;
use crate::problem::Failure;

/// The target of the one log event per request: `IPLEDGER_LOG=info,ipledger_api::request=debug`
/// shows every request, also those that were answered without a problem.
const TARGET: &str = "ipledger_api::request";

/// A request that is being answered. Dropped before [`Observed::end`], its caller went away.
pub(super) struct Observed<'a> {
    app: &'a App,
    context: &'a RequestContext,
    operation: Operation,
    ended: bool,
}

impl<'a> Observed<'a> {
    pub(super) fn begin(app: &'a App, context: &'a RequestContext, operation: Operation) -> Self {
        app.metrics.in_flight.inc();
        Self {
            app,
            context,
            operation,
            ended: false,
        }
    }

    pub(super) fn end(mut self, status: StatusCode, failure: Option<&Failure>) {
        self.ended = true;
        let duration = self.context.elapsed();
        let code = failure.map_or(OK, |failure| failure.code().as_str());
        self.app.metrics.count(self.operation, code, duration);
        self.log(status.as_u16(), code, duration.as_secs_f64(), failure);
    }

    /// Success is worth a line only to whoever asks for it; the ledger keeps the record.
    fn log(&self, status: u16, code: &str, duration_seconds: f64, failure: Option<&Failure>) {
        macro_rules! event {
            ($level:ident, $text:literal $(, $field:ident = $value:expr)*) => {
                tracing::event!(
                    target: TARGET,
                    tracing::Level::$level,
                    method = self.operation.method(),
                    route = self.operation.route(),
                    status,
                    code,
                    duration_seconds,
                    request_id = self.context.id,
                    actor = self.context.actor,
                    $($field = $value,)*
                    $text
                )
            };
        }
        let Some(failure) = failure else {
            event!(DEBUG, "answered");
            return;
        };
        let (detail, cause) = (failure.detail(), failure.cause());
        match status {
            500 => event!(ERROR, "the service failed", cause = cause),
            503 => event!(WARN, "not answered now", detail = detail, cause = cause),
            // The sentence repeats what the caller sent, which may be a body or a secret.
            400 => event!(INFO, "refused", key = failure.key()),
            _ => event!(INFO, "refused", detail = detail),
        }
    }
}

impl Drop for Observed<'_> {
    fn drop(&mut self) {
        self.app.metrics.in_flight.dec();
        if !self.ended {
            let duration = self.context.elapsed();
            self.app.metrics.count(self.operation, ABORTED, duration);
            self.log_aborted(duration.as_secs_f64());
        }
    }
}

impl Observed<'_> {
    fn log_aborted(&self, duration_seconds: f64) {
        tracing::info!(
            target: TARGET,
            method = self.operation.method(),
            route = self.operation.route(),
            code = ABORTED,
            duration_seconds,
            request_id = self.context.id,
            actor = self.context.actor,
            "the caller went away before the answer"
        );
    }
}
