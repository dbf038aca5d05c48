//! Durations with a unit: `45s`, `2m`, `1m30s`, `500ms`.

use std::str::FromStr;
use std::time::Duration;

use jiff::SignedDuration;

/// The longest that makes sense for anything here: a week.
pub(super) const LONGEST: Duration = Duration::from_secs(7 * 24 * 3600);

/// A length of time above zero.
pub(super) fn duration(text: &str) -> Result<Duration, String> {
    let parsed = SignedDuration::from_str(text.trim()).ok();
    let parsed = parsed.and_then(|duration| Duration::try_from(duration).ok());
    match parsed {
        Some(duration) if (Duration::from_millis(1)..=LONGEST).contains(&duration) => Ok(duration),
        Some(_) => Err("is not above 0 and at most a week".to_owned()),
        None => Err("is no duration with a unit, such as 45s or 2m".to_owned()),
    }
}

/// The same in whole seconds.
pub(super) fn seconds(text: &str) -> Result<u32, String> {
    let duration = duration(text)?;
    let seconds = u32::try_from(duration.as_secs()).unwrap_or(u32::MAX);
    if duration.subsec_nanos() == 0 {
        Ok(seconds)
    } else {
        Err("is not in whole seconds".to_owned())
    }
}

/// The time-out of unreachable nodes: whole seconds, or `never`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct NodeTimeout(pub(super) Option<u32>);

impl FromStr for NodeTimeout {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text.trim() == "never" {
            return Ok(Self(None));
        }
        let known = seconds(text);
        known
            .map(|seconds| Self(Some(seconds)))
            .map_err(|problem| format!("{problem}, nor is it never"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_read_and_needed() {
        for (text, milliseconds) in [
            ("45s", 45_000),
            ("2m", 120_000),
            ("1m30s", 90_000),
            ("500ms", 500),
            ("6 minutes", 360_000),
        ] {
            assert_eq!(
                duration(text),
                Ok(Duration::from_millis(milliseconds)),
                "{text}"
            );
        }
        for text in ["", "45", "0s", "-1s", "8d", "200h", "soon"] {
            assert!(duration(text).is_err(), "{text}");
        }
        assert_eq!(seconds("2m"), Ok(120));
        assert!(seconds("1500ms").is_err());
        assert_eq!("never".parse(), Ok(NodeTimeout(None)));
        assert_eq!("6m".parse(), Ok(NodeTimeout(Some(360))));
        assert!("always".parse::<NodeTimeout>().is_err());
    }
}
