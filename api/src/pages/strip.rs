//! The life of an address as a strip: who held it, from when to when.

use jiff::Timestamp;
use ledger::Event;
use maud::{Markup, html};

use super::events_table::Subject;
use super::words;

/// Units of the picture from its first event to now.
const WIDTH: i64 = 1000;

/// Holds of one space, oldest first.
struct Hold {
    from: Timestamp,
    until: Option<Timestamp>,
    whose: String,
}

/// `events` are of one address, the newest first.
pub(super) fn strip(events: &[Event], now: Timestamp) -> Markup {
    let mut spaces: Vec<&str> = events.iter().map(|event| event.space.as_str()).collect();
    spaces.sort_unstable();
    spaces.dedup();
    let Some(first) = events.last().map(|event| event.recorded_at) else {
        return html! {};
    };
    html! {
        section.strip aria-labelledby="strip-title" {
            h2 #strip-title { "Time line" }
            @for space in spaces {
                @let holds = holds(events, space);
                @let label = format!("{} in space {space} since {}", number(&holds), words::plain(first));
                figure {
                    svg viewBox={ "0 0 " (WIDTH) " 28" } preserveAspectRatio="none" role="img" aria-label=(label) {
                        line x1="0" y1="14" x2=(WIDTH) y2="14" class="axis" {}
                        @for hold in &holds {
                            @let (from, until) = (place(first, now, hold.from), place(first, now, hold.until.unwrap_or(now)));
                            rect x=(from) y="3" width=((until - from).max(4)) height="22"
                                class=(if hold.until.is_some() { "past-hold" } else { "live-hold" }) {
                                title { (hold.whose) }
                            }
                        }
                    }
                    figcaption {
                        b { (space) } ": from " (words::plain(first)) " to now; "
                        (number(&holds))
                        @if let Some(hold) = holds.iter().find(|hold| hold.until.is_none()) { ", held now by " b { (hold.whose) } }
                        @else { ", free now" }
                        "."
                    }
                }
            }
        }
    }
}

fn number(holds: &[Hold]) -> String {
    words::count(u64::try_from(holds.len()).unwrap_or(u64::MAX), "hold")
}

fn holds(events: &[Event], space: &str) -> Vec<Hold> {
    let mut holds: Vec<Hold> = Vec::new();
    for event in events.iter().rev().filter(|event| event.space == space) {
        match event.step {
            Some(step) if step.is_multiple_of(2) => holds.push(Hold {
                from: event.recorded_at,
                until: None,
                whose: Subject::of(event).words(),
            }),
            Some(_) => {
                if let Some(hold) = holds.last_mut() {
                    hold.until = Some(event.recorded_at);
                }
            }
            None => {}
        }
    }
    holds
}

fn place(first: Timestamp, now: Timestamp, at: Timestamp) -> i64 {
    let whole = i128::from(now.as_microsecond() - first.as_microsecond()).max(1);
    let part = i128::from(at.as_microsecond() - first.as_microsecond()).clamp(0, whole);
    i64::try_from(part * i128::from(WIDTH) / whole).unwrap_or(WIDTH)
}
