//! What a page was read from: position, and how old that is.

use jiff::Timestamp;
use ledger::{EventQuery, SpaceRow};
use maud::{Markup, html};

use super::words;
use crate::app::App;
use crate::context::RequestContext;
use crate::problem::Failure;

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
    /// Of one space or of all: the heads, or the positions at a past moment.
    pub(super) async fn read(
        app: &App,
        context: &RequestContext,
        space: Option<&str>,
        at: Option<Timestamp>,
    ) -> Result<Self, Failure> {
        let spaces = app.read(context, app.ledger.spaces()).await?;
        let now = app.clock.now();
        let mut stamp = match space {
            None => Self::all(now, &spaces),
            Some(space) => spaces
                .iter()
                .find(|row| row.name == space)
                .map(|row| Self::of(now, row))
                .ok_or_else(|| Failure::no_such_space(space))?,
        };
        let Some(moment) = at else {
            return Ok(stamp);
        };
        let reading = app.ledger.positions_at(space, moment);
        let positions = app.read(context, reading).await?;
        let events = positions.values().sum();
        stamp.at = at;
        (stamp.position, stamp.recorded_at) = match space {
            None => {
                let spaces = positions.values().filter(|seq| **seq > 0).count();
                (Position::All { spaces, events }, None)
            }
            Some(space) => {
                let name = space.to_owned();
                let position = Position::Space { name, seq: events };
                (position, recorded_at(app, context, space, events).await?)
            }
        };
        Ok(stamp)
    }

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
                @let events = match &self.position {
                    Position::Space { seq, .. } => *seq,
                    Position::All { events, .. } => *events,
                };
                @match &self.position {
                    Position::Space { name, seq } => { "Position " b { (seq) } " of space " b { (name) } }
                    Position::All { spaces, .. } => {
                        "Positions of " b { (words::count(u64::try_from(*spaces).unwrap_or(u64::MAX), "space")) } ", " b { (words::count(events, "event")) }
                    }
                }
                @match self.recorded_at {
                    Some(at) => { ", the last one recorded " (words::aged(self.now, at)) }
                    None => { @if events == 0 { ", nothing recorded until then" } }
                }
                " · read " (words::aged(self.now, self.now))
            }
        }
    }
}

/// When an event was recorded; `None` for position 0.
pub(super) async fn recorded_at(
    app: &App,
    context: &RequestContext,
    space: &str,
    seq: u64,
) -> Result<Option<Timestamp>, Failure> {
    let Some(after_seq) = seq.checked_sub(1) else {
        return Ok(None);
    };
    let query = EventQuery {
        space: space.to_owned(),
        address: None,
        after_seq,
        limit: 1,
    };
    let events = app.read(context, app.ledger.events(&query)).await?;
    Ok(events.first().map(|event| event.recorded_at))
}
