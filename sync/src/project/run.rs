//! The service: follows the ledger and the objects, and puts right what differs.

use std::sync::Arc;
use std::time::Duration;

use futures_util::{StreamExt as _, stream};
use ipledger_client::asynchronous::Client as Ledger;
use ipledger_client::types::SpaceHead;
use jiff::Timestamp;
use kube::api::DynamicObject;
use kube::runtime::watcher;
use tokio::sync::watch;
use tokio::time::{Instant, sleep, sleep_until};
use tokio_util::sync::CancellationToken;

use super::ObjectKind;
use super::follow::{FollowError, Follower, positions_behind};
use super::metrics::ProjectionMetrics;
use super::pass::{Hands, PassReport};
use super::permission::{PermissionError, Permit, ProjectionMode};
use super::render::render;
use super::store::ObjectStore;
use super::tell::{Teller, Told};
use super::writer::{WriteError, Writer};
use crate::clock::SharedClock;

/// How long a long poll of the ledger waits.
const POLL: Duration = Duration::from_secs(50);
/// Pauses after failures: the first, and the longest.
const PAUSES: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(30));
/// How often it is looked whether writing is allowed by now.
const WITHHELD_PAUSE: Duration = Duration::from_secs(15);
/// How often the lag is shown while there is one.
const LAG_PERIOD: Duration = Duration::from_secs(1);

/// What the projection is set to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProjectionSettings {
    /// The cluster's configured name.
    pub cluster: String,
    /// Namespace of the objects.
    pub namespace: String,
    /// Whether to write.
    pub mode: ProjectionMode,
    /// How long changes are gathered before a pass is made for them.
    pub settle: Duration,
    /// The least time from the end of one pass to the next: a storm of events becomes a pass per
    /// interval, and a pass writes each object that differs once or twice.
    pub interval: Duration,
    /// How many writes are on their way at one time.
    pub writes_at_once: usize,
}

impl ProjectionSettings {
    /// The defaults, for a cluster: objects in `kube-system`, where whereabouts keeps them.
    #[must_use]
    pub fn new(cluster: &str) -> ProjectionSettings {
        ProjectionSettings {
            cluster: cluster.to_owned(),
            namespace: "kube-system".to_owned(),
            mode: ProjectionMode::Auto,
            settle: Duration::from_millis(200),
            interval: Duration::from_secs(1),
            writes_at_once: 16,
        }
    }
}

/// What the projection takes from outside.
#[derive(Clone)]
pub struct ProjectionWorld {
    /// Speaks to the cluster.
    pub kube: kube::Client,
    /// Speaks to the ledger.
    pub ledger: Arc<Ledger>,
    /// Tells the time.
    pub clock: SharedClock,
    /// What is counted.
    pub metrics: ProjectionMetrics,
    /// Name of this replica, for Events.
    pub instance: String,
}

/// Why a pass could not be made.
#[derive(Debug, thiserror::Error)]
pub enum ProjectError {
    /// The ledger cannot be read.
    #[error("the ledger cannot be read: {0}")]
    Follow(#[from] FollowError),
    /// It cannot be told whether writing is allowed.
    #[error(transparent)]
    Permission(#[from] PermissionError),
    /// The objects cannot be listed: kind, why.
    #[error("{0} objects cannot be listed: {1}")]
    List(&'static str, WriteError),
}

impl ProjectError {
    /// A fixed word for metrics and logs.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            ProjectError::Follow(error) => error.kind(),
            ProjectError::Permission(error) => error.kind(),
            ProjectError::List(_, error) => error.kind(),
        }
    }
}

impl From<ipledger_client::ClientError> for ProjectError {
    fn from(error: ipledger_client::ClientError) -> Self {
        ProjectError::Follow(FollowError::Client(error))
    }
}

/// Shows the holds of one cluster as objects.
pub struct Projector {
    settings: ProjectionSettings,
    world: ProjectionWorld,
    writer: Writer,
    teller: Teller,
    follower: Follower,
    store: ObjectStore,
    told: Told,
}

impl Projector {
    /// Nothing is read or written yet.
    #[must_use]
    pub fn new(settings: ProjectionSettings, world: ProjectionWorld) -> Projector {
        let clock = Arc::clone(&world.clock);
        Projector {
            writer: Writer::new(&world.kube, &settings.namespace),
            teller: Teller::new(&world.kube, &settings.namespace, &world.instance, clock),
            follower: Follower::new(&settings.cluster, Arc::clone(&world.clock)),
            store: ObjectStore::default(),
            told: Told::default(),
            settings,
            world,
        }
    }

    /// Runs until the shutdown. Two of them at one time do no harm, but undo each other's freshness:
    /// let the one with the Lease run.
    pub async fn run(mut self, shutdown: CancellationToken) {
        let (heads_sender, mut heads) = watch::channel(None);
        let poll = poll(
            Arc::clone(&self.world.ledger),
            self.settings.cluster.clone(),
            heads_sender,
            self.world.metrics.clone(),
        );
        let polling = shutdown.run_until_cancelled(poll);
        let working = shutdown.run_until_cancelled(self.work(&mut heads));
        tokio::join!(polling, working);
    }

