//! `spaces`: the streams, and where they are.

use clap::Args;
use ipledger_client::types::Space;

use crate::connect::Api;
use crate::error::{Ended, Error};
use crate::listing::{Cell, Column, Listing, column, wide};
use crate::output::Output;

/// Spaces and the heads of their streams.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ipledgerctl spaces
  ipledgerctl spaces -o wide")]
pub(crate) struct Spaces {}

const COLUMNS: &[Column] = &[
    column("SPACE"),
    column("SEQ"),
    column("AGE"),
    column("MEMBERS"),
    column("CIDR"),
    wide("HASH"),
];

impl Spaces {
    pub(crate) async fn run(&self, api: &Api, output: &Output) -> Result<Ended, Error> {
        let spaces = api.client.spaces(api.budget()).await?;
        let listing = Listing::plain(COLUMNS, &spaces, cells)?;
        output.write(&listing, "there is no space yet")
    }
}

fn cells(space: &Space) -> Vec<Cell> {
    let members: Vec<String> = space
        .members
        .iter()
        .map(|member| match &member.network_name {
            Some(name) => format!("{}/{name}", member.cluster),
            None => member.cluster.clone(),
        })
        .collect();
    vec![
        Cell::text(&space.name),
        Cell::text(space.seq.to_string()),
        Cell::time(space.recorded_at.clone().unwrap_or_default()),
        Cell::text(members.join(" ")),
        Cell::text(space.private_cidr.clone().unwrap_or_default()),
        Cell::text(&space.hash),
    ]
}
