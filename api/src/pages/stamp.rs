//! What a page was read from: position, and how old that is.

use jiff::Timestamp;
use ledger::SpaceRow;
use maud::{Markup, html};

use super::words;

/// Position and age of a page.
pub(super) struct Stamp {
    /// When the page was made.
    pub(super) now: Timestamp,
    /// The past moment that it shows.
    pub(super) at: Option<Timestamp>,
    /// How far the streams were read.
    pub(super) position: Position,
    /// When the last event up to there was recorded.
    pub(super) recorded_at: Option<Timestamp>,
}

/// How far the streams were read.
pub(super) enum Position {
    /// One stream.
    Space { name: String, seq: u64 },
    /// All of them: how many, and the sum of their positions.
    All { spaces: usize, events: u64 },
}

impl Stamp {
    /// The heads of all spaces.
    pub(super) fn all(now: Timestamp, spaces: &[SpaceRow]) -> Self {
        Self {
            now,
            at: None,
            position: Position::All {
                spaces: spaces.len(),
                events: spaces.iter().map(|space| space.seq).sum(),
            },
            recorded_at: spaces.iter().filter_map(|space| space.recorded_at).max(),
        }
    }

    /// The head of one space.
    pub(super) fn of(now: Timestamp, space: &SpaceRow) -> Self {
        Self {
            now,
            at: None,
            position: Position::Space {
                name: space.name.clone(),
                seq: space.seq,
            },
            recorded_at: space.recorded_at,
        }
    }

    pub(super) fn render(&self) -> Markup {
        html! {
            p.stamp #stamp data-now=(self.now.as_second()) {
                @if let Some(at) = self.at {
                    strong { "As of " time datetime=(crate::wire::time(at)) { (words::plain(at)) } } " · "
                }
                @match &self.position {
                    Position::Space { name, seq } => { "Position " b { (seq) } " of space " b { (name) } }
                    Position::All { spaces, events } => { "Positions of " b { (spaces) } " spaces, " b { (events) } " events" }
                }
                @match self.recorded_at {
                    Some(at) => { ", the last one recorded " (words::aged(self.now, at)) }
                    None => { ", nothing recorded yet" }
                }
                " · read " (words::aged(self.now, self.now))
            }
        }
    }
}
