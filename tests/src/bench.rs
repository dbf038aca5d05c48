//! Measuring: everything as ratios within one run on one PostgreSQL.

pub mod corners;
pub mod http;
pub mod pgbench;
pub mod plugin;
pub mod report;
pub mod server;

/// Rate and latencies of one measurement.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Figures {
    /// Operations per second.
    pub rate: f64,
    /// Median latency, in milliseconds.
    pub p50_ms: f64,
    /// 99th percentile, in milliseconds.
    pub p99_ms: f64,
}

impl Figures {
    /// From a histogram of microseconds over a time.
    #[must_use]
    pub fn of(histogram: &hdrhistogram::Histogram<u64>, seconds: f64) -> Figures {
        #[expect(clippy::cast_precision_loss, reason = "figures for people")]
        let ms = |quantile| histogram.value_at_quantile(quantile) as f64 / 1000.0;
        #[expect(clippy::cast_precision_loss, reason = "figures for people")]
        let count = histogram.len() as f64;
        Figures {
            rate: count / seconds,
            p50_ms: ms(0.5),
            p99_ms: ms(0.99),
        }
    }
}
