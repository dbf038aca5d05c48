//! Times, steps and durations.

use ipledger_client::types::ProblemCode;
use jiff::Timestamp;

use crate::problem::Failure;

/// 31 days.
const LONGEST_REST_SECONDS: u32 = 31 * 24 * 60 * 60;

/// How long addresses rest, or are kept, after their release.
pub(crate) fn rest_seconds(key: &str, given: u32) -> Result<u32, Failure> {
    if given <= LONGEST_REST_SECONDS {
        return Ok(given);
    }
    let problem = format!("is longer than 31 days ({LONGEST_REST_SECONDS} s)");
    Err(Failure::invalid(key, &given.to_string(), &problem))
}

/// The step of a hold: even.
pub(crate) fn step(given: u32) -> Result<u32, Failure> {
    if given.is_multiple_of(2) && i32::try_from(given).is_ok() {
        return Ok(given);
    }
    let detail = format!("step \"{given}\" is not the step of a hold, which is even");
    Err(Failure::new(ProblemCode::InvalidRequest, detail).about("step", &given.to_string()))
}

/// A position to go on from; 0 if it is absent.
pub(crate) fn position(key: &str, given: Option<u64>) -> Result<u64, Failure> {
    let given = given.unwrap_or(0);
    if i64::try_from(given).is_ok() {
        return Ok(given);
    }
    let problem = format!("is not an integer from 0 to {}", i64::MAX);
    Err(Failure::invalid(key, &given.to_string(), &problem))
}

/// A time in RFC 3339, with its offset.
pub(crate) fn time(key: &str, given: Option<&str>) -> Result<Option<Timestamp>, Failure> {
    let Some(text) = given else {
        return Ok(None);
    };
    // RFC 9557 adds a time zone in brackets, which RFC 3339 does not have.
    let plain = !text.contains('[') && text.as_bytes().get(10).is_some_and(|b| *b == b'T');
    match text.parse::<Timestamp>() {
        Ok(time) if plain => Ok(Some(time)),
        _ => {
            let problem = "is not a time in RFC 3339; write one such as 2026-01-31T07:42:00Z";
            Err(Failure::invalid(key, text, problem))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_rfc_3339_with_an_offset() {
        for text in [
            "2026-01-31T07:42:00Z",
            "2026-01-31T07:42:00.123456Z",
            "2026-01-31T07:42:00+02:00",
        ] {
            assert!(time("claimed_at", Some(text)).is_ok(), "{text}");
        }
        for text in [
            "",
            "yesterday",
            "2026-01-31",
            "2026-01-31T07:42:00",
            "2026-01-31 07:42:00Z",
            "2026-02-30T07:42:00Z",
            "2026-01-31T07:42:00+01:00[Europe/Berlin]",
            "1769845320",
        ] {
            let failure = time("claimed_at", Some(text)).expect_err(text);
            assert_eq!(failure.key(), Some("claimed_at"), "{text}");
        }
    }

    #[test]
    fn a_rest_ends_within_31_days() {
        assert!(rest_seconds("sticky_seconds", 2_678_400).is_ok());
        let failure = rest_seconds("sticky_seconds", 2_678_401).expect_err("too long");
        assert_eq!(failure.key(), Some("sticky_seconds"));
    }

    #[test]
    fn the_step_of_a_hold_is_even() {
        assert!(step(0).is_ok());
        assert!(step(1).is_err());
        assert!(step(u32::MAX - 1).is_err(), "no address can get there");
    }
}
