//! The steps of a cut-over.

use std::sync::Arc;
use std::time::Duration;

use ipledger_client::asynchronous::Client as Ledger;
use ipledger_client::types::{Gate, GateRequest};
use ipledger_client::{Budget, ClientError};
use serde::Serialize;

use super::incumbent::{Workload, incumbent_workloads};
use super::status::{Missing, Status, closed_for, spell, status};
use crate::clock::SharedClock;
use crate::import::{LiveError, Report, SubmitError, submit};
use crate::project::{
    PassReport, PermissionError, ProjectError, ProjectionMetrics, ProjectionSettings,
    ProjectionWorld, Projector, Withheld, check_identity, cluster_state, kube_system_uid,
};

/// How long the ledger may take for one answer.
pub(super) const PATIENCE: Duration = Duration::from_secs(60);
/// How often the objects are written anew while releases go on.
const MOST_PASSES: usize = 10;

/// One cluster, and how it is looked at.
pub struct CutOver {
    /// The cluster's configured name.
    pub cluster: String,
    /// Namespace of whereabouts' objects.
    pub namespace: String,
    /// Labels of the pods that install the plugin.
    pub plugin_selector: String,
    /// Import entries whose pod is gone as well.
    pub keep_gone: bool,
    /// Whom to speak to.
    pub world: CutOverWorld,
}

/// What comes from outside.
pub struct CutOverWorld {
    /// Speaks to the cluster.
    pub kube: kube::Client,
    /// Speaks to the ledger.
    pub ledger: Arc<Ledger>,
    /// Tells the time.
    pub clock: SharedClock,
}

