//! What a command found, before anybody decided how it is written.

use serde::Serialize;
use serde_json::Value;

use ipledger_client::types::{Row, csv};

use crate::error::Error;

/// A column of the table.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Column {
    pub(crate) name: &'static str,
    /// Only in the wide table.
    pub(crate) is_wide: bool,
}

/// A column that is always there.
pub(crate) const fn column(name: &'static str) -> Column {
    Column {
        name,
        is_wide: false,
    }
}

/// A column of the wide table.
pub(crate) const fn wide(name: &'static str) -> Column {
    Column {
        name,
        is_wide: true,
    }
}

/// What stands in a row and a column.
#[derive(Debug, Clone)]
pub(crate) enum Cell {
    /// As it is.
    Text(String),
    /// A time in RFC 3339: shown by its age, or as it is.
    Time(String),
    /// A word to see at once: something begins.
    Begins(String),
    /// A word to see at once: something ends.
    Ends(String),
}

impl Cell {
    pub(crate) fn text(text: impl Into<String>) -> Cell {
        Cell::Text(text.into())
    }

    pub(crate) fn time(text: impl Into<String>) -> Cell {
        Cell::Time(text.into())
    }
}

/// The rows of an answer in every form.
#[derive(Debug)]
pub(crate) struct Listing {
    pub(crate) columns: Vec<Column>,
    pub(crate) rows: Vec<Vec<Cell>>,
    /// The same for programs.
    pub(crate) items: Vec<Value>,
    /// The same as CSV.
    pub(crate) csv: String,
    /// A line below the table, for people only.
    pub(crate) note: Option<String>,
}

impl Listing {
    /// Of things that have a form for programs and for CSV already.
    pub(crate) fn new<T: Serialize + Row>(
        columns: &[Column],
        things: &[T],
        cells: impl FnMut(&T) -> Vec<Cell>,
    ) -> Result<Listing, Error> {
        let items: Result<Vec<Value>, _> = things.iter().map(serde_json::to_value).collect();
        Ok(Listing {
            columns: columns.to_vec(),
            rows: things.iter().map(cells).collect(),
            items: items.map_err(|error| Error::Format(error.to_string()))?,
            csv: csv(things),
            note: None,
        })
    }

    /// Of things whose table is their CSV as well.
    pub(crate) fn plain<T: Serialize>(
        columns: &[Column],
        things: &[T],
        cells: impl FnMut(&T) -> Vec<Cell>,
    ) -> Result<Listing, Error> {
        let items: Result<Vec<Value>, _> = things.iter().map(serde_json::to_value).collect();
        let rows: Vec<Vec<Cell>> = things.iter().map(cells).collect();
        Ok(Listing {
            csv: crate::output::csv_of(columns, &rows),
            columns: columns.to_vec(),
            rows,
            items: items.map_err(|error| Error::Format(error.to_string()))?,
            note: None,
        })
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.items.is_empty()
    }
}
