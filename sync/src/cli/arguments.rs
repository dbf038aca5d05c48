//! Flags and environment variables.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};

use super::cron::period;
use super::duration::{NodeTimeout, duration, seconds};
use super::projection::ProjectionArguments;
use super::takeover::{CutOverArguments, ImportWhereabouts};
use crate::config::LookConfig;
use crate::diff::Settings;
use crate::observe::ReadLimits;

/// Keeps the ledger and a Kubernetes cluster in step: frees the addresses of pods that are gone.
///
/// Every flag can also be set by the environment variable beside it; the flag wins. Durations
/// have a unit: 45s, 2m.
#[derive(Debug, Parser)]
#[command(name = "ipledger-sync", version, max_term_width = 100, after_help = EXAMPLES)]
pub(super) struct Arguments {
    #[command(subcommand)]
    pub(super) command: Command,
    /// What to log: a level, or levels by target.
    ///
    /// `info` logs every release, every pass that frees something, and every change of what
    /// holds it up; failing watches are told once, and not by the library below. On a terminal the log is text, elsewhere JSON.
    #[arg(
        long,
        env = "IPLEDGER_LOG",
        value_name = "FILTER",
        default_value = "info,kube_runtime=error",
        global = true
    )]
    pub(super) log: String,
}

const EXAMPLES: &str = "\
Examples:
  Two replicas in the cluster, one of which acts:
    ipledger-sync run --cluster prod --api-url http://10.0.0.5:8311

  What would be freed, from a workstation, writing nothing:
    ipledger-sync once --cluster prod --dry-run --wait 3m";

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Make passes until SIGINT or SIGTERM: at the start, when pods or nodes go, on a period, and
    /// at once when an allocate is refused for lack of addresses.
    ///
    /// Of several replicas one acts: the one that holds the Lease. What it remembers (since when
    /// pods are gone, heartbeats of nodes) is in memory only, so every start and every hand-over
    /// begins the grace anew.
    Run(Box<Run>),
    /// Look, say what differs, and correct it unless it is a dry run.
    ///
    /// One look frees nothing: the grace counts from the first look that saw a pod gone, and
    /// heartbeats of its node must come for a whole grace. With --wait it goes on looking until
    /// nothing waits any more, or that time is over. It needs no Lease, and does no harm beside
    /// `run`: a hold is released by its address and step.
    ///
    /// Exit codes: 0 nothing differs, 1 something differs (with --dry-run: would be corrected,
    /// waits, or cannot be judged; else: was corrected, or is left), 2 it failed.
    Once(Box<Once>),
    /// Take over what whereabouts recorded: read its objects, from the cluster or from files, list
    /// what is inconsistent, and import the rest into the ledger. A repeat changes nothing.
    ///
    /// Exit codes: 0 everything fits and is imported, 1 something is inconsistent or was refused
    /// (with --shadow: ledger and objects differ), 2 it failed.
    ImportWhereabouts(Box<ImportWhereabouts>),
    /// Cut a cluster over from whereabouts, and back: the gate, what is still missing, the final
    /// import. docs/cut-over.md has the order of the steps.
    CutOver(Box<CutOverArguments>),
}

#[derive(Debug, Args)]
pub(super) struct Run {
    #[command(flatten)]
    pub(super) connection: Connection,
    #[command(flatten)]
    pub(super) looking: Looking,
    /// How long at most from one pass to the next.
    ///
    /// Together with the grace and some heartbeats it bounds the time in which the address of a
    /// pod is free again whose DEL was lost: under two minutes with the usual values. A cron
    /// expression of five fields (whereabouts' reconciler_cron_expression) stands for the shortest
    /// time between two of its moments.
    #[arg(long, env = "IPLEDGER_PERIOD", value_name = "DURATION", default_value = "30s",
          value_parser = period)]
    pub(super) period: Duration,
    /// How long events are gathered before a pass is made for them.
    #[arg(long, env = "IPLEDGER_SETTLE", value_name = "DURATION", default_value = "500ms",
          value_parser = duration)]
    pub(super) settle: Duration,
    #[command(flatten)]
    pub(super) lease: LeaseArguments,
    #[command(flatten)]
    pub(super) projection: ProjectionArguments,
    /// Where /metrics, /healthz and /readyz are served.
    #[arg(
        long,
        env = "IPLEDGER_METRICS_LISTEN",
        value_name = "ADDRESS",
        default_value = "127.0.0.1:8312"
    )]
    pub(super) metrics_listen: SocketAddr,
}

#[derive(Debug, Args)]
pub(super) struct LeaseArguments {
    /// Namespace of the Lease between replicas; without it the pod's own namespace.
    #[arg(long, env = "IPLEDGER_LEASE_NAMESPACE", value_name = "NAMESPACE")]
    pub(super) lease_namespace: Option<String>,
    /// Name of the Lease.
    #[arg(
        long,
        env = "IPLEDGER_LEASE_NAME",
        value_name = "NAME",
        default_value = "ipledger-sync"
    )]
    pub(super) lease_name: String,
    /// How long the others wait when the replica that acts is silent, at least 3s.
    ///
    /// It renews the Lease three times in that, and stops after two thirds without success.
    #[arg(long, env = "IPLEDGER_LEASE_DURATION", value_name = "DURATION", default_value = "15s",
          value_parser = lease_seconds)]
    pub(super) lease_duration: u32,
}

fn lease_seconds(text: &str) -> Result<u32, String> {
    let seconds = seconds(text)?;
    if seconds < 3 {
        return Err("is below 3s".to_owned());
    }
    Ok(seconds)
}

