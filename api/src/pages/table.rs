//! A table, to look at and to download.

use maud::{Markup, html};

use super::links;

/// A table of texts.
pub(super) struct Table {
    /// Stands in the URL of the download.
    pub(super) name: &'static str,
    /// What it shows.
    pub(super) caption: String,
    /// Names of the columns; the first one names the row.
    pub(super) columns: &'static [&'static str],
    pub(super) rows: Vec<Vec<Cell>>,
}

/// One text of a table, and where it leads.
#[derive(Default)]
pub(super) struct Cell {
    text: String,
    /// Shown in place of the text; the download has the text.
    shown: Option<Markup>,
    link: Option<String>,
}

impl Cell {
    #[expect(
        clippy::needless_pass_by_value,
        reason = "numbers and texts alike, as they come"
    )]
    pub(super) fn text(text: impl ToString) -> Self {
        Self {
            text: text.to_string(),
            ..Self::default()
        }
    }

    pub(super) fn link(text: impl ToString, link: String) -> Self {
        Self {
            link: Some(link),
            ..Self::text(text)
        }
    }

    /// Something else to look at than to download.
    pub(super) fn shown(text: impl ToString, shown: Markup) -> Self {
        Self {
            shown: Some(shown),
            ..Self::text(text)
        }
    }

    fn render(&self) -> Markup {
        let content = html! {
            @match &self.shown { Some(shown) => (shown), None => (self.text) }
        };
        match &self.link {
            Some(link) => html! { a href=(link) { (content) } },
            None => content,
        }
    }
}

impl Table {
    pub(super) fn render(&self, here: &str) -> Markup {
        let id = format!("table-{}", self.name);
        html! {
            div.table {
                div.scroll role="region" aria-labelledby=(id) tabindex="0" {
                    table data-table=(self.name) {
                        caption #(id) { (self.caption) }
                        thead { tr { @for column in self.columns { th scope="col" { (column) } } } }
                        tbody {
                            @for row in &self.rows {
                                tr {
                                    @for (index, cell) in row.iter().enumerate() {
                                        @if index == 0 { th scope="row" { (cell.render()) } }
                                        @else { td data-label=(self.columns[index]) { (cell.render()) } }
                                    }
                                }
                            }
                        }
                    }
                }
                @if self.rows.is_empty() { p.none { "No rows." } }
                p.download {
                    a href=(links::with(here, "csv", self.name)) download { "Download “" (self.caption) "” as CSV" }
                }
            }
        }
    }

    /// RFC 4180, the names of the columns first. A text that a spreadsheet would take for a
    /// formula gets an apostrophe before it: names come from whoever calls.
    pub(super) fn csv(&self) -> String {
        let mut text = line(self.columns.iter().copied());
        for row in &self.rows {
            text.push_str(&line(row.iter().map(|cell| cell.text.as_str())));
        }
        text
    }
}

fn line<'a>(fields: impl Iterator<Item = &'a str>) -> String {
    fields.map(quote).collect::<Vec<_>>().join(",") + "\r\n"
}

fn quote(field: &str) -> String {
    let guarded = match field.starts_with(['=', '+', '-', '@', '\t', '\r']) {
        true => format!("'{field}"),
        false => field.to_owned(),
    };
    match guarded.contains(['"', ',', '\r', '\n']) {
        true => format!("\"{}\"", guarded.replace('"', "\"\"")),
        false => guarded,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_download_is_quoted_and_holds_no_formula() {
        let table = Table {
            name: "names",
            caption: "Names".to_owned(),
            columns: &["name", "said"],
            rows: vec![vec![Cell::text("=1+1"), Cell::text("a, \"b\"")]],
        };
        assert_eq!(table.csv(), "name,said\r\n'=1+1,\"a, \"\"b\"\"\"\r\n");
    }

    #[test]
    fn what_callers_wrote_is_escaped() {
        let table = Table {
            name: "names",
            caption: "Names".to_owned(),
            columns: &["name"],
            rows: vec![vec![Cell::link("<script>", "/pod?pod=\"x\"".to_owned())]],
        };
        let html = table.render("/").into_string();
        assert!(
            html.contains("&lt;script&gt;") && !html.contains("<script>"),
            "{html}"
        );
        assert!(!html.contains("\"x\""), "{html}");
    }
}
