//! A story on the screen: numbered steps, indented text.

use std::io::{IsTerminal as _, Write as _};

use anyhow::{Context, Result};

/// Where the story is told.
#[derive(Debug)]
pub struct Screen {
    color: bool,
    step: u32,
}

impl Screen {
    /// Standard output; bold headings only on a terminal, and not with `NO_COLOR`.
    #[must_use]
    pub fn new() -> Screen {
        let wanted = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
        Screen {
            color: wanted && std::io::stdout().is_terminal(),
            step: 0,
        }
    }

    /// The next step.
    pub fn heading(&mut self, text: &str) -> Result<()> {
        self.step += 1;
        let (on, off) = if self.color {
            ("\x1b[1m", "\x1b[0m")
        } else {
            ("", "")
        };
        self.write(&format!("\n{on}{}. {text}{off}", self.step))
    }

    /// One sentence of it.
    pub fn line(&self, text: &str) -> Result<()> {
        self.write(&format!("   {text}"))
    }

    /// What a program printed.
    pub fn block(&self, text: &str) -> Result<()> {
        let indented: Vec<String> = text.lines().map(|line| format!("     {line}")).collect();
        self.write(&indented.join("\n"))
    }

    /// The end.
    pub fn end(&self, text: &str) -> Result<()> {
        self.write(&format!("\nDone. {text}"))
    }

    fn write(&self, text: &str) -> Result<()> {
        writeln!(std::io::stdout(), "{text}").context("stdout")
    }
}

impl Default for Screen {
    fn default() -> Screen {
        Screen::new()
    }
}
