//! The service: passes at the start, on events, on a period, at due moments, and at once when
//! somebody waits for an address; as long as this replica has the Lease.

mod agenda;
mod report;
mod session;
mod wakeups;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Context as _;
use kube::Client;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::clock::SharedClock;
use crate::config::{LookConfig, RunConfig};
use crate::lease::{Candidate, Held};
use crate::metrics::Metrics;
use crate::observe::DirectReader;
use crate::pass::{Outside, PassIds};
use crate::reclaim::ReclaimState;
use crate::rights;
use crate::serve::{self, Role};
use crate::telling::Teller;
use report::Report;
use session::Session;

/// What the service takes from outside.
#[derive(Clone)]
pub struct World {
    /// Speaks to the cluster.
    pub kube: Client,
    /// Speaks to the ledger.
    pub ledger: Arc<ipledger_client::asynchronous::Client>,
    /// Tells the time.
    pub clock: SharedClock,
    /// Makes the ids of passes.
    pub ids: PassIds,
    /// What is counted.
    pub metrics: Metrics,
}

/// Runs until the shutdown.
///
/// # Errors
/// What only a person can mend, found at the start: the address is taken, a right is missing,
/// the Lease cannot be.
pub async fn run(
    config: RunConfig,
    world: World,
    shutdown: CancellationToken,
) -> anyhow::Result<()> {
    let listener = TcpListener::bind(config.listen)
        .await
        .with_context(|| format!("cannot listen on {}", config.listen))?;
    let state = ReclaimState::new(world.metrics.clone());
    let annotations = {
        let state = state.clone();
        Arc::new(move || state.annotations())
    };
    let (candidate, held) = Candidate::new(
        world.kube.clone(),
        config.lease.clone(),
        Arc::clone(&world.clock),
        annotations,
    );
    let has_begun = Arc::new(AtomicBool::new(false));
    let shown = serve::Shown {
        metrics: world.metrics.clone(),
        reclaim: state.clone(),
        role: role(Arc::clone(&has_begun), held.clone()),
    };
    let server = tokio::spawn(serve::serve(listener, shown, shutdown.clone()));
    let begun = begin(config.clone(), world.clone(), candidate, shutdown.clone()).await;
    let candidate = match begun {
        Ok(candidate) => candidate,
        Err(error) => {
            shutdown.cancel();
            server.await.context("the metrics server failed")??;
            return Err(error);
        }
    };
    has_begun.store(true, Ordering::Relaxed);
    let election = tokio::spawn(candidate.run(shutdown.clone()));
    let report = Report {
        metrics: world.metrics.clone(),
        reclaim: state,
        teller: Teller::new(world.kube.clone(), &config.lease),
    };
    let session = Session {
        outside: world.outside(&config.look),
        config,
        kube: world.kube,
        metrics: world.metrics,
        report,
        held,
    };
    session.run(shutdown).await;
    election.await.context("the election failed")?;
    server.await.context("the metrics server failed")?
}

fn role(has_begun: Arc<AtomicBool>, held: Held) -> Box<dyn Fn() -> Role + Send + Sync> {
    Box::new(move || match has_begun.load(Ordering::Relaxed) {
        false => Role::Starting,
        true if held.left().is_zero() => Role::StandingBy,
        true => Role::Acting,
    })
}

impl World {
    /// What passes take from it.
    pub(crate) fn outside(&self, look: &LookConfig) -> Outside {
        let reader = DirectReader::new(
            self.kube.clone(),
            Arc::clone(&self.clock),
            look.limits,
            self.metrics.clone(),
        );
        Outside {
            ledger: Arc::clone(&self.ledger),
            reader: Arc::new(reader),
            clock: Arc::clone(&self.clock),
            ids: Arc::clone(&self.ids),
        }
    }
}

/// Asks for the rights and looks at the Lease, until the API server answers.
async fn begin(
    config: RunConfig,
    world: World,
    mut candidate: Candidate,
    shutdown: CancellationToken,
) -> anyhow::Result<Candidate> {
    let mut told = false;
    let pause = config.lease.duration / 10;
    loop {
        match try_to_begin(&config, &world.kube, &mut candidate).await? {
            None => return Ok(candidate),
            Some(reason) => {
                if !told {
                    tracing::warn!(reason, "the API server is out of reach; trying again");
                    told = true;
                }
            }
        }
        let waited = shutdown.run_until_cancelled(tokio::time::sleep(pause));
        if waited.await.is_none() {
            return Ok(candidate);
        }
    }
}

/// Why it must be tried again; `None` if all is well.
async fn try_to_begin(
    config: &RunConfig,
    kube: &Client,
    candidate: &mut Candidate,
) -> anyhow::Result<Option<String>> {
    let needed = [
        rights::to_look(),
        rights::to_lead(&config.lease),
        rights::to_project(&config.projection.namespace),
    ]
    .concat();
    let missing = match rights::missing(kube, &needed).await {
        Ok(missing) => missing,
        Err(reason) => return Ok(Some(reason)),
    };
    if let Some(complaint) = missing.complaint() {
        anyhow::bail!(complaint);
    }
    for right in missing.optional {
        tracing::warn!(right, "a right is missing; what it tells is not told");
    }
    match candidate.first_round().await {
        Ok(()) => Ok(None),
        Err(error) if error.is_final() => Err(error.into()),
        Err(error) => Ok(Some(error.to_string())),
    }
}
