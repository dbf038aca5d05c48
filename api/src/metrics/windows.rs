//! How full the windows are. The number of series is bounded: only the first
//! [`MOST_WINDOWS`] windows in order of space, pool and start are told one by one, and a gauge
//! says how many were left out.

use std::sync::atomic::AtomicU64;

use ledger::answer::{Counted, WindowCounts};
use ledger::event::encoding::fingerprint_of;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

/// The most windows that are told one by one.
const MOST_WINDOWS: usize = 1000;
/// Longer lists of excluded parts become their number and a fingerprint.
const MOST_PARTS: usize = 4;

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct WindowLabels {
    space: String,
    pool: String,
    window: String,
    exclude: String,
}

type Addresses = Family<WindowLabels, Gauge<f64, AtomicU64>>;

/// One registry for one look.
pub(super) fn registry(counted: &Counted) -> Registry {
    let mut registry = Registry::with_prefix("ipledger");
    let mut family = |name: &str, help: &str| {
        let family = Addresses::default();
        registry.register(name, help, family.clone());
        family
    };
    let capacity = family(
        "window_capacity_addresses",
        "Addresses that the window hands out",
    );
    let held = family(
        "window_held_addresses",
        "Addresses of the window that are held",
    );
    let cooling = family(
        "window_cooling_addresses",
        "Addresses that rest after their release",
    );
    let reserved = family(
        "window_reserved_addresses",
        "Addresses that are set aside by hand",
    );
    let free = family(
        "window_free_addresses",
        "Addresses that can be handed out now",
    );
    let mut windows: Vec<&WindowCounts> = counted.windows.iter().collect();
    windows.sort_by(|a, b| order(a).cmp(&order(b)));
    for counts in windows.iter().take(MOST_WINDOWS) {
        let labels = labels(counts);
        for (family, count) in [
            (&capacity, counts.window.capacity()),
            (&held, counts.taken.held),
            (&cooling, counts.taken.cooling),
            (&reserved, counts.taken.reserved),
            (&free, counts.free()),
        ] {
            family.get_or_create(&labels).set(as_f64(count));
        }
    }
    let left_out = Gauge::<i64>::default();
    left_out.set(i64::try_from(windows.len().saturating_sub(MOST_WINDOWS)).unwrap_or(i64::MAX));
    registry.register(
        "windows_left_out",
        "Windows that are not told one by one, because there are too many",
        left_out,
    );
    registry
}

fn order(counts: &WindowCounts) -> (&str, ipnet::IpNet, u128, u128) {
    let window = &counts.window;
    (&counts.space, window.cidr(), window.first(), window.last())
}

fn labels(counts: &WindowCounts) -> WindowLabels {
    let window = &counts.window;
    let parts = window.exclude_text();
    let exclude = if parts.len() <= MOST_PARTS {
        parts.join(",")
    } else {
        let texts: Vec<&str> = parts.iter().map(String::as_str).collect();
        format!("{} parts {:016x}", parts.len(), fingerprint_of(&texts))
    };
    WindowLabels {
        space: counts.space.clone(),
        pool: window.cidr().to_string(),
        window: format!("{}-{}", window.start(), window.end()),
        exclude,
    }
}

/// A gauge is a floating-point number; beyond 2^53 the last digits are lost, which no graph shows.
#[expect(clippy::cast_precision_loss, reason = "see above")]
fn as_f64(count: u128) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use address::{Window, WindowText};
    use ledger::state::Taken;
    use prometheus_client::encoding::text::encode;

    use super::*;

    fn counts(space: &str, range: &str, exclude: &[String], held: u128) -> WindowCounts {
        let text = WindowText {
            range,
            range_start: None,
            range_end: None,
            exclude,
        };
        WindowCounts {
            space: space.to_owned(),
            window: Window::parse(&text).unwrap(),
            taken: Taken {
                held,
                ..Taken::default()
            },
        }
    }

    fn text_of(windows: Vec<WindowCounts>) -> String {
        let counted = Counted {
            windows,
            as_of: BTreeMap::new(),
        };
        let mut text = String::new();
        encode(&mut text, &registry(&counted)).unwrap();
        text
    }

    #[test]
    fn windows_that_differ_only_in_their_exclusions_are_two_series() {
        let few = ["10.0.0.8".to_owned()];
        let many: Vec<String> = (1..=9).map(|i| format!("10.0.0.{}", i * 2)).collect();
        let text = text_of(vec![
            counts("prod", "10.0.0.0/24", &[], 3),
            counts("prod", "10.0.0.0/24", &few, 2),
            counts("prod", "10.0.0.0/24", &many, 1),
        ]);
        let held: Vec<&str> = text
            .lines()
            .filter(|line| line.starts_with("ipledger_window_held_addresses{"))
            .collect();
        assert_eq!(held.len(), 3, "{text}");
        let plain =
            r#"{space="prod",pool="10.0.0.0/24",window="10.0.0.1-10.0.0.254",exclude=""} 3"#;
        assert!(held.iter().any(|line| line.contains(plain)), "{text}");
        assert!(
            held.iter()
                .any(|line| line.contains("exclude=\"10.0.0.8\"")),
            "{text}"
        );
        assert!(
            held.iter().any(|line| line.contains("exclude=\"9 parts ")),
            "{text}"
        );
    }

    #[test]
    fn too_many_windows_are_counted_instead() {
        let windows = (0..1007)
            .map(|i| counts(&format!("space-{i:04}"), "10.0.0.0/24", &[], 0))
            .collect();
        let text = text_of(windows);
        let free = text
            .lines()
            .filter(|line| line.starts_with("ipledger_window_free_addresses{"));
        assert_eq!(free.count(), MOST_WINDOWS);
        assert!(text.contains("ipledger_windows_left_out 7"), "{text}");
    }
}