    async fn work(&mut self, heads: &mut watch::Receiver<Option<Vec<SpaceHead>>>) {
        let pools = self.writer.watch(ObjectKind::Pool);
        let reservations = self.writer.watch(ObjectKind::Reservation);
        let mut objects = stream::select(Box::pin(pools), Box::pin(reservations));
        let mut agenda = Agenda::default();
        loop {
            let ready = self.store.is_complete() && heads.borrow().is_some();
            tokio::select! {
                Some((kind, event)) = objects.next() => {
                    if self.take(kind, event) {
                        agenda.add(self.settings.settle, self.world.clock.now());
                    }
                }
                Ok(()) = heads.changed() => {
                    agenda.add(self.settings.settle, self.world.clock.now());
                }
                () = agenda.wait(), if ready => {
                    let known = heads.borrow_and_update().clone().unwrap_or_default();
                    let pause = self.turn(&known, &mut agenda).await;
                    agenda.rest(pause);
                }
                () = sleep(LAG_PERIOD), if agenda.behind_since.is_some() => {}
            }
            let known = heads.borrow().clone().unwrap_or_default();
            self.show_lag(&known, &agenda);
        }
    }

    /// `true` if a pass is needed.
    fn take(
        &mut self,
        kind: ObjectKind,
        event: watcher::Result<watcher::Event<DynamicObject>>,
    ) -> bool {
        let subject = format!("watch {}", kind.as_str());
        match event {
            Ok(event) => {
                // A list that begins may fail yet.
                let answered = !matches!(event, watcher::Event::Init);
                if answered && self.told.is_over(&subject) {
                    tracing::info!(kind = kind.as_str(), "the objects can be watched again");
                }
                self.store.take(kind, &event)
            }
            Err(error) => {
                self.world.metrics.failed("watch");
                if self.told.is_news(&subject, &error.to_string()) {
                    tracing::warn!(
                        kind = kind.as_str(),
                        "the objects cannot be watched: {error}"
                    );
                }
                false
            }
        }
    }

    /// One pass with what is logged about it; gives the pause until the next one.
    async fn turn(&mut self, heads: &[SpaceHead], agenda: &mut Agenda) -> Duration {
        let started = Instant::now();
        agenda.begin();
        match self.pass(heads).await {
            Err(error) => {
                self.world.metrics.failed(error.kind());
                if self.told.is_news("pass", &error.to_string()) {
                    tracing::warn!(kind = error.kind(), "the projection waits: {error}");
                }
                agenda.again_in(Duration::ZERO);
                agenda.pause_after_failure()
            }
            Ok(report) => {
                if self.told.is_over("pass") {
                    tracing::info!("the projection goes on");
                }
                self.log(&report, started.elapsed());
                if let Some(withheld) = &report.withheld {
                    tracing::debug!(kind = withheld.kind(), "nothing was written");
                    // The gate moves with an event of the ledger; the rest has to be looked at.
                    agenda.again_in(WITHHELD_PAUSE);
                    agenda.behind_since = None;
                    return self.settings.interval;
                }
                if !report.is_settled() {
                    agenda.again_in(Duration::ZERO);
                    return match report.failed {
                        0 => self.settings.interval,
                        _ => agenda.pause_after_failure(),
                    };
                }
                agenda.settled();
                self.settings.interval
            }
        }
    }

    fn log(&mut self, report: &PassReport, took: Duration) {
        let took_ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
        match &report.withheld {
            Some(withheld) => {
                let text = format!("{withheld} ({} objects differ)", report.differing);
                if self.told.is_news("withheld", &text) {
                    tracing::warn!(kind = withheld.kind(), "nothing is written: {text}");
                }
            }
            None => {
                if self.told.is_over("withheld") {
                    tracing::info!("objects are written from now on");
                }
                if report.writes > 0 {
                    let (writes, differing) = (report.writes, report.differing);
                    tracing::info!(writes, differing, took_ms, "objects show the ledger");
                }
            }
        }
    }

    /// Reads what is new in the ledger, and puts right what differs.
    async fn pass(&mut self, heads: &[SpaceHead]) -> Result<PassReport, ProjectError> {
        self.follower.catch_up(&self.world.ledger, heads).await?;
        self.put_right(false).await
    }

    async fn put_right(&mut self, is_granted: bool) -> Result<PassReport, ProjectError> {
        let Some(reading) = self.follower.reading() else {
            return Ok(PassReport::default());
        };
        let desired = render(reading);
        let permit = match is_granted {
            true => Permit::Granted,
            false => Permit::Ask {
                mode: self.settings.mode,
                cluster: &self.settings.cluster,
                ledger: &self.world.ledger,
                kube: &self.world.kube,
            },
        };
        let mut hands = Hands {
            writer: &self.writer,
            teller: &self.teller,
            metrics: &self.world.metrics,
            store: &mut self.store,
            told: &mut self.told,
            writes_at_once: self.settings.writes_at_once,
        };
        Ok(hands.put_right(&desired, &permit).await?)
    }