/// Why a step was not made.
#[derive(Debug, thiserror::Error)]
pub enum CutOverError {
    /// The ledger cannot be asked, or refuses.
    #[error("the ledger: {0}")]
    Ledger(#[from] ClientError),
    /// The cluster is not the one that the ledger knows under this name.
    #[error(transparent)]
    Identity(Withheld),
    /// The cluster cannot be read.
    #[error(transparent)]
    Permission(#[from] PermissionError),
    /// The objects cannot be read.
    #[error(transparent)]
    Read(#[from] LiveError),
    /// Not every hold could be given to the ledger.
    #[error(transparent)]
    Submit(#[from] SubmitError),
    /// The objects cannot be written.
    #[error(transparent)]
    Project(#[from] ProjectError),
    /// The gate must be closed first.
    #[error("the gate of cluster {0} is not closed; close it first: ipledger-sync cut-over close")]
    GateNotClosed(String),
    /// whereabouts runs already and may be using the objects.
    #[error("{0} runs already: the objects are not written any more while it may use them")]
    IncumbentRuns(String),
    /// The objects would not settle: how many differ still.
    #[error("{0} objects differ still; the log says why. Nothing was handed over")]
    NotSettled(usize),
}

impl CutOverError {
    /// A fixed word for tests and logs.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            CutOverError::Ledger(error) => error.kind(),
            CutOverError::Identity(error) => error.kind(),
            CutOverError::Permission(error) => error.kind(),
            CutOverError::Read(error) => error.kind(),
            CutOverError::Submit(error) => error.kind(),
            CutOverError::Project(error) => error.kind(),
            CutOverError::GateNotClosed(_) => "gate_not_closed",
            CutOverError::IncumbentRuns(_) => "incumbent_runs",
            CutOverError::NotSettled(_) => "not_settled",
        }
    }
}

pub(super) fn kube_failed(what: &'static str) -> impl Fn(kube::Error) -> CutOverError {
    move |error| CutOverError::Permission(PermissionError::Kube(what, Box::new(error)))
}

/// What came of opening the gate.
#[derive(Debug, Clone, Serialize)]
pub struct Opened {
    /// The gate was opened.
    pub opened: bool,
    /// What was looked at before.
    pub status: Status,
    /// The final import; absent if something else was missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub import: Option<Report>,
    /// For how long ADDs were turned away, in seconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub closed_for_seconds: Option<i64>,
}

/// What was handed back to whereabouts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct HandedBack {
    /// Positions that the objects show, by space.
    pub as_of: std::collections::BTreeMap<String, u64>,
    /// How many objects there are.
    pub objects: usize,
    /// How many writes it took.
    pub writes: usize,
}

impl Opened {
    /// For people.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = self.import.as_ref().map(Report::text).unwrap_or_default();
        if !self.opened {
            return text + &self.status.text();
        }
        let cluster = &self.status.cluster;
        text.push_str(&format!("the gate of cluster {cluster} is open\n"));
        if let Some(seconds) = self.closed_for_seconds {
            text.push_str(&format!("ADDs were turned away for {}\n", spell(seconds)));
        }
        text
    }
}

impl HandedBack {
    /// For people.
    #[must_use]
    pub fn text(&self) -> String {
        let positions = self.as_of.iter();
        let positions: Vec<String> = positions
            .map(|(space, seq)| format!("{space}@{seq}"))
            .collect();
        format!(
            "{} objects show the ledger as of {} ({} writes)\nthe nodes may be given back to \
             whereabouts now; keep the gate closed\n",
            self.objects,
            positions.join(", "),
            self.writes
        )
    }
}

/// Closes the gate: no ADD is answered with an address from now on. The name of the cluster is
/// bound to its UID if it was not.
///
/// # Errors
/// See [`CutOverError`].
pub async fn close(cut_over: &CutOver, reason: &str) -> Result<Gate, CutOverError> {
    set_gate(cut_over, true, reason).await
}

async fn set_gate(cut_over: &CutOver, closed: bool, reason: &str) -> Result<Gate, CutOverError> {
    let CutOver { cluster, world, .. } = cut_over;
    let uid = kube_system_uid(&world.kube).await?;
    let budget = Budget::within(PATIENCE);
    world.ledger.bind_cluster(cluster, &uid, budget).await?;
    let request = GateRequest {
        closed,
        reason: reason.to_owned(),
        cluster_uid: Some(uid),
    };
    let response = world.ledger.set_gate(cluster, &request, budget).await?;
    Ok(response.gate)
}

/// Imports what the objects hold now. It can be repeated, before the cut-over as well.
///
/// # Errors
/// See [`CutOverError`].
pub async fn import_now(
    cut_over: &CutOver,
    progress: impl Fn(usize, usize),
) -> Result<Report, CutOverError> {
    let analysis = super::status::analysis(cut_over).await?;
    let all = analysis.holds.len();
    let ledger = &cut_over.world.ledger;
    let submitted = submit(&analysis.holds, ledger, |done| progress(done, all)).await?;
    Ok(Report::new(&cut_over.cluster, analysis, Some(submitted)))
}

/// Imports what the objects hold and opens the gate, if nothing is missing. With `force` it opens
/// whatever is missing; what may follow is an address on two pods.
///
/// # Errors
/// See [`CutOverError`]. That something is missing is no error; see [`Opened`].
pub async fn open(
    cut_over: &CutOver,
    reason: &str,
    force: bool,
    progress: impl Fn(usize, usize),
) -> Result<Opened, CutOverError> {
    let mut status = status(cut_over).await?;
    let mut opened = Opened {
        opened: false,
        closed_for_seconds: None,
        import: None,
        status: status.clone(),
    };
    if !status.is_ready() && !force {
        return Ok(opened);
    }
    // From here on nobody writes the objects, so this import is the final one.
    let report = import_now(cut_over, progress).await?;
    let refused = report
        .submitted
        .iter()
        .flat_map(|submitted| &submitted.refused);
    status.missing.extend(refused.map(|refused| {
        let what = format!(
            "{} from {}: {}",
            refused.address, refused.from, refused.detail
        );
        Missing::new(
            "import_refused",
            what,
            "release the hold in its way, or correct the entry",
        )
    }));
    opened.import = Some(report);
    opened.status = status;
    if !opened.status.is_ready() && !force {
        return Ok(opened);
    }
    let before = opened.status.gate.clone();
    set_gate(cut_over, false, reason).await?;
    opened.opened = true;
    let now = cut_over.world.clock.now();
    opened.closed_for_seconds = before.as_ref().and_then(|gate| closed_for(gate, now));
    Ok(opened)
}

/// Writes the objects one last time, so that whereabouts can go on from them. The gate must be
/// closed, and stay so.
///
/// # Errors
/// See [`CutOverError`].
pub async fn hand_back(cut_over: &CutOver) -> Result<HandedBack, CutOverError> {
    let CutOver { cluster, world, .. } = cut_over;
    let state = cluster_state(cluster, &world.ledger).await?;
    check_identity(cluster, state.as_ref(), &world.kube)
        .await?
        .map_err(CutOverError::Identity)?;
    if !state.is_some_and(|state| state.gate.closed) {
        return Err(CutOverError::GateNotClosed(cluster.clone()));
    }
    let workloads = incumbent_workloads(&world.kube)
        .await
        .map_err(kube_failed("Deployments and DaemonSets"))?;
    if let Some(workload) = workloads.first().map(Workload::to_string) {
        return Err(CutOverError::IncumbentRuns(workload));
    }
    let mut projector = projector(cut_over);
    let (mut writes, mut last) = (0, PassReport::default());
    for _ in 0..MOST_PASSES {
        last = projector.settle().await?;
        writes += last.writes;
        // The reading of the next pass is later: it shows whether this one was the last word.
        if last.is_settled() && last.writes == 0 {
            let compared = projector.compare().await?;
            if compared.is_equal() {
                return Ok(HandedBack {
                    as_of: compared.as_of,
                    objects: compared.objects,
                    writes,
                });
            }
        }
    }
    Err(CutOverError::NotSettled(last.differing.max(1)))
}

fn projector(cut_over: &CutOver) -> Projector {
    let settings = ProjectionSettings {
        namespace: cut_over.namespace.clone(),
        ..ProjectionSettings::new(&cut_over.cluster)
    };
    let world = ProjectionWorld {
        kube: cut_over.world.kube.clone(),
        ledger: Arc::clone(&cut_over.world.ledger),
        clock: Arc::clone(&cut_over.world.clock),
        metrics: ProjectionMetrics::default(),
        instance: "cut-over".to_owned(),
    };
    Projector::new(settings, world)
}
