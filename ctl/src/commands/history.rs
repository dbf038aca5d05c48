//! `history`: what happened to an address, a pod, a node, a sandbox or a network.

use std::net::IpAddr;

use clap::Args;

use crate::connect::Api;
use crate::error::{Ended, Error};
use crate::lists::{Parameters, event_listing, events};
use crate::output::Output;

/// What happened to an address, a pod, a node, a sandbox or a network.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ipledgerctl history 10.10.3.1
  ipledgerctl history -n default web-0 --since '1 week ago'
  ipledgerctl history --uid uid-1 -o yaml
  ipledgerctl history --node node-7 --newest --limit 20
  ipledgerctl history --container c1 -o wide
  ipledgerctl history --network super-net -o csv")]
#[command(group = clap::ArgGroup::new("subject").required(true)
    .args(["of", "uid", "node", "container", "network"]))]
pub(crate) struct History {
    /// An address, or the name of a pod: all pods that ever had it.
    #[arg(value_name = "ADDRESS|POD")]
    of: Option<String>,
    /// Namespace of the pod.
    #[arg(short, long, default_value = "default")]
    namespace: String,
    /// The pod with this UID.
    #[arg(long)]
    uid: Option<String>,
    /// This node.
    #[arg(long)]
    node: Option<String>,
    /// The sandbox with this container id.
    #[arg(long, value_name = "ID")]
    container: Option<String>,
    /// The CNI network with this name.
    #[arg(long)]
    network: Option<String>,
    /// Only in this cluster.
    #[arg(long)]
    cluster: Option<String>,
    /// Only in this space.
    #[arg(long)]
    space: Option<String>,
    /// Only what was recorded from this time on.
    #[arg(long, value_name = "TIME")]
    since: Option<String>,
    /// Only what was recorded before this time.
    #[arg(long, value_name = "TIME")]
    until: Option<String>,
    /// The newest first.
    #[arg(long)]
    newest: bool,
    /// How many events at most.
    #[arg(long, default_value_t = 1000, value_name = "NUMBER")]
    limit: usize,
}

impl History {
    pub(crate) async fn run(&self, api: &Api, output: &Output) -> Result<Ended, Error> {
        let time = |argument, text: &Option<String>| {
            let at = text.as_deref().map(|text| output.now.parse(argument, text));
            Ok::<_, Error>(at.transpose()?.map(|at| at.to_string()))
        };
        let (since, until) = (time("--since", &self.since)?, time("--until", &self.until)?);
        let mut parameters = self.subject();
        parameters.extend([
            ("cluster", self.cluster.as_deref()),
            ("space", self.space.as_deref()),
            ("since", since.as_deref()),
            ("until", until.as_deref()),
            ("order", self.newest.then_some("newest")),
        ]);
        let (events, more) = events(api, "/v1/history", parameters, self.limit).await?;
        let mut listing = event_listing(&events)?;
        if more {
            let limit = self.limit;
            listing.note = Some(format!("there are more than {limit}; --limit shows more"));
        }
        output.write(&listing, "no event is recorded about it")
    }

    fn subject(&self) -> Parameters<'_> {
        if let Some(of) = self.of.as_deref() {
            if of.parse::<IpAddr>().is_ok() {
                return vec![("address", Some(of))];
            }
            let (namespace, pod) = of.split_once('/').unwrap_or((&self.namespace, of));
            return vec![("namespace", Some(namespace)), ("pod", Some(pod))];
        }
        vec![
            ("pod_uid", self.uid.as_deref()),
            ("node", self.node.as_deref()),
            ("container_id", self.container.as_deref()),
            ("network", self.network.as_deref()),
        ]
    }
}
