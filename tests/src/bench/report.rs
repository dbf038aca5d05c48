//! The table of `docs/performance.md`.

use std::path::Path;

use anyhow::{Context, Result};

use super::Figures;
use crate::table;

/// One row.
#[derive(Debug, Clone)]
pub struct Row {
    /// What was measured.
    pub what: String,
    /// The figures.
    pub figures: Figures,
    /// (ratio, to what, goal): `>=` for rates, `<=` for times.
    pub ratios: Vec<Ratio>,
}

/// A ratio within the run, and the goal for it.
#[derive(Debug, Clone)]
pub struct Ratio {
    /// The ratio.
    pub value: f64,
    /// To what.
    pub to: String,
    /// What it should be at least, or at most.
    pub goal: Option<Goal>,
}

/// A bound.
#[derive(Debug, Clone, Copy)]
pub enum Goal {
    /// At least.
    AtLeast(f64),
    /// At most.
    AtMost(f64),
}

impl Ratio {
    fn text(&self) -> String {
        let goal = match self.goal {
            None => String::new(),
            Some(Goal::AtLeast(bound)) => format!(" (goal ≥ {bound}{})", met(self.value >= bound)),
            Some(Goal::AtMost(bound)) => format!(" (goal ≤ {bound}{})", met(self.value <= bound)),
        };
        format!("{:.2} × {}{goal}", self.value, self.to)
    }
}

fn met(is_met: bool) -> &'static str {
    if is_met { "" } else { ", missed" }
}

/// As aligned text for the screen.
#[must_use]
pub fn screen(rows: &[Row]) -> String {
    let cells: Vec<Vec<String>> = rows.iter().map(cells).collect();
    table::align(&["WHAT", "PER SECOND", "P50 MS", "P99 MS", "RATIO"], &cells)
}

fn cells(row: &Row) -> Vec<String> {
    let ratios: Vec<String> = row.ratios.iter().map(Ratio::text).collect();
    vec![
        row.what.clone(),
        if row.figures.rate > 0.0 {
            format!("{:.0}", row.figures.rate)
        } else {
            "-".to_owned()
        },
        format!("{:.2}", row.figures.p50_ms),
        format!("{:.2}", row.figures.p99_ms),
        ratios.join("; "),
    ]
}

const BEGIN: &str = "<!-- table: make bench -->";
const END: &str = "<!-- end of table -->";

/// Replace the table of the document between its marks.
pub fn write(path: &Path, facts: &str, rows: &[Row]) -> Result<()> {
    let old = std::fs::read_to_string(path).with_context(|| path.display().to_string())?;
    let (head, rest) = old.split_once(BEGIN).context("no mark before the table")?;
    let (_, tail) = rest.split_once(END).context("no mark after the table")?;
    let mut text = format!("{head}{BEGIN}\n\n{facts}\n\n");
    text.push_str("| what | per second | p50 ms | p99 ms | ratio |\n|---|---:|---:|---:|---|\n");
    for row in rows {
        text.push_str(&format!("| {} |\n", cells(row).join(" | ")));
    }
    text.push_str(&format!("\n{END}{tail}"));
    std::fs::write(path, text)?;
    Ok(())
}
