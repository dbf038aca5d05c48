//! A bar on a terminal, nothing elsewhere.

use std::cell::OnceCell;

use indicatif::{ProgressBar, ProgressStyle};

/// Shows how far a long run has come.
pub(super) struct Progress {
    what: &'static str,
    bar: OnceCell<ProgressBar>,
}

impl Progress {
    pub(super) fn new(what: &'static str) -> Progress {
        Progress {
            what,
            bar: OnceCell::new(),
        }
    }

    /// Drawn on stderr, and only if that is a terminal.
    pub(super) fn show(&self, done: usize, all: usize) {
        let bar = self.bar.get_or_init(|| {
            let bar = ProgressBar::new(all as u64).with_message(self.what);
            let style = ProgressStyle::with_template(
                "{bar:40} {pos} of {len} {msg}, {per_sec}, {eta} to go",
            );
            match style {
                Ok(style) => bar.with_style(style),
                Err(_) => bar,
            }
        });
        bar.set_position(done as u64);
    }

    pub(super) fn end(&self) {
        if let Some(bar) = self.bar.get() {
            bar.finish_and_clear();
        }
    }
}
