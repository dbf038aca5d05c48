//! Virtual time: milliseconds since the start of a run, and how the clocks show it.

use jiff::Timestamp;

pub(crate) const SECOND: i64 = 1_000;
/// Any day will do.
const START_MS: i64 = 1_700_000_000_000;

/// By a clock that is this many milliseconds ahead.
pub(crate) fn clock(at: i64, ahead: i64) -> Timestamp {
    Timestamp::from_millisecond(START_MS + at + ahead).expect("a run is short")
}

/// As Kubernetes objects carry it: whole seconds.
pub(crate) fn whole_seconds(at: i64, ahead: i64) -> Timestamp {
    let second = (START_MS + at + ahead).div_euclid(SECOND);
    Timestamp::from_second(second).expect("a run is short")
}

pub(crate) fn microseconds(at: i64, ahead: i64) -> i64 {
    (START_MS + at + ahead) * 1_000
}

/// Back from the clock that is right.
pub(crate) fn since_start(time: Timestamp) -> i64 {
    time.as_millisecond() - START_MS
}
