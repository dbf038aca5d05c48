//! What is still missing before the gate may be opened.

use ipledger_client::asynchronous::HoldFilter;
use ipledger_client::types::Gate;
use jiff::{SignedDuration, Timestamp};
use serde::Serialize;

use super::incumbent::incumbent_workloads;
use super::nodes::node_reports;
use super::steps::{CutOver, CutOverError, PATIENCE, kube_failed};
use crate::import::{Analysis, Choices, Importable, analyse, read_cluster};
use crate::project::{check_identity, cluster_state};
use crate::table::table;

/// How far a cut-over has come.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Status {
    /// Name of the cluster in the ledger.
    pub cluster: String,
    /// The gate; absent if the ledger does not know the cluster yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gate: Option<Gate>,
    /// For how long ADDs have been turned away, in seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub closed_for_seconds: Option<i64>,
    /// Nodes of the cluster.
    pub nodes: usize,
    /// Entries of the objects that stand for an address.
    pub entries: usize,
    /// How many of them are to be imported by `open`: the ledger holds them not, or not any more.
    pub to_import: usize,
    /// What has to be done before the gate may be opened.
    pub missing: Vec<Missing>,
}

/// Something that has to be done first.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Missing {
    /// A fixed word.
    pub kind: &'static str,
    /// Which node, workload or hold.
    pub what: String,
    /// What to do about it.
    pub remedy: &'static str,
}

impl Missing {
    pub(super) fn new(
        kind: &'static str,
        what: impl Into<String>,
        remedy: &'static str,
    ) -> Missing {
        Missing {
            kind,
            what: what.into(),
            remedy,
        }
    }
}

/// Looks at the gate, the nodes, the incumbent and the objects. Nothing is written.
///
/// # Errors
/// The ledger or the cluster cannot be read.
pub async fn status(cut_over: &CutOver) -> Result<Status, CutOverError> {
    let CutOver { cluster, world, .. } = cut_over;
    let state = cluster_state(cluster, &world.ledger).await?;
    let mut missing = Vec::new();
    if state.as_ref().is_some_and(|state| state.uid.is_some()) {
        check_identity(cluster, state.as_ref(), &world.kube)
            .await?
            .map_err(CutOverError::Identity)?;
    }
    let gate = state.map(|state| state.gate);
    let is_closed = gate.as_ref().is_some_and(|gate| gate.closed);
    if !is_closed {
        let what = match gate.as_ref().and_then(|gate| gate.since.as_deref()) {
            Some(since) => format!("open since {since}"),
            None => "never closed".to_owned(),
        };
        missing.push(Missing::new("gate", what, "ipledger-sync cut-over close"));
    }
    let reports = node_reports(&world.kube, &cut_over.plugin_selector)
        .await
        .map_err(kube_failed("nodes and pods"))?;
    missing.extend(reports.without_plugin.iter().map(|node| {
        Missing::new(
            "node_without_plugin",
            node,
            "install the plugin; its pod must be Ready",
        )
    }));
    let workloads = incumbent_workloads(&world.kube)
        .await
        .map_err(kube_failed("Deployments and DaemonSets"))?;
    missing.extend(workloads.iter().map(|workload| {
        let what = format!("{workload} ({} pods)", workload.pods);
        Missing::new("incumbent_runs", what, "delete it, or let it have no pods")
    }));
    let analysis = analysis(cut_over).await?;
    Ok(Status {
        cluster: cluster.clone(),
        closed_for_seconds: gate
            .as_ref()
            .and_then(|gate| closed_for(gate, world.clock.now())),
        gate,
        nodes: reports.nodes,
        entries: analysis.entries,
        to_import: not_held(cut_over, &analysis.holds).await?,
        missing,
    })
}

pub(super) async fn analysis(cut_over: &CutOver) -> Result<Analysis, CutOverError> {
    let world = &cut_over.world;
    let read_at = world.clock.now();
    let inventory = read_cluster(&world.kube, Some(&cut_over.namespace)).await?;
    let choices = Choices {
        cluster: cut_over.cluster.clone(),
        cluster_uid: Some(crate::project::kube_system_uid(&world.kube).await?),
        keep_gone: cut_over.keep_gone,
        read_at,
    };
    Ok(analyse(&inventory, &choices))
}

/// How many of the holds the ledger does not have now.
async fn not_held(cut_over: &CutOver, holds: &[Importable]) -> Result<usize, CutOverError> {
    let filter = HoldFilter {
        cluster: Some(cut_over.cluster.clone()),
        ..HoldFilter::default()
    };
    let budget = ipledger_client::Budget::within(PATIENCE);
    let read = cut_over.world.ledger.holds(&filter, budget).await?;
    let held: std::collections::BTreeSet<(String, String)> = read
        .holds
        .into_iter()
        .map(|hold| (hold.address, hold.attachment.container_id))
        .collect();
    let is_missing = |hold: &&Importable| {
        let key = (
            hold.request.address.clone(),
            hold.request.container_id.clone(),
        );
        !held.contains(&key)
    };
    Ok(holds.iter().filter(is_missing).count())
}

/// For how long the gate has been closed.
pub(super) fn closed_for(gate: &Gate, now: Timestamp) -> Option<i64> {
    let since: Timestamp = gate.since.as_ref()?.parse().ok()?;
    gate.closed
        .then(|| now.duration_since(since).as_secs().max(0))
}

impl Status {
    /// Whether the gate may be opened.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.missing.is_empty()
    }

    /// A table of what is missing, and lines that sum it up.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = String::new();
        if !self.missing.is_empty() {
            let rows: Vec<[String; 3]> = self
                .missing
                .iter()
                .map(|missing| {
                    let missing = missing.clone();
                    [
                        missing.kind.to_owned(),
                        missing.what,
                        missing.remedy.to_owned(),
                    ]
                })
                .collect();
            text.push_str(&table(["MISSING", "WHAT", "REMEDY"], &rows));
            text.push('\n');
        }
        let gate = match (&self.gate, self.closed_for_seconds) {
            (Some(gate), Some(seconds)) => format!(
                "closed for {}: {}",
                spell(seconds),
                gate.reason.as_deref().unwrap_or("no reason given")
            ),
            _ => "open".to_owned(),
        };
        text.push_str(&format!(
            "cluster {}: the gate is {gate}\n{} nodes; {} entries in the objects, {} of them to \
             import\n",
            self.cluster, self.nodes, self.entries, self.to_import
        ));
        text.push_str(match self.is_ready() {
            true => "nothing is missing: ipledger-sync cut-over open\n",
            false => "not ready\n",
        });
        text
    }
}

/// A duration for people: `3m 12s`.
pub(super) fn spell(seconds: i64) -> String {
    format!("{:#}", SignedDuration::from_secs(seconds))
}
