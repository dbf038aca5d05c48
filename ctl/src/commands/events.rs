//! `events`: the ledger row by row, one event in full, or as events come.

use std::net::IpAddr;
use std::time::Duration;

use clap::Args;
use ipledger_client::asynchronous::Following;
use ipledger_client::types::Event;

use crate::connect::Api;
use crate::error::{Ended, Error};
use crate::lists::{Parameters, event_at, event_listing, events};
use crate::output::{Output, print};

/// How long to wait before a stream that broke is opened again.
const AGAIN: Duration = Duration::from_secs(1);

/// The ledger row by row, one event in full, or as events come.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ipledgerctl events --space prod --tail 10
  ipledgerctl events --space prod --after 2 -o csv
  ipledgerctl events --space prod --seq 1
  ipledgerctl events --space prod --seq 1 -o json

  `ipledgerctl events --follow` shows events as they are recorded, until interrupted.")]
pub(crate) struct Events {
    /// Name of the space. If there is only one, it is that.
    #[arg(long)]
    space: Option<String>,
    /// Only about this address.
    #[arg(long)]
    address: Option<IpAddr>,
    /// Only this one, in full.
    #[arg(long, conflicts_with_all = ["after", "tail", "follow", "address"])]
    seq: Option<u64>,
    /// Only after this position.
    #[arg(long, value_name = "SEQ")]
    after: Option<u64>,
    /// Only the last so many.
    #[arg(long, conflicts_with = "after", value_name = "NUMBER")]
    tail: Option<u64>,
    /// How many events at most.
    #[arg(long, default_value_t = 1000, value_name = "NUMBER")]
    limit: usize,
    /// Then show events as they are recorded, until interrupted. Without `--after` or `--tail`:
    /// only those, of all spaces unless one is named.
    #[arg(short, long, short_alias = 'w', alias = "watch")]
    follow: bool,
    /// With `--follow`: only spaces that this cluster is a member of.
    #[arg(long, requires = "follow", conflicts_with_all = ["after", "tail"])]
    cluster: Option<String>,
}

impl Events {
    pub(crate) async fn run(&self, api: &Api, output: &Output) -> Result<Ended, Error> {
        let address = self.address.map(|address| address.to_string());
        let concerns = |event: &Event| address.is_none() || event.address == address;
        if self.follow && self.after.is_none() && self.tail.is_none() {
            let parameters = vec![
                ("space", self.space.as_deref()),
                ("cluster", self.cluster.as_deref()),
            ];
            let following = api.client.follow(&parameters).await?;
            return follow(api, output, following, parameters, concerns).await;
        }
        let spaces = api.client.spaces(api.budget()).await?;
        let names: Vec<&str> = spaces.iter().map(|space| space.name.as_str()).collect();
        let space = match (self.space.as_deref(), names.as_slice()) {
            (Some(space), _) => space,
            (None, [only]) => only,
            (None, names) => {
                let there = names.join(", ");
                return Err(Error::Usage(format!(
                    "--space is missing; there are {there}"
                )));
            }
        };
        if let Some(seq) = self.seq {
            return one(api, output, space, seq).await;
        }
        let head = spaces.iter().find(|found| found.name == space);
        let head = head.map_or(0, |found| found.seq);
        let after = match self.tail {
            Some(tail) => head.saturating_sub(tail),
            None => self.after.unwrap_or(0),
        };
        let after = after.to_string();
        let mut parameters = vec![("space", Some(space)), ("after", Some(after.as_str()))];
        if self.follow {
            let following = api.client.follow(&parameters).await?;
            return follow(api, output, following, parameters, concerns).await;
        }
        parameters.push(("address", address.as_deref()));
        let (found, more) = events(api, "/v1/events", parameters, self.limit).await?;
        let mut listing = event_listing(&found)?;
        if let (true, Some(last)) = (more, found.last()) {
            listing.note = Some(format!("there are more; go on with --after {}", last.seq));
        }
        output.write(&listing, "there is no such event")
    }
}

/// Shows events until interrupted. A stream that breaks is opened again behind the last event.
pub(crate) async fn follow(
    api: &Api,
    output: &Output,
    mut following: Following,
    parameters: Parameters<'_>,
    mut concerns: impl FnMut(&Event) -> bool,
) -> Result<Ended, Error> {
    let mut last: Option<String> = None;
    let mut is_first = true;
    let interrupted = tokio::signal::ctrl_c();
    let mut interrupted = std::pin::pin!(interrupted);
    loop {
        let next = tokio::select! {
            _ = &mut interrupted => return Ok(Ended::Done),
            next = following.next() => next?,
        };
        match next {
            Some(followed) => {
                last = Some(followed.id);
                if concerns(&followed.event) {
                    output.write_more(&event_listing(&[followed.event])?, is_first)?;
                    is_first = false;
                }
            }
            None => {
                tokio::time::sleep(AGAIN).await;
                let mut parameters = parameters.clone();
                if last.is_some() {
                    parameters.retain(|(key, _)| *key != "after");
                    parameters.push(("last_event_id", last.as_deref()));
                }
                following = api.client.follow(&parameters).await?;
            }
        }
    }
}

/// One event, line by line for people.
async fn one(api: &Api, output: &Output, space: &str, seq: u64) -> Result<Ended, Error> {
    let found = event_at(api, space, seq).await?;
    let nothing = format!("there is no event {seq} in {space}");
    let Some(event) = found.filter(|_| output.is_table()) else {
        let found = event_at(api, space, seq).await?;
        return output.write(&event_listing(found.as_slice())?, &nothing);
    };
    print(&in_full(&event))?;
    Ok(Ended::Done)
}

fn in_full(event: &Event) -> String {
    let mut text = String::new();
    let optional = |part: Option<String>| part.unwrap_or_else(|| "-".to_owned());
    let payload = serde_json::to_string_pretty(&event.payload).unwrap_or_default();
    for (name, value) in [
        ("space", event.space.clone()),
        ("position", event.seq.to_string()),
        ("epoch", event.epoch.to_string()),
        ("recorded at", event.recorded_at.clone()),
        ("claimed at", optional(event.claimed_at.clone())),
        ("kind", event.kind.clone()),
        ("address", optional(event.address.clone())),
        ("step", optional(event.step.map(|step| step.to_string()))),
        (
            "predecessor",
            optional(event.predecessor_seq.map(|seq| seq.to_string())),
        ),
        ("actor", event.actor().to_owned()),
        ("reason", event.reason().to_owned()),
        ("digest", event.digest.clone()),
        ("hash before", event.previous_hash.clone()),
        ("hash", event.hash.clone()),
        ("payload", payload.replace('\n', "\n  ")),
    ] {
        text.push_str(&format!("{:<14}{value}\n", format!("{name}:")));
    }
    text
}
