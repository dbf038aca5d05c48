//! The writer lane: takes what is waiting, without a timer, and decides it together.
//!
//! While the database works on one batch the next is decided and sent behind it, on the heads
//! that the first will leave. If the first fails, the second finds other heads, changes nothing,
//! and both are decided again.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::{Duration, Instant};

use futures_util::StreamExt;
use futures_util::stream::FuturesOrdered;
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use super::batch::Landing;
use super::catch_up::{Followed, anchors_stand, catch_up};
use super::connection::Connection;
use super::load;
use super::metrics::Metrics;
use crate::answer::Answer;
use crate::clock::SharedClock;
use crate::command::Command;
use crate::error::Error;
use crate::state::State;

/// How often a lane looks at what other writers did, however busy it is: counts and order stay
/// fresh also in spaces that it writes nothing to.
const LOOK_AROUND: Duration = Duration::from_secs(1);
/// Batches on their way at once. A third would only make the batches smaller.
const FLIGHTS: usize = 2;
/// After another writer was first, the lane sends one batch at a time for so long: a second one
/// would be in vain too often.
const CONTENDED: Duration = Duration::from_millis(50);

/// Batches on their way, the first sent in front.
pub(super) type Flights = FuturesOrdered<Pin<Box<dyn Future<Output = Landing> + Send>>>;

/// A request on its way to the lane.
pub(super) struct Pending {
    pub(super) command: Command,
    /// Rare notes that go with it: suspects to note and to clear.
    pub(super) suspects: Option<(Vec<serde_json::Value>, Vec<serde_json::Value>)>,
    pub(super) deadline: Instant,
    pub(super) progress: Arc<Progress>,
    pub(super) reply: oneshot::Sender<Result<Answer, Error>>,
}

/// Whether the lane has begun with a request: decides between "not applied" and "unknown".
#[derive(Debug, Default)]
pub(super) struct Progress(AtomicU8);

const WAITING: u8 = 0;
const BEGUN: u8 = 1;
const ABANDONED: u8 = 2;

impl Progress {
    fn become_(&self, next: u8) -> bool {
        self.0
            .compare_exchange(WAITING, next, Ordering::AcqRel, Ordering::Acquire)
            .is_ok()
    }

    /// The lane begins; false if the caller has given up.
    pub(super) fn begin(&self) -> bool {
        self.become_(BEGUN)
    }

    /// The caller gives up; false if the lane has begun.
    pub(super) fn abandon(&self) -> bool {
        self.become_(ABANDONED)
    }
}

/// What the lane owns.
pub(super) struct Lane {
    pub(super) state: State,
    pub(super) database_url: String,
    pub(super) connection: Option<Arc<Connection>>,
    pub(super) clock: SharedClock,
    /// The database's clock less ours, in microseconds.
    pub(super) clock_offset_us: i64,
    /// A commit may be missing on the standby: the next one must wait for it.
    pub(super) unconfirmed: bool,
    /// When another writer was last first.
    pub(super) contended_at: Option<Instant>,
    looked_around_at: Instant,
    pub(super) metrics: Metrics,
    pub(super) batch_max: usize,
}

impl Lane {
    /// A lane with its memory loaded.
    pub(super) async fn open(
        database_url: &str,
        clock: SharedClock,
        batch_max: usize,
        metrics: Metrics,
    ) -> Result<Lane, Error> {
        let mut lane = Lane {
            state: State::default(),
            database_url: database_url.to_owned(),
            connection: None,
            clock,
            clock_offset_us: 0,
            unconfirmed: false,
            contended_at: None,
            looked_around_at: Instant::now(),
            metrics,
            batch_max,
        };
        let connection = Connection::open(database_url).await?;
        lane.reload(&connection).await?;
        lane.connection = Some(Arc::new(connection));
        Ok(lane)
    }

    /// Serve until told to close, or every sender is gone; and until everything accepted is
    /// answered.
    pub(super) async fn run(
        mut self,
        mut requests: mpsc::Receiver<Pending>,
        closing: CancellationToken,
    ) {
        let mut flights = Flights::new();
        let mut waiting = Vec::with_capacity(self.batch_max);
        loop {
            let look_around_in = LOOK_AROUND.saturating_sub(self.looked_around_at.elapsed());
            // When it is time, what is on its way lands first.
            let may_send = !look_around_in.is_zero() && flights.len() < self.flights_allowed();
            tokio::select! {
                biased;
                Some(landing) = flights.next() => self.land(landing, &mut flights).await,
                () = closing.cancelled(), if !requests.is_closed() => requests.close(),
                count = requests.recv_many(&mut waiting, self.batch_max), if may_send => {
                    if count == 0 {
                        break;
                    }
                    let depth = i64::try_from(requests.len()).unwrap_or(i64::MAX);
                    self.metrics.waiting.set(depth);
                    let batch = std::mem::replace(&mut waiting, Vec::with_capacity(self.batch_max));
                    self.launch(batch, &mut flights).await;
                }
                () = tokio::time::sleep(look_around_in), if flights.is_empty() => {
                    self.look_around().await;
                }
            }
        }
        while let Some(landing) = flights.next().await {
            self.land(landing, &mut flights).await;
        }
    }

    fn flights_allowed(&self) -> usize {
        let contended = self.contended_at.is_some_and(|at| at.elapsed() < CONTENDED);
        if contended { 1 } else { FLIGHTS }
    }

    /// The database's time now, in microseconds, as well as it is known.
    pub(super) fn now_us(&self) -> i64 {
        self.clock.now().as_microsecond() + self.clock_offset_us
    }

    async fn look_around(&mut self) {
        self.looked_around_at = Instant::now();
        if let Err(error) = self.refresh().await {
            tracing::warn!(error = %error, "the lane cannot follow the ledger");
        }
    }

    /// A connection, and memory at the heads that it shows. Only while no change waits.
    pub(super) async fn refresh(&mut self) -> Result<(), Error> {
        debug_assert_eq!(self.state.pending_changes(), 0, "no batch is on its way");
        let kept = self
            .connection
            .take()
            .filter(|connection| !connection.client.is_closed());
        let is_new = kept.is_none();
        let connection = match kept {
            Some(connection) => connection,
            None => Arc::new(Connection::open(&self.database_url).await?),
        };
        // After an error the connection is not trusted with a decision any more.
        self.follow(&connection, is_new).await?;
        self.connection = Some(connection);
        Ok(())
    }

    async fn follow(&mut self, connection: &Connection, is_new: bool) -> Result<(), Error> {
        let client = &connection.client;
        let stands = !is_new || anchors_stand(client, &self.state).await?;
        if stands && catch_up(client, &mut self.state).await? == Followed::Yes {
            let now = load::database_time(client).await?;
            self.clock_offset_us = now - self.clock.now().as_microsecond();
            return Ok(());
        }
        tracing::warn!("the ledger's history is not the one in memory: loading it anew");
        self.reload(connection).await
    }

    async fn reload(&mut self, connection: &Connection) -> Result<(), Error> {
        let started = Instant::now();
        self.state = load::load(&connection.client).await?;
        let now = load::database_time(&connection.client).await?;
        self.clock_offset_us = now - self.clock.now().as_microsecond();
        self.metrics.loads.inc();
        tracing::info!(
            addresses = self.state.addresses(),
            duration_seconds = started.elapsed().as_secs_f64(),
            "memory loaded"
        );
        Ok(())
    }
}