    /// Lists the objects, reads the ledger, and makes one pass, whatever the setting and the gate
    /// say. For the cut-over, which has asked for permission itself.
    ///
    /// # Errors
    /// See [`ProjectError`].
    pub async fn settle(&mut self) -> Result<PassReport, ProjectError> {
        self.read_everything().await?;
        self.put_right(true).await
    }

    /// Reads everything and says what differs; nothing is written.
    ///
    /// # Errors
    /// See [`ProjectError`].
    pub async fn compare(&mut self) -> Result<super::Comparison, ProjectError> {
        self.read_everything().await?;
        let objects = self.store.objects();
        Ok(self
            .follower
            .reading()
            .map_or_else(super::Comparison::default, |reading| {
                super::Comparison::of(reading, objects)
            }))
    }

    async fn read_everything(&mut self) -> Result<(), ProjectError> {
        self.list().await?;
        let ledger = &self.world.ledger;
        let cluster = &self.settings.cluster;
        let changes = ledger.changes(cluster, None, Duration::ZERO).await?;
        Ok(self.follower.catch_up(ledger, &changes.heads).await?)
    }

    async fn list(&mut self) -> Result<(), ProjectError> {
        for kind in [ObjectKind::Pool, ObjectKind::Reservation] {
            let store = &mut self.store;
            store.take(kind, &watcher::Event::Init);
            self.writer
                .list(kind, |object| {
                    store.take(kind, &watcher::Event::InitApply(object));
                })
                .await
                .map_err(|error| ProjectError::List(kind.as_str(), error))?;
            store.take(kind, &watcher::Event::InitDone);
        }
        Ok(())
    }

    fn show_lag(&self, heads: &[SpaceHead], agenda: &Agenda) {
        let metrics = &self.world.metrics;
        let seconds = agenda.behind_since.map_or(0.0, |since| {
            self.world.clock.now().duration_since(since).as_secs_f64()
        });
        metrics.lag_seconds.set(seconds);
        let behind = positions_behind(self.follower.reading(), heads);
        metrics
            .lag_positions
            .set(i64::try_from(behind).unwrap_or(i64::MAX));
    }
}

/// When the next pass is due.
#[derive(Debug, Default)]
struct Agenda {
    due: Option<Instant>,
    /// No pass before this.
    not_before: Option<Instant>,
    /// When the oldest change that is not shown yet was learned of.
    behind_since: Option<Timestamp>,
    failures: u32,
}

impl Agenda {
    fn add(&mut self, settle: Duration, now: Timestamp) {
        self.again_in(settle);
        self.behind_since.get_or_insert(now);
    }

    /// There is something left to do, at the latest after this.
    fn again_in(&mut self, pause: Duration) {
        let due = Instant::now() + pause;
        self.due = Some(self.due.map_or(due, |known| known.min(due)));
    }

    fn settled(&mut self) {
        self.behind_since = None;
        self.failures = 0;
    }

    /// A pass begins: what comes from now on is for the next one.
    fn begin(&mut self) {
        self.due = None;
    }

    fn rest(&mut self, pause: Duration) {
        self.not_before = Some(Instant::now() + pause);
    }

    fn pause_after_failure(&mut self) -> Duration {
        let pause = PAUSES.0 * 2u32.pow(self.failures.min(5));
        self.failures += 1;
        pause.min(PAUSES.1)
    }

    /// Until the next pass is due; for ever if none is.
    async fn wait(&self) {
        match self.due {
            None => std::future::pending().await,
            Some(due) => sleep_until(self.not_before.map_or(due, |rest| due.max(rest))).await,
        }
    }
}

/// Tells the heads of the cluster's spaces whenever they move.
async fn poll(
    ledger: Arc<Ledger>,
    cluster: String,
    heads: watch::Sender<Option<Vec<SpaceHead>>>,
    metrics: ProjectionMetrics,
) {
    let mut since: Option<String> = None;
    let mut failures = 0;
    loop {
        match ledger.changes(&cluster, since.as_deref(), POLL).await {
            Ok(page) => {
                if failures > 0 {
                    tracing::info!("the ledger can be followed again");
                }
                failures = 0;
                since = Some(page.next);
                if page.changed || heads.borrow().is_none() {
                    heads.send_replace(Some(page.heads));
                }
            }
            Err(error) => {
                metrics.failed("ledger_unavailable");
                if failures == 0 {
                    tracing::warn!("the ledger cannot be followed: {error}");
                }
                let pause = PAUSES.0 * 2u32.pow(failures.min(5));
                failures += 1;
                sleep(pause.min(PAUSES.1)).await;
            }
        }
    }
}
