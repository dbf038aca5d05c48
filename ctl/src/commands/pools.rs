//! `pools`: what was asked for, and how full it is.

use clap::Args;
use ipledger_client::types::Window;

use crate::connect::Api;
use crate::error::{Ended, Error};
use crate::listing::{Cell, Column, Listing, column, wide};
use crate::output::Output;

/// Pools and how full they are: a row for each window that some definition hands out.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ipledgerctl pools
  ipledgerctl pools --space prod -o json")]
pub(crate) struct Pools {
    /// Only of this space.
    #[arg(long)]
    space: Option<String>,
}

const COLUMNS: &[Column] = &[
    column("SPACE"),
    column("POOL"),
    column("FIRST"),
    column("LAST"),
    column("CAPACITY"),
    column("HELD"),
    column("COOLING"),
    column("RESERVED"),
    column("FREE"),
    wide("EXCLUDED"),
];

impl Pools {
    pub(crate) async fn run(&self, api: &Api, output: &Output) -> Result<Ended, Error> {
        let reading = api
            .client
            .windows(self.space.as_deref(), api.budget())
            .await?;
        let listing = Listing::plain(COLUMNS, &reading.windows, cells)?;
        output.write(&listing, "nothing was ever asked for")
    }
}

fn cells(window: &Window) -> Vec<Cell> {
    let counts = &window.counts;
    vec![
        Cell::text(&window.space),
        Cell::text(&window.pool),
        Cell::text(&window.start),
        Cell::text(&window.end),
        Cell::text(&counts.capacity),
        Cell::text(&counts.held),
        Cell::text(&counts.cooling),
        Cell::text(&counts.reserved),
        Cell::text(&counts.free),
        Cell::text(window.exclude.join(" ")),
    ]
}
