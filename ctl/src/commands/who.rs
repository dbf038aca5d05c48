//! `who`: the holder of an address, now or at some time, and the event that says so.

use std::net::IpAddr;

use clap::Args;
use ipledger_client::types::{Event, Hold, Row, csv};
use serde::Serialize;

use crate::connect::Api;
use crate::error::{Ended, Error};
use crate::listing::{Cell, Column, Listing, column, wide};
use crate::lists::{event_at, events, holds, pod_of};
use crate::output::Output;
use crate::time::just_after;

/// Who has an address, or had it at some time, and who said so.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ipledgerctl who 10.10.3.1
  ipledgerctl who 10.10.3.1 --at '2h ago' -o json
  ipledgerctl who 10.10.3.1 --at 'yesterday 07:42'")]
pub(crate) struct Who {
    /// The address.
    address: IpAddr,
    /// At this time, not now.
    #[arg(long, value_name = "TIME")]
    at: Option<String>,
    /// Only in this space.
    #[arg(long)]
    space: Option<String>,
}

/// A hold, and the event that began it.
#[derive(Debug, Serialize)]
struct Holder {
    #[serde(flatten)]
    hold: Hold,
    event: Option<Event>,
}

const COLUMNS: &[Column] = &[
    column("ADDRESS"),
    column("SPACE"),
    column("POD"),
    column("NODE"),
    column("AGE"),
    column("REASON"),
    column("ACTOR"),
    wide("UID"),
    wide("CONTAINER"),
    wide("IFNAME"),
    wide("SEQ"),
    wide("HASH"),
];

impl Who {
    pub(crate) async fn run(&self, api: &Api, output: &Output) -> Result<Ended, Error> {
        let at = self
            .at
            .as_deref()
            .map(|text| output.now.parse("--at", text));
        let at = at.transpose()?;
        let (at_text, address) = (at.map(|at| at.to_string()), self.address.to_string());
        let space = self.space.as_deref();
        let parameters = vec![
            ("address", Some(address.as_str())),
            ("at", at_text.as_deref()),
            ("space", space),
        ];
        let (found, _) = holds(api, parameters).await?;
        let mut holders = Vec::with_capacity(found.len());
        for hold in found {
            let event = event_at(api, &hold.space, hold.seq).await?;
            holders.push(Holder { hold, event });
        }
        let mut listing = listing(&holders)?;
        let mut nothing = format!("nobody holds {address}");
        if let Some(at) = &at_text {
            nothing = format!("nobody held {address} at {at}");
        }
        if holders.is_empty() && output.is_table() {
            let until = at.map(|at| just_after(at).to_string());
            let parameters = vec![
                ("address", Some(address.as_str())),
                ("until", until.as_deref()),
                ("space", space),
                ("order", Some("newest")),
            ];
            let (last, _) = events(api, "/v1/history", parameters, 1).await?;
            nothing += &last.first().map_or("; it was never used".to_owned(), told);
        } else if let Some(at) = at_text {
            listing.note = Some(format!("as of {at}"));
        }
        output.write(&listing, &nothing)
    }
}

fn told(last: &Event) -> String {
    format!(
        "; the last to hold it was {}/{}, released {} by {} ({})",
        last.owner("namespace"),
        last.owner("name"),
        last.recorded_at,
        last.actor(),
        last.reason()
    )
}

fn listing(holders: &[Holder]) -> Result<Listing, Error> {
    let mut listing = Listing::plain(COLUMNS, holders, |holder| {
        let (hold, event) = (&holder.hold, holder.event.as_ref());
        let owner = hold.owner.as_ref();
        let of_event = |part: fn(&Event) -> &str| Cell::text(event.map_or("", part));
        vec![
            Cell::text(&hold.address),
            Cell::text(&hold.space),
            Cell::text(pod_of(hold)),
            Cell::text(owner.and_then(|o| o.node.clone()).unwrap_or_default()),
            Cell::time(&hold.recorded_at),
            of_event(Event::reason),
            of_event(Event::actor),
            Cell::text(owner.and_then(|o| o.uid.clone()).unwrap_or_default()),
            Cell::text(&hold.attachment.container_id),
            Cell::text(&hold.attachment.ifname),
            Cell::text(hold.seq.to_string()),
            of_event(|event| &event.hash),
        ]
    })?;
    listing.csv = csv(holders);
    Ok(listing)
}

impl Row for Holder {
    const COLUMNS: &'static [&'static str] = Event::COLUMNS;

    fn fields(&self) -> Vec<String> {
        match &self.event {
            Some(event) => event.fields(),
            None => vec![String::new(); Event::COLUMNS.len()],
        }
    }
}
