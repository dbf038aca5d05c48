//! The ledger as others see it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use prometheus_client::registry::Registry;
use sqlx::postgres::{PgConnectOptions, PgPool, PgPoolOptions};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::guard;
use super::lane::{Lane, Pending, Progress};
use super::metrics::Metrics;
use super::subjects;
use super::wake::{self, Waker};
use super::watch::Watch;
use crate::answer::{Answer, Imported};
use crate::clock::SharedClock;
use crate::command::{Command, Import};
use crate::error::Error;

/// How long a reader waits for a connection.
const ACQUIRE: Duration = Duration::from_secs(5);

/// How the ledger uses its database.
#[derive(Debug, Clone)]
pub struct StoreConfig {
    /// `postgres://…`; secrets in it are never logged.
    pub database_url: String,
    /// Requests that may wait for the lane; more are told to come back.
    pub max_waiting: usize,
    /// Requests decided together at most. Beyond a few dozen the gain is small.
    pub batch_max: usize,
    /// Connections for reading.
    pub read_connections: u32,
}

impl StoreConfig {
    /// The defaults for a database.
    #[must_use]
    pub fn new(database_url: &str) -> StoreConfig {
        StoreConfig {
            database_url: database_url.to_owned(),
            max_waiting: 4096,
            batch_max: 256,
            read_connections: 8,
        }
    }
}

/// A handle on the ledger; clones share the lane and the pool.
#[derive(Clone)]
pub struct Ledger {
    pub(super) reads: PgPool,
    /// Its own connection: however busy the readers are, readiness is told.
    ready: PgPool,
    requests: mpsc::Sender<Pending>,
    closing: CancellationToken,
    lane: Arc<tokio::sync::Mutex<Option<JoinHandle<()>>>>,
    metrics: Metrics,
    max_waiting: usize,
    /// Where it is told that something is new.
    pub(super) watch: Arc<Watch>,
    waker: Waker,
    /// What runs beside the lane ends with the last handle.
    _beside: Arc<DropGuard>,
}

impl std::fmt::Debug for Ledger {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ledger")
            .field("max_waiting", &self.max_waiting)
            .finish_non_exhaustive()
    }
}

impl Ledger {
    /// Connect, make sure of schema and guard, load the memory, start the lane.
    ///
    /// # Errors
    /// [`Error::Unavailable`] without a database, [`Error::Guard`] if it is not set up as it
    /// must be.
    pub async fn open(config: &StoreConfig, clock: SharedClock) -> Result<Ledger, Error> {
        let reads = connect_reads(config).await?;
        let ready = PgPoolOptions::new()
            .max_connections(1)
            .acquire_timeout(ACQUIRE)
            .connect_lazy_with(read_options(config)?.application_name("ipledger readiness"));
        guard::assert(&reads).await?;
        let metrics = Metrics::default();
        let lane = Lane::open(
            &config.database_url,
            clock,
            config.batch_max,
            metrics.clone(),
        )
        .await?;
        let (requests, waiting) = mpsc::channel(config.max_waiting);
        let closing = CancellationToken::new();
        let task = tokio::spawn(lane.run(waiting, closing.clone()));
        let beside = closing.child_token();
        let watch = Arc::new(Watch::default());
        let (waker, writer) = wake::channel(reads.clone(), Arc::clone(&watch), metrics.clone());
        tokio::spawn(writer.run(beside.clone()));
        tokio::spawn(subjects::run(reads.clone(), beside.clone()));
        tokio::spawn(Arc::clone(&watch).look(reads.clone(), beside.clone()));
        Ok(Ledger {
            reads,
            ready,
            requests,
            closing,
            lane: Arc::new(tokio::sync::Mutex::new(Some(task))),
            metrics,
            max_waiting: config.max_waiting,
            watch,
            waker,
            _beside: Arc::new(beside.drop_guard()),
        })
    }

