//! Kubernetes' times: its types come with a jiff of their own.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, Time};

/// A time of an object.
#[must_use]
pub(crate) fn of_time(time: &Time) -> Timestamp {
    convert(time.0)
}

/// A time of an object, with microseconds.
#[must_use]
pub(crate) fn of_micro_time(time: &MicroTime) -> Timestamp {
    convert(time.0)
}

/// The other way.
#[must_use]
pub(crate) fn micro_time(time: Timestamp) -> MicroTime {
    let theirs = k8s_openapi::jiff::Timestamp::from_nanosecond(time.as_nanosecond());
    MicroTime(theirs.expect("both types cover the same years"))
}

fn convert(time: k8s_openapi::jiff::Timestamp) -> Timestamp {
    Timestamp::from_nanosecond(time.as_nanosecond()).expect("both types cover the same years")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_come_back_as_they_were_also_at_the_ends() {
        for time in [Timestamp::MIN, Timestamp::UNIX_EPOCH, Timestamp::MAX] {
            assert_eq!(of_micro_time(&micro_time(time)), time);
        }
        let max = Time(k8s_openapi::jiff::Timestamp::MAX);
        assert_eq!(of_time(&max), Timestamp::MAX);
    }
}