#[derive(Debug, Args)]
pub(super) struct Once {
    #[command(flatten)]
    pub(super) connection: Connection,
    #[command(flatten)]
    pub(super) looking: Looking,
    /// Write nothing, neither to the ledger nor to the cluster.
    #[arg(long)]
    pub(super) dry_run: bool,
    /// How long to go on looking while something waits. Without it, one look.
    #[arg(long, env = "IPLEDGER_WAIT", value_name = "DURATION", value_parser = duration)]
    pub(super) wait: Option<Duration>,
    /// How to print what differs.
    #[arg(
        short,
        long,
        env = "IPLEDGER_OUTPUT",
        value_name = "FORMAT",
        default_value = "table"
    )]
    pub(super) output: Output,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Output {
    /// A row for each hold, and a line that sums them up.
    Table,
    /// One JSON object, with the evidence of what would be freed.
    Json,
}

/// Whom to speak to.
#[derive(Debug, Args)]
pub(super) struct Connection {
    /// Where the API is: several, separated by commas, are tried in turn.
    ///
    /// http://address:port with a literal address, or unix:/path.
    #[arg(
        long,
        env = "IPLEDGER_API_URL",
        value_name = "URL",
        value_delimiter = ',',
        default_value = "http://127.0.0.1:8311"
    )]
    pub(super) api_url: Vec<String>,
    /// File with the token that the API asks for.
    #[arg(long, env = "IPLEDGER_TOKEN_FILE", value_name = "FILE")]
    pub(super) token_file: Option<PathBuf>,
    /// Kubeconfig of the cluster; without it the pod's own account, else the usual places.
    #[arg(long, env = "IPLEDGER_KUBECONFIG", value_name = "FILE")]
    pub(super) kubeconfig: Option<PathBuf>,
}

/// How to look, and when to free.
#[derive(Debug, Args)]
pub(super) struct Looking {
    /// Name of the cluster, as its plugins are configured. It is bound to the UID of the
    /// cluster's kube-system namespace at first contact.
    #[arg(long, env = "IPLEDGER_CLUSTER", value_name = "NAME")]
    pub(super) cluster: String,
    /// How long a pod must have been gone, and its node heard after that. Longer than a node
    /// takes to stop a deleted pod.
    #[arg(long, env = "IPLEDGER_GRACE", value_name = "DURATION", default_value = "45s",
          value_parser = seconds)]
    grace: u32,
    /// After how long without contact the containers of a node count as gone, or never.
    #[arg(
        long,
        env = "IPLEDGER_UNREACHABLE_NODE_TIMEOUT",
        value_name = "DURATION",
        default_value = "6m"
    )]
    unreachable_node_timeout: NodeTimeout,
    /// Count a pod that is past its own grace to terminate as gone while its node carries the
    /// taint node.kubernetes.io/out-of-service.
    #[arg(long, env = "IPLEDGER_FREE_TERMINATING_ON_OUT_OF_SERVICE")]
    free_terminating_on_out_of_service: bool,
    /// Which share of the cluster's holds a pass may free without a second, independent look.
    #[arg(long, env = "IPLEDGER_UNUSUAL_SHARE_PERCENT", value_name = "PERCENT",
          default_value_t = 25, value_parser = clap::value_parser!(u32).range(1..=100))]
    unusual_share_percent: u32,
    /// From how many holds of the cluster on a share can be unusual.
    #[arg(
        long,
        env = "IPLEDGER_UNUSUAL_SHARE_FROM_HOLDS",
        value_name = "COUNT",
        default_value_t = 10
    )]
    unusual_share_from_holds: usize,
    /// How far the clocks of the database and the API server may differ. Only holds without pod
    /// UID are judged by both.
    #[arg(long, env = "IPLEDGER_CLOCK_DIFFERENCE", value_name = "DURATION", default_value = "60s",
          value_parser = seconds)]
    clock_difference: u32,
    /// How often the heartbeats of nodes are read whose pods are gone.
    #[arg(long, env = "IPLEDGER_HEARTBEAT_INTERVAL", value_name = "DURATION", default_value = "5s",
          value_parser = duration)]
    heartbeat_interval: Duration,
    /// How long one read of the API server may take.
    #[arg(long, env = "IPLEDGER_READ_TIMEOUT", value_name = "DURATION", default_value = "10s",
          value_parser = duration)]
    read_timeout: Duration,
    /// How many reads of the API server are under way at once.
    #[arg(long, env = "IPLEDGER_READS_AT_ONCE", value_name = "COUNT", default_value_t = 16,
          value_parser = clap::value_parser!(u16).range(1..))]
    reads_at_once: u16,
    /// How many reads a second are sent to the API server.
    #[arg(long, env = "IPLEDGER_READS_PER_SECOND", value_name = "COUNT", default_value_t = 100,
          value_parser = clap::value_parser!(u32).range(1..))]
    reads_per_second: u32,
}

impl Looking {
    pub(super) fn config(&self) -> LookConfig {
        LookConfig {
            cluster: self.cluster.clone(),
            settings: Settings {
                grace_seconds: self.grace,
                unreachable_node_timeout_seconds: self.unreachable_node_timeout.0,
                free_terminating_on_out_of_service: self.free_terminating_on_out_of_service,
                clock_difference_seconds: self.clock_difference,
                unusual_share_percent: self.unusual_share_percent,
                unusual_share_from_holds: self.unusual_share_from_holds,
            },
            limits: ReadLimits {
                timeout: self.read_timeout,
                at_once: usize::from(self.reads_at_once),
                per_second: self.reads_per_second,
            },
            heartbeat_interval: self.heartbeat_interval,
        }
    }
}

#[cfg(test)]
#[path = "arguments/tests.rs"]
mod tests;
