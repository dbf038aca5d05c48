//! `release`: end a hold by hand.

use std::net::IpAddr;

use clap::Args;
use ipledger_client::types::{Hold, ReleaseHoldRequest};
use serde_json::{Map, Value};

use crate::connect::Api;
use crate::error::{Ended, Error};
use crate::listing::{Cell, Column, Listing, column};
use crate::lists::{hold_listing, holds, pod_of};
use crate::output::Output;

/// End a hold by hand; the reason is recorded, with who said so.
///
/// The hold that is ended is the one that was looked at: if it changes hands in between, nothing is
/// done. If its pod still lives, two pods may come to answer for the address.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ipledgerctl release 10.10.3.2 --reason 'node-1 was scrapped' --dry-run
  ipledgerctl release 10.10.3.2 --reason 'node-1 was scrapped' --evidence ticket=OPS-4711")]
pub(crate) struct Release {
    /// The address.
    address: IpAddr,
    /// Why, in a few words.
    #[arg(long)]
    reason: String,
    /// What it rests on, for the record; may be given several times.
    #[arg(long, value_name = "KEY=VALUE")]
    evidence: Vec<String>,
    /// The space, if the address is held in several.
    #[arg(long)]
    space: Option<String>,
    /// Only if the hold is at this step.
    #[arg(long)]
    step: Option<u32>,
    /// Show what would end; end nothing.
    #[arg(long)]
    dry_run: bool,
}

const COLUMNS: &[Column] = &[
    column("ADDRESS"),
    column("SPACE"),
    column("SEQ"),
    column("STEP"),
    column("AGE"),
    column("WAS"),
];

impl Release {
    pub(crate) async fn run(&self, api: &Api, output: &Output) -> Result<Ended, Error> {
        let evidence = self.evidence()?;
        let address = self.address.to_string();
        let parameters = vec![
            ("address", Some(address.as_str())),
            ("space", self.space.as_deref()),
        ];
        let (found, _) = holds(api, parameters).await?;
        let nothing = format!("nobody holds {address}");
        if found.is_empty() || self.dry_run {
            return output.write(&hold_listing(&found)?, &nothing);
        }
        let hold = self.only(found)?;
        let request = ReleaseHoldRequest {
            space: hold.space.clone(),
            address,
            step: hold.step,
            reason: self.reason.clone(),
            cluster_uid: None,
            evidence,
            deadline_ms: None,
            claimed_at: None,
        };
        let answer = api.client.release_hold(&request, api.budget()).await?;
        let released = answer.released;
        let listing = Listing::plain(COLUMNS, &[released], |released| {
            vec![
                Cell::text(&released.address),
                Cell::text(&released.space),
                Cell::text(released.seq.to_string()),
                Cell::text(released.step.to_string()),
                Cell::time(&released.recorded_at),
                Cell::text(pod_of(&hold)),
            ]
        })?;
        output.write(&listing, &nothing)
    }

    /// The one hold that is meant.
    fn only(&self, mut found: Vec<Hold>) -> Result<Hold, Error> {
        if found.len() > 1 {
            let spaces: Vec<&str> = found.iter().map(|hold| hold.space.as_str()).collect();
            let there = spaces.join(", ");
            let address = self.address;
            let problem = format!("--space is missing; {address} is held in {there}");
            return Err(Error::Usage(problem));
        }
        let hold = found.remove(0);
        match self.step {
            Some(step) if step != hold.step => {
                let problem = format!("is not the step of the hold, which is {}", hold.step);
                Err(Error::usage("--step", &step.to_string(), &problem))
            }
            _ => Ok(hold),
        }
    }

    fn evidence(&self) -> Result<Map<String, Value>, Error> {
        let mut evidence = Map::new();
        for pair in &self.evidence {
            let Some((key, value)) = pair.split_once('=').filter(|(key, _)| !key.is_empty()) else {
                return Err(Error::usage("--evidence", pair, "is not KEY=VALUE"));
            };
            evidence.insert(key.to_owned(), Value::from(value));
        }
        if evidence.is_empty() {
            evidence.insert("by".to_owned(), Value::from("hand"));
        }
        Ok(evidence)
    }
}
