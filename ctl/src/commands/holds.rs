//! `holds`: what is held, now or at some time; with `--watch` also what changes.

use std::net::IpAddr;

use clap::Args;
use ipledger_client::types::Event;

use crate::commands::events::follow;
use crate::connect::Api;
use crate::error::{Ended, Error};
use crate::lists::{hold_listing, holds};
use crate::output::Output;

/// What is held, now or at some time.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ipledgerctl holds
  ipledgerctl holds -n default --node node-8 -o wide
  ipledgerctl holds --range 10.10.3.0/24 --at '2h ago' -o csv
  ipledgerctl holds --space prod --at now -o json")]
pub(crate) struct Holds {
    /// Only pods in this namespace.
    #[arg(short, long)]
    namespace: Option<String>,
    /// Only the pod with this name.
    #[arg(long)]
    pod: Option<String>,
    /// Only the pod with this UID.
    #[arg(long)]
    uid: Option<String>,
    /// Only pods on this node.
    #[arg(long)]
    node: Option<String>,
    /// Only the sandbox with this container id.
    #[arg(long, value_name = "ID")]
    container: Option<String>,
    /// Only the CNI network with this name.
    #[arg(long)]
    network: Option<String>,
    /// Only this cluster.
    #[arg(long)]
    cluster: Option<String>,
    /// Only this space.
    #[arg(long)]
    space: Option<String>,
    /// Only this address.
    #[arg(long)]
    address: Option<IpAddr>,
    /// Only addresses of this CIDR.
    #[arg(long, value_name = "CIDR")]
    range: Option<String>,
    /// At this time, not now.
    #[arg(long, value_name = "TIME")]
    at: Option<String>,
    /// Then show what begins and ends, as it comes, until interrupted.
    #[arg(short, long, conflicts_with_all = ["at", "range"])]
    watch: bool,
}

impl Holds {
    pub(crate) async fn run(&self, api: &Api, output: &Output) -> Result<Ended, Error> {
        let at = self
            .at
            .as_deref()
            .map(|text| output.now.parse("--at", text));
        let at = at.transpose()?.map(|at| at.to_string());
        let address = self.address.map(|address| address.to_string());
        let parameters = vec![
            ("namespace", self.namespace.as_deref()),
            ("pod", self.pod.as_deref()),
            ("pod_uid", self.uid.as_deref()),
            ("node", self.node.as_deref()),
            ("container_id", self.container.as_deref()),
            ("network", self.network.as_deref()),
            ("cluster", self.cluster.as_deref()),
            ("space", self.space.as_deref()),
            ("address", address.as_deref()),
            ("range", self.range.as_deref()),
            ("at", at.as_deref()),
        ];
        if !self.watch {
            let (found, _) = holds(api, parameters).await?;
            let mut listing = hold_listing(&found)?;
            listing.note = at.map(|at| format!("as of {at}"));
            return output.write(&listing, "nothing is held");
        }
        // The stream is opened before the list is read, so nothing falls between the two.
        let stream = vec![
            ("space", self.space.as_deref()),
            ("cluster", self.cluster.as_deref()),
        ];
        let following = api.client.follow(&stream).await?;
        let (found, as_of) = holds(api, parameters).await?;
        output.write_more(&hold_listing(&found)?, true)?;
        let is_new = |event: &Event| as_of.get(&event.space).is_none_or(|seq| event.seq > *seq);
        follow(api, output, following, stream, |event| {
            is_new(event) && self.concerns(event)
        })
        .await
    }

    fn concerns(&self, event: &Event) -> bool {
        let owner = [
            (&self.namespace, "namespace"),
            (&self.pod, "name"),
            (&self.uid, "uid"),
            (&self.node, "node"),
        ];
        let attachment = [
            (&self.container, "container_id"),
            (&self.network, "network"),
            (&self.cluster, "cluster"),
        ];
        let is = |wanted: &Option<String>, found: String| {
            wanted.as_ref().is_none_or(|wanted| *wanted == found)
        };
        let address = self.address.map(|address| address.to_string());
        event.address.is_some()
            && is(&address, event.address.clone().unwrap_or_default())
            && owner
                .iter()
                .all(|(wanted, key)| is(wanted, event.owner(key)))
            && attachment
                .iter()
                .all(|(wanted, key)| is(wanted, event.attachment(key)))
    }
}
