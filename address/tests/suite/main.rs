//! The crate from outside: tables of what is accepted and refused, and models that say the same
//! in the plainest way. What a search costs is tested beside the search.

mod accepted;
mod arbitrary;
mod large;
mod limits;
mod mapped;
mod refused;
mod run_model;
mod texts;
mod window_model;

use address::{RunSet, Window, WindowError, WindowText, canonical, from_number, lowest_free};

/// A definition as a row of a table: range, start, end and exclude.
#[derive(Copy, Clone, Debug)]
struct Row(
    &'static str,
    Option<&'static str>,
    Option<&'static str>,
    &'static [&'static str],
);

impl Row {
    fn parse(self) -> Result<Window, WindowError> {
        let exclude: Vec<String> = self.3.iter().map(ToString::to_string).collect();
        let text = WindowText {
            range: self.0,
            range_start: self.1,
            range_end: self.2,
            exclude: &exclude,
        };
        Window::parse(&text)
    }

    fn window(self) -> Window {
        self.parse()
            .unwrap_or_else(|error| panic!("{self:?}: {error}"))
    }
}

/// A definition with a range alone.
fn range(range: &'static str) -> Row {
    Row(range, None, None, &[])
}

fn number(text: &str) -> u128 {
    address::to_number(address::parse_ip(text).expect("tables hold addresses"))
}

/// The lowest free address of a window as text.
fn lowest_free_text(window: &Window, taken: &RunSet) -> Option<String> {
    lowest_free(window, taken, 0).map(|n| canonical(from_number(window.family(), n)))
}
