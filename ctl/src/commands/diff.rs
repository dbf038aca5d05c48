//! `diff`: which addresses changed hands between two times.

use clap::Args;
use ipledger_client::types::{AddressChange, DifferencePage, Hold};

use crate::connect::Api;
use crate::error::{Ended, Error};
use crate::listing::{Cell, Column, Listing, column, wide};
use crate::lists::pod_of;
use crate::output::Output;

/// Which addresses changed hands between two times.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ipledgerctl diff '2h ago'
  ipledgerctl diff 'yesterday 07:42' now -o json
  ipledgerctl diff 2026-11-24T07:42:00Z '5m ago' --space prod -o wide")]
pub(crate) struct Diff {
    /// The earlier time.
    #[arg(value_name = "T1")]
    from: String,
    /// The later time; now without it.
    #[arg(value_name = "T2")]
    to: Option<String>,
    /// Only in this space.
    #[arg(long)]
    space: Option<String>,
}

const COLUMNS: &[Column] = &[
    column("ADDRESS"),
    column("SPACE"),
    column("CHANGE"),
    column("BEFORE"),
    column("AFTER"),
    wide("UID BEFORE"),
    wide("UID AFTER"),
    wide("NODE BEFORE"),
    wide("NODE AFTER"),
];

impl Diff {
    pub(crate) async fn run(&self, api: &Api, output: &Output) -> Result<Ended, Error> {
        let from = output.now.parse("T1", &self.from)?.to_string();
        let to = self.to.as_deref().map(|text| output.now.parse("T2", text));
        let to = to.transpose()?.map(|at| at.to_string());
        let parameters = [
            ("from", Some(from.as_str())),
            ("to", to.as_deref()),
            ("space", self.space.as_deref()),
            ("limit", Some("5000")),
        ];
        let mut changes: Vec<AddressChange> = Vec::new();
        let take = |page: DifferencePage| {
            changes.extend(page.changes);
            page.next
        };
        api.client
            .pages("/v1/diff", &parameters, api.budget(), take)
            .await?;
        let listing = Listing::new(COLUMNS, &changes, cells)?;
        output.write(&listing, "no address changed hands")
    }
}

fn cells(change: &AddressChange) -> Vec<Cell> {
    let (before, after) = (change.before.as_ref(), change.after.as_ref());
    let word = match (before, after) {
        (None, _) => Cell::Begins("begun".to_owned()),
        (_, None) => Cell::Ends("ended".to_owned()),
        _ => Cell::text("changed"),
    };
    let pod = |hold: Option<&Hold>| Cell::text(hold.map(pod_of).unwrap_or_default());
    let of_owner = |hold: Option<&Hold>,
                    part: fn(&ipledger_client::types::Owner) -> Option<String>| {
        let owner = hold.and_then(|hold| hold.owner.as_ref());
        Cell::text(owner.and_then(part).unwrap_or_default())
    };
    vec![
        Cell::text(&change.address),
        Cell::text(&change.space),
        word,
        pod(before),
        pod(after),
        of_owner(before, |owner| owner.uid.clone()),
        of_owner(after, |owner| owner.uid.clone()),
        of_owner(before, |owner| owner.node.clone()),
        of_owner(after, |owner| owner.node.clone()),
    ]
}
