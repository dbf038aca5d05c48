//! Times as people write them, and as they read them.

use jiff::civil::{DateTime, Time, Weekday};
use jiff::tz::TimeZone;
use jiff::{Span, Timestamp, ToSpan as _, ZonedDateTime};

use crate::error::Error;

/// The present, where the user is.
#[derive(Debug, Clone)]
pub(crate) struct Now(pub(crate) ZonedDateTime);

impl Now {
    /// From the system, once per run.
    #[expect(
        clippy::disallowed_methods,
        reason = "the one place where this program asks for the time"
    )]
    pub(crate) fn system() -> Now {
        Now(Timestamp::now().to_zoned_datetime(TimeZone::system()))
    }

    /// A time as people write it: RFC 3339, `now`, `2h ago`, `yesterday 07:42`, `tuesday 07:42`,
    /// `2026-11-24 07:42`, `07:42`. Whatever has no offset is local.
    pub(crate) fn parse(&self, argument: &str, text: &str) -> Result<Timestamp, Error> {
        self.read(text.trim()).ok_or_else(|| {
            let problem = "is not a time; write one such as 2026-11-24T07:42:00Z, \
                           \"2026-11-24 07:42\", \"2h ago\" or \"yesterday 07:42\"";
            Error::usage(argument, text, problem)
        })
    }

    fn read(&self, text: &str) -> Option<Timestamp> {
        if text == "now" {
            return Some(self.0.timestamp());
        }
        if text.ends_with("ago") {
            let span: Span = text.parse().ok()?;
            return Some(self.0.checked_add(span).ok()?.timestamp());
        }
        if let Ok(at) = text.parse::<Timestamp>() {
            return Some(at);
        }
        let (day, clock) = text.split_once([' ', 'T']).unwrap_or((text, ""));
        let date = match self.day(day) {
            Some(date) => date,
            None => return self.local(&self.0.date().to_datetime(day.parse().ok()?)),
        };
        let clock: Time = match clock.trim() {
            "" => Time::midnight(),
            clock => clock.parse().ok()?,
        };
        self.local(&date.to_datetime(clock))
    }

    fn day(&self, text: &str) -> Option<jiff::civil::Date> {
        let today = self.0.date();
        match text {
            "today" => Some(today),
            "yesterday" => today.yesterday().ok(),
            _ => match weekday(text) {
                // The last one before today.
                Some(weekday) => today.nth_weekday(-1, weekday).ok(),
                None => text.parse().ok(),
            },
        }
    }

    fn local(&self, at: &DateTime) -> Option<Timestamp> {
        Some(
            at.to_zoned_datetime(self.0.time_zone().clone())
                .ok()?
                .timestamp(),
        )
    }

    /// How long ago, in the largest unit that fits, as kubectl tells an age: `5s`, `12m`, `3h`,
    /// `4d`.
    pub(crate) fn age(&self, recorded: &str) -> String {
        let Ok(at) = recorded.parse::<Timestamp>() else {
            return recorded.to_owned();
        };
        let seconds = self.0.timestamp().duration_since(at).as_secs();
        let (sign, seconds) = if seconds < 0 {
            ("in ", -seconds)
        } else {
            ("", seconds)
        };
        let (number, unit) = match seconds {
            0..120 => (seconds, "s"),
            120..7200 => (seconds / 60, "m"),
            7200..172_800 => (seconds / 3600, "h"),
            _ => (seconds / 86_400, "d"),
        };
        format!("{sign}{number}{unit}")
    }
}

fn weekday(text: &str) -> Option<Weekday> {
    let text = text.to_ascii_lowercase();
    let days = [
        (Weekday::Monday, "monday"),
        (Weekday::Tuesday, "tuesday"),
        (Weekday::Wednesday, "wednesday"),
        (Weekday::Thursday, "thursday"),
        (Weekday::Friday, "friday"),
        (Weekday::Saturday, "saturday"),
        (Weekday::Sunday, "sunday"),
    ];
    let found = days.into_iter().find(|(_, name)| *name == text);
    found.map(|(weekday, _)| weekday)
}

/// The shortest difference of two times that are told apart: the ledger's clock counts
/// microseconds.
pub(crate) fn just_after(at: Timestamp) -> Timestamp {
    at.checked_add(1.microsecond()).unwrap_or(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn now() -> Now {
        Now("2026-11-30T12:00:00+01:00[Europe/Vienna]".parse().unwrap())
    }

    #[test]
    fn times_are_read_as_people_write_them() {
        for (text, expected) in [
            ("now", "2026-11-30T11:00:00Z"),
            ("2026-11-24T07:42:00Z", "2026-11-24T07:42:00Z"),
            ("2026-11-24T07:42:00.5+02:00", "2026-11-24T05:42:00.5Z"),
            ("2026-11-24 07:42", "2026-11-24T06:42:00Z"),
            ("2026-11-24T07:42", "2026-11-24T06:42:00Z"),
            ("2026-07-24 07:42", "2026-07-24T05:42:00Z"),
            ("2026-11-24", "2026-11-23T23:00:00Z"),
            ("07:42", "2026-11-30T06:42:00Z"),
            ("07:42:30", "2026-11-30T06:42:30Z"),
            ("today 07:42", "2026-11-30T06:42:00Z"),
            ("yesterday 07:42", "2026-11-29T06:42:00Z"),
            ("yesterday", "2026-11-28T23:00:00Z"),
            ("tuesday 07:42", "2026-11-24T06:42:00Z"),
            ("Monday 07:42", "2026-11-23T06:42:00Z"),
            ("2h ago", "2026-11-30T09:00:00Z"),
            ("90m ago", "2026-11-30T09:30:00Z"),
            ("1h 30m ago", "2026-11-30T09:30:00Z"),
            ("3 days ago", "2026-11-27T11:00:00Z"),
            ("2 weeks ago", "2026-11-16T11:00:00Z"),
        ] {
            let expected: Timestamp = expected.parse().unwrap();
            assert_eq!(now().read(text), Some(expected), "{text}");
        }
    }

    #[test]
    fn what_is_no_time_is_refused_naming_argument_and_value() {
        for text in [
            "",
            "noon",
            "25:00",
            "yesterday 7.42",
            "2h",
            "ago",
            "2026-13-01",
        ] {
            let error = now().parse("--at", text).unwrap_err();
            let told = error.to_string();
            assert!(
                told.starts_with(&format!("--at {text:?} is not a time")),
                "{told}"
            );
        }
    }

    #[test]
    fn ages_are_told_in_the_largest_unit_that_fits() {
        for (at, expected) in [
            ("2026-11-30T10:59:55Z", "5s"),
            ("2026-11-30T10:58:01Z", "119s"),
            ("2026-11-30T10:48:00Z", "12m"),
            ("2026-11-30T08:00:00Z", "3h"),
            ("2026-11-26T10:59:59Z", "4d"),
            ("2026-11-30T11:00:10Z", "in 10s"),
        ] {
            assert_eq!(now().age(at), expected, "{at}");
        }
    }
}
