//! A moment in the past: read from the query, and the form that asks for one.

use jiff::Timestamp;
use maud::{Markup, html};

use super::words;
use crate::app::App;
use crate::check;
use crate::input::Query;
use crate::problem::Failure;
use crate::wire;

impl App {
    /// `at`, unless it is empty, as a form sends it.
    pub(super) fn past(&self, query: &mut Query) -> Result<Option<Timestamp>, Failure> {
        let text = query.text("at").filter(|text| !text.is_empty());
        let at = check::time("at", text.as_deref())?;
        match at {
            Some(time) if time > self.clock.now() => {
                let problem = "lies in the future, of which the ledger knows nothing";
                Err(Failure::invalid("at", &text.unwrap_or_default(), problem))
            }
            _ => Ok(at),
        }
    }
}

/// Asks for a moment: a field, and with the script a slider from the first moment to now.
pub(super) fn form(
    path: &str,
    others: &[(&str, String)],
    first: Option<Timestamp>,
    now: Timestamp,
    at: Option<Timestamp>,
) -> Markup {
    let shown = at.unwrap_or(now);
    html! {
        form.past action=(path) method="get" {
            @for (key, value) in others { input type="hidden" name=(key) value=(value); }
            label for="at" { "As of (UTC)" }
            input #at name="at" type="text" autocomplete="off" spellcheck="false"
                placeholder="2026-01-31T07:42:00Z" value=(at.map(wire::time).unwrap_or_default());
            button { "Show" }
            @if let Some(first) = first {
                span.slider hidden {
                    label for="slider" { "Slide through time" }
                    input #slider type="range" min=(first.as_second()) max=(now.as_second())
                        step="1" value=(shown.as_second()) aria-valuetext=(words::plain(shown));
                    output for="slider" { (words::plain(shown)) }
                }
            }
        }
    }
}
