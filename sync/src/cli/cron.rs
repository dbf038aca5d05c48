//! whereabouts' `reconciler_cron_expression`, read as a period: the shortest time between two
//! moments that it names, in UTC.

use std::time::Duration;

use jiff::ToSpan as _;
use jiff::civil::{Date, date};

use super::duration::{LONGEST, duration};

/// So many days hold every pattern of weekdays and months but the leap day's.
const DAYS: i16 = 800;

/// A length of time, or a cron expression of five fields in its place.
pub(super) fn period(text: &str) -> Result<Duration, String> {
    let fields: Vec<&str> = text.split_whitespace().collect();
    let [minute, hour, day, month, weekday] = fields[..] else {
        return duration(text);
    };
    let expression = Expression {
        minutes: numbers("minute", minute, 0, 59)?,
        hours: numbers("hour", hour, 0, 23)?,
        days: numbers("day of the month", day, 1, 31)?,
        months: numbers("month", month, 1, 12)?,
        weekdays: numbers("weekday", weekday, 0, 7)?,
        // Of two restricted kinds of day one suffices, as in cron.
        either_day: day != "*" && weekday != "*",
    };
    let shortest = expression.shortest_pause();
    shortest
        .filter(|pause| *pause <= LONGEST)
        .ok_or_else(|| "is a cron expression that is due less than once a week".to_owned())
}

struct Expression {
    minutes: Vec<u8>,
    hours: Vec<u8>,
    days: Vec<u8>,
    months: Vec<u8>,
    weekdays: Vec<u8>,
    either_day: bool,
}

impl Expression {
    fn shortest_pause(&self) -> Option<Duration> {
        let of_a_day: Vec<u64> = self
            .hours
            .iter()
            .flat_map(|hour| {
                let minute = move |minute: &u8| u64::from(*hour) * 60 + u64::from(*minute);
                self.minutes.iter().map(minute)
            })
            .collect();
        let start = date(2024, 1, 1);
        let due = (0..DAYS).filter(|&day| self.has(start.saturating_add(day.days())));
        let due = due.flat_map(|day| {
            let midnight = u64::from(day.unsigned_abs()) * 24 * 60;
            of_a_day.iter().map(move |minute| midnight + minute)
        });
        let due: Vec<u64> = due.collect();
        let pauses = due.windows(2).map(|pair| pair[1] - pair[0]);
        Some(Duration::from_secs(pauses.min()? * 60))
    }

    fn has(&self, date: Date) -> bool {
        let is = |numbers: &[u8], number: i8| numbers.contains(&number.unsigned_abs());
        let weekday = date.weekday().to_sunday_zero_offset();
        // Sunday is 0 and 7.
        let on_weekday = is(&self.weekdays, weekday) || weekday == 0 && is(&self.weekdays, 7);
        let on_day = is(&self.days, date.day());
        let day = if self.either_day {
            on_day || on_weekday
        } else {
            on_day && on_weekday
        };
        day && is(&self.months, date.month())
    }
}

/// `*`, `5`, `1-5`, `*/15`, `10-50/20`, and lists of those.
fn numbers(field: &str, text: &str, least: u8, most: u8) -> Result<Vec<u8>, String> {
    let wrong = || format!("has the {field} {text:?}, which is not within {least} to {most}");
    let mut all = Vec::new();
    for part in text.split(',') {
        let (span, step) = match part.split_once('/') {
            Some((span, step)) => (span, number(step).filter(|step| *step > 0)),
            None => (part, Some(1)),
        };
        let step = step.ok_or_else(wrong)?;
        let (first, last) = match span.split_once('-') {
            _ if span == "*" => (Some(least), Some(most)),
            Some((first, last)) => (number(first), number(last)),
            None if part.contains('/') => (number(span), Some(most)),
            None => (number(span), number(span)),
        };
        let (first, last) = first.zip(last).ok_or_else(wrong)?;
        if first < least || last > most || first > last {
            return Err(wrong());
        }
        all.extend((first..=last).step_by(step.into()));
    }
    all.sort_unstable();
    all.dedup();
    Ok(all)
}

/// Digits only; `parse` would take a sign, too.
fn number(text: &str) -> Option<u8> {
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| text.parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_expression_is_the_shortest_pause_between_two_moments() {
        for (text, minutes) in [
            ("* * * * *", 1),
            ("*/5 * * * *", 5),
            ("*/7 * * * *", 4),
            ("0,10,25 * * * *", 10),
            ("0 * * * *", 60),
            ("30 4 * * *", 24 * 60),
            ("0 0,12 * * *", 12 * 60),
            ("59,0 23,0 * * *", 1),
            ("10-50/20 8 * * *", 20),
            ("5/30 8 * * *", 30),
            ("0 0 * * 1-5", 24 * 60),
            ("0 0 * * 0,7", 7 * 24 * 60),
            ("0 0 1,15 * 1", 24 * 60),
        ] {
            assert_eq!(
                period(text),
                Ok(Duration::from_secs(minutes * 60)),
                "{text}"
            );
        }
        assert_eq!(period("45s"), Ok(Duration::from_secs(45)));
    }

    #[test]
    fn what_is_neither_is_refused() {
        for (text, message) in [
            (
                "60 * * * *",
                "has the minute \"60\", which is not within 0 to 59",
            ),
            (
                "*/0 * * * *",
                "has the minute \"*/0\", which is not within 0 to 59",
            ),
            (
                "0 9-5 * * *",
                "has the hour \"9-5\", which is not within 0 to 23",
            ),
            (
                "0 0 0 * *",
                "has the day of the month \"0\", which is not within 1 to 31",
            ),
            (
                "0 0 * jan *",
                "has the month \"jan\", which is not within 1 to 12",
            ),
            (
                "0 0 * * +1",
                "has the weekday \"+1\", which is not within 0 to 7",
            ),
            (
                "0 0 1 * *",
                "is a cron expression that is due less than once a week",
            ),
            (
                "0 0 30 2 *",
                "is a cron expression that is due less than once a week",
            ),
            ("* * * *", "is no duration with a unit, such as 45s or 2m"),
            ("every day", "is no duration with a unit, such as 45s or 2m"),
        ] {
            assert_eq!(period(text), Err(message.to_owned()), "{text}");
        }
    }
}
