//! Times and shares in words.

use jiff::Timestamp;
use maud::{Markup, html};

use crate::wire;

/// `2026-01-31 07:42:00`: in UTC, as the foot of the page says.
pub(super) fn plain(at: Timestamp) -> String {
    at.strftime("%Y-%m-%d %H:%M:%S").to_string()
}

/// How long before `now` it was; `in 5 min` for what is still to come.
pub(super) fn ago(now: Timestamp, at: Timestamp) -> String {
    let seconds = now.as_second() - at.as_second();
    match seconds {
        0.. => format!("{} ago", span(seconds)),
        _ => format!("in {}", span(-seconds)),
    }
}

/// A duration in its largest unit.
pub(super) fn span(seconds: i64) -> String {
    match seconds {
        ..60 => format!("{seconds} s"),
        60..3600 => format!("{} min", seconds / 60),
        3600..172_800 => format!("{} h", seconds / 3600),
        _ => format!("{} d", seconds / 86_400),
    }
}

/// A time with its age, which the script keeps up to date.
pub(super) fn aged(now: Timestamp, at: Timestamp) -> Markup {
    html! {
        time datetime=(wire::time(at)) { (plain(at)) } " "
        span.age data-at=(at.as_second()) { "(" (ago(now, at)) ")" }
    }
}

/// A share in words: what is there at all is never said to be nothing.
pub(super) fn share(part: u128, whole: u128) -> String {
    match percent(part, whole) {
        0 if part > 0 => "< 1 %".to_owned(),
        percent => format!("{percent} %"),
    }
}

/// A number of things, with the word for one of them.
pub(super) fn count(number: u64, thing: &str) -> String {
    match number {
        1 => format!("1 {thing}"),
        _ => format!("{number} {thing}s"),
    }
}

/// Parts of a whole in percent, rounded down: 100 is only said of what is full.
pub(super) fn percent(part: u128, whole: u128) -> u128 {
    if whole == 0 {
        return 0;
    }
    match part.checked_mul(100) {
        Some(hundredfold) => hundredfold / whole,
        None => part / (whole / 100),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_have_one_unit() {
        let at = |second| Timestamp::from_second(second).unwrap();
        for (now, then, words) in [
            (59, 0, "59 s ago"),
            (60, 0, "1 min ago"),
            (7200, 0, "2 h ago"),
            (172_800, 0, "2 d ago"),
            (0, 300, "in 5 min"),
        ] {
            assert_eq!(ago(at(now), at(then)), words);
        }
    }

    #[test]
    fn one_thing_is_no_plural() {
        assert_eq!(
            (count(1, "hold"), count(0, "hold")),
            ("1 hold".to_owned(), "0 holds".to_owned())
        );
    }

    #[test]
    fn only_what_is_full_is_a_hundred_percent() {
        assert_eq!(percent(253, 254), 99);
        assert_eq!(percent(254, 254), 100);
        assert_eq!(percent(1 << 127, u128::MAX), 50);
        assert_eq!(percent(0, 0), 0);
        assert_eq!(share(1, 1 << 64), "< 1 %");
        assert_eq!(share(0, 254), "0 %");
    }
}
