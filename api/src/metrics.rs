//! What `/metrics` tells. Every label comes from a fixed list, except those of the windows,
//! whose number is bounded (see `windows`).

mod windows;

use std::sync::OnceLock;
use std::time::Duration;

use ledger::Ledger;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::{encode_eof, encode_registry};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::Registry;

use crate::operation::Operation;

/// Upper bounds of the buckets of a request's duration, in seconds.
const BUCKETS: [f64; 14] = [
    0.0005, 0.001, 0.002, 0.004, 0.008, 0.016, 0.032, 0.064, 0.128, 0.256, 0.512, 1.0, 5.0, 30.0,
];

/// The code of a request that was answered without a problem.
pub(crate) const OK: &str = "ok";
/// The code of a request whose caller went away before the answer.
pub(crate) const ABORTED: &str = "aborted";

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RequestLabels {
    method: &'static str,
    route: &'static str,
    code: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OperationLabels {
    method: &'static str,
    route: &'static str,
}

/// What is counted here, and the registry of all.
#[derive(Debug)]
pub(crate) struct Metrics {
    registry: Registry,
    requests: Family<RequestLabels, Counter>,
    seconds: Family<OperationLabels, Histogram, fn() -> Histogram>,
    pub(crate) in_flight: Gauge,
    /// Handles of the operations that were used, so that a request looks nothing up.
    handles: [OnceLock<Handles>; Operation::COUNT],
}

#[derive(Debug)]
struct Handles {
    ok: Counter,
    seconds: Histogram,
}

impl Metrics {
    pub(crate) fn new(ledger: &Ledger) -> Self {
        let mut all = Registry::default();
        ledger.register_metrics(&mut all);
        let registry = all.sub_registry_with_prefix("ipledger");
        let requests = Family::default();
        registry.register(
            "http_requests",
            "Requests by route and outcome: ok, the code of the problem, or aborted",
            requests.clone(),
        );
        let seconds = Family::new_with_constructor((|| Histogram::new(BUCKETS)) as fn() -> _);
        registry.register(
            "http_request_duration_seconds",
            "Time from the head of a request to its answer",
            seconds.clone(),
        );
        let in_flight = Gauge::default();
        registry.register(
            "http_requests_in_flight",
            "Requests that have no answer yet",
            in_flight.clone(),
        );
        registry.register(
            "build",
            "The version of this service",
            Info::new([("version", env!("CARGO_PKG_VERSION"))]),
        );
        Self {
            registry: all,
            requests,
            seconds,
            in_flight,
            handles: [const { OnceLock::new() }; Operation::COUNT],
        }
    }

    /// Counts a request that has ended.
    pub(crate) fn count(&self, operation: Operation, code: &'static str, duration: Duration) {
        let handles = self.handles(operation);
        handles.seconds.observe(duration.as_secs_f64());
        if code == OK {
            handles.ok.inc();
        } else {
            self.counter(operation, code).inc();
        }
    }

    fn handles(&self, operation: Operation) -> &Handles {
        self.handles[operation as usize].get_or_init(|| {
            let labels = OperationLabels {
                method: operation.method(),
                route: operation.route(),
            };
            Handles {
                ok: self.counter(operation, OK),
                seconds: self.seconds.get_or_create_owned(&labels),
            }
        })
    }

    fn counter(&self, operation: Operation, code: &'static str) -> Counter {
        self.requests.get_or_create_owned(&RequestLabels {
            method: operation.method(),
            route: operation.route(),
            code,
        })
    }

    /// The text of `/metrics`, with the counts of the windows if they are known.
    pub(crate) fn encode(
        &self,
        windows: Option<&ledger::answer::Counted>,
    ) -> Result<String, std::fmt::Error> {
        let mut text = String::new();
        encode_registry(&mut text, &self.registry)?;
        if let Some(windows) = windows {
            encode_registry(&mut text, &windows::registry(windows))?;
        }
        encode_eof(&mut text)?;
        Ok(text)
    }
}
