//! Writing: tables for people, JSON, YAML and CSV for programs.

use std::io::{IsTerminal as _, Write as _};

use anstyle::{AnsiColor, Style};
use serde_json::json;

use crate::arguments::{Format, Shared};
use crate::error::{Ended, Error};
use crate::listing::{Cell, Column, Listing};
use crate::time::Now;

/// Spaces between two columns.
const GAP: usize = 3;

/// How to write, and when that is.
pub(crate) struct Output {
    format: Format,
    absolute: bool,
    color: bool,
    pub(crate) now: Now,
}

impl Output {
    /// By the flags and the terminal: colour only there, and not with `NO_COLOR`.
    pub(crate) fn new(shared: &Shared, now: Now) -> Output {
        let refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        Output {
            format: shared.output,
            absolute: shared.absolute,
            color: !refused && std::io::stdout().is_terminal(),
            now,
        }
    }

    /// Whether people read it.
    pub(crate) fn is_table(&self) -> bool {
        matches!(self.format, Format::Table | Format::Wide)
    }

    /// The whole answer. For people an empty one is told on stderr, so that stdout has rows only.
    pub(crate) fn write(&self, listing: &Listing, nothing: &str) -> Result<Ended, Error> {
        match self.format {
            Format::Table | Format::Wide if listing.is_empty() => {
                let _ = writeln!(std::io::stderr(), "ipledgerctl: {nothing}");
            }
            Format::Table | Format::Wide => print(&self.table(listing, true))?,
            Format::Csv => print(&listing.csv)?,
            Format::Json => {
                let text = serde_json::to_string_pretty(&json!({"items": listing.items}));
                print(&(text.map_err(|error| Error::Format(error.to_string()))? + "\n"))?;
            }
            Format::Yaml => {
                let text = serde_saphyr::to_string(&json!({"items": listing.items}));
                print(&text.map_err(|error| Error::Format(error.to_string()))?)?;
            }
        }
        Ok(match listing.is_empty() {
            true => Ended::NothingFound,
            false => Ended::Done,
        })
    }

    /// A part of an answer that has no end: lines of JSON, YAML documents, or rows. The head comes
    /// with the first.
    pub(crate) fn write_more(&self, listing: &Listing, is_first: bool) -> Result<(), Error> {
        match self.format {
            Format::Table | Format::Wide => print(&self.table(listing, is_first)),
            Format::Csv if is_first => print(&listing.csv),
            Format::Csv => {
                let rows = listing.csv.split_once("\r\n").map_or("", |(_, rows)| rows);
                print(rows)
            }
            Format::Json => listing
                .items
                .iter()
                .try_for_each(|item| print(&format!("{item}\n"))),
            Format::Yaml => listing.items.iter().try_for_each(|item| {
                let text = serde_saphyr::to_string(item);
                let text = text.map_err(|error| Error::Format(error.to_string()))?;
                print(&format!("---\n{text}"))
            }),
        }
    }

    fn table(&self, listing: &Listing, with_head: bool) -> String {
        let shown: Vec<usize> = (0..listing.columns.len())
            .filter(|&index| self.format == Format::Wide || !listing.columns[index].is_wide)
            .collect();
        let mut lines: Vec<Vec<(String, Style)>> = Vec::with_capacity(listing.rows.len() + 1);
        if with_head {
            let head = shown
                .iter()
                .map(|&index| (listing.columns[index].name.to_owned(), Style::new().bold()));
            lines.push(head.collect());
        }
        for row in &listing.rows {
            lines.push(shown.iter().map(|&index| self.cell(&row[index])).collect());
        }
        let widths: Vec<usize> = (0..shown.len())
            .map(|place| {
                let widths = lines.iter().map(|line| line[place].0.chars().count());
                // Rows that come later have room under the same head.
                widths.max().unwrap_or(0)
            })
            .collect();
        let mut text = String::new();
        for line in &lines {
            text.push_str(&self.line(line, &widths));
        }
        if let Some(note) = &listing.note {
            text.push_str(note);
            text.push('\n');
        }
        text
    }

    fn line(&self, cells: &[(String, Style)], widths: &[usize]) -> String {
        let mut line = String::new();
        for (place, (text, style)) in cells.iter().enumerate() {
            let padding = widths[place].saturating_sub(text.chars().count()) + GAP;
            match self.color {
                true => line.push_str(&format!("{style}{text}{style:#}")),
                false => line.push_str(text),
            }
            if place + 1 < cells.len() {
                line.push_str(&" ".repeat(padding));
            }
        }
        line.trim_end().to_owned() + "\n"
    }

    fn cell(&self, cell: &Cell) -> (String, Style) {
        let plain = Style::new();
        let (text, style) = match cell {
            Cell::Text(text) => (text.clone(), plain),
            Cell::Time(text) if self.absolute || text.is_empty() => (text.clone(), plain),
            Cell::Time(text) => (self.now.age(text), plain),
            Cell::Begins(text) => (text.clone(), plain.fg_color(Some(AnsiColor::Green.into()))),
            Cell::Ends(text) => (text.clone(), plain.fg_color(Some(AnsiColor::Yellow.into()))),
        };
        match text.is_empty() {
            true => ("-".to_owned(), plain),
            false => (text, style),
        }
    }
}

/// A table as CSV, times as they are.
pub(crate) fn csv_of(columns: &[Column], rows: &[Vec<Cell>]) -> String {
    let quote = |text: &str| match text.contains(['"', ',', '\r', '\n']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text.to_owned(),
    };
    let head: Vec<String> = columns
        .iter()
        .map(|column| column.name.to_lowercase().replace(' ', "_"))
        .collect();
    let mut text = head.join(",") + "\r\n";
    for row in rows {
        let fields: Vec<String> = row
            .iter()
            .map(|cell| match cell {
                Cell::Text(text) | Cell::Time(text) | Cell::Begins(text) | Cell::Ends(text) => {
                    quote(text)
                }
            })
            .collect();
        text.push_str(&(fields.join(",") + "\r\n"));
    }
    text
}

/// To standard output, at once.
pub(crate) fn print(text: &str) -> Result<(), Error> {
    let mut stdout = std::io::stdout().lock();
    stdout.write_all(text.as_bytes()).map_err(Error::Output)?;
    stdout.flush().map_err(Error::Output)
}