    /// Have a command decided and, if it comes to events, appended. An answer means committed.
    ///
    /// # Errors
    /// [`Error::Refused`] with the reason; [`Error::Overloaded`], [`Error::DeadlinePassed`] and
    /// [`Error::Unavailable`] when nothing changed; [`Error::OutcomeUnknown`] when that is not
    /// known: the same command again finds the truth.
    pub async fn execute(&self, command: Command, wait: Duration) -> Result<Answer, Error> {
        // Only a pod that really waits for an address is worth a wake-up.
        let wakes = matches!(&command, Command::Allocate(allocate) if !allocate.dry_run);
        let result = self.enqueue(command, None, wait).await;
        match &result {
            Ok(_) => self.watch.nudge(),
            Err(Error::Refused(refusal)) if wakes => self.waker.note(refusal),
            Err(_) => {}
        }
        result
    }

    pub(super) async fn enqueue(
        &self,
        command: Command,
        suspects: Option<(Vec<serde_json::Value>, Vec<serde_json::Value>)>,
        wait: Duration,
    ) -> Result<Answer, Error> {
        let progress = Arc::new(Progress::default());
        let (reply, answer) = oneshot::channel();
        let pending = Pending {
            command,
            suspects,
            deadline: Instant::now() + wait,
            progress: Arc::clone(&progress),
            reply,
        };
        // The place in the queue is the permit: who waits costs memory, not a connection.
        self.requests
            .try_send(pending)
            .map_err(|error| match error {
                mpsc::error::TrySendError::Full(_) => Error::Overloaded {
                    waiting: self.max_waiting,
                },
                mpsc::error::TrySendError::Closed(_) => Error::ShuttingDown,
            })?;
        match tokio::time::timeout(wait, answer).await {
            Ok(Ok(answer)) => answer,
            Ok(Err(_)) => Err(Error::OutcomeUnknown {
                reason: "the lane ended".to_owned(),
            }),
            Err(_) if progress.abandon() => Err(Error::DeadlinePassed),
            Err(_) => Err(Error::OutcomeUnknown {
                reason: "the caller's deadline passed while it was being applied".to_owned(),
            }),
        }
    }

    /// Record a hold that another address manager made, unless this very hold was imported
    /// before and has ended since.
    ///
    /// # Errors
    /// As [`Ledger::execute`].
    pub async fn import(&self, mut import: Import, wait: Duration) -> Result<Imported, Error> {
        import.ended_before = self.ended_import(&import).await?;
        match self
            .execute(Command::Import(Box::new(import)), wait)
            .await?
        {
            Answer::Imported(imported) => Ok(imported),
            other => Err(unexpected(&other)),
        }
    }

    /// Whether an allocate could be served: database, schema, guard.
    ///
    /// # Errors
    /// What is missing.
    pub async fn ready(&self) -> Result<(), Error> {
        if self.requests.is_closed() {
            return Err(Error::ShuttingDown);
        }
        guard::assert_running(&self.ready).await
    }

    /// Show the lane's counters.
    pub fn register_metrics(&self, registry: &mut Registry) {
        self.metrics.register(registry);
    }

    /// Answer everything accepted, then stop. Other handles are told that the service stops.
    pub async fn close(self) {
        let Ledger {
            reads,
            ready,
            closing,
            lane,
            ..
        } = self;
        closing.cancel();
        let task = lane.lock().await.take();
        if let Some(task) = task
            && let Err(error) = task.await
        {
            tracing::error!(error = %error, "the lane ended badly");
        }
        reads.close().await;
        ready.close().await;
    }
}

/// An answer of another kind than the command's: a bug, told and not hidden.
pub(super) fn unexpected(answer: &Answer) -> Error {
    Error::Database(format!("answer of another kind: {answer:?}"))
}

fn read_options(config: &StoreConfig) -> Result<PgConnectOptions, Error> {
    super::tls::target(&config.database_url)?;
    let options: PgConnectOptions = config
        .database_url
        .parse()
        .map_err(|error: sqlx::Error| Error::Guard(format!("database url: {error}")))?;
    Ok(options.options([
        ("statement_timeout", "10s"),
        // Compiling a statement takes longer than any page may.
        ("jit", "off"),
        ("default_transaction_read_only", "on"),
    ]))
}

async fn connect_reads(config: &StoreConfig) -> Result<PgPool, Error> {
    PgPoolOptions::new()
        .max_connections(config.read_connections)
        .acquire_timeout(ACQUIRE)
        .connect_with(read_options(config)?.application_name("ipledger reads"))
        .await
        .map_err(Error::from)
}
