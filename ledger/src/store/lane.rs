//! The writer lane: takes what is waiting, without a timer, and decides it together.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::{Duration, Instant};

use tokio::sync::{mpsc, oneshot};

use super::catch_up::{Followed, anchors_stand, catch_up};
use super::connection::Connection;
use super::load;
use super::metrics::Metrics;
use crate::answer::Answer;
use crate::clock::SharedClock;
use crate::command::Command;
use crate::error::Error;
use crate::state::State;

/// How often an idle lane looks at what other writers did, so that counts and order stay fresh.
const IDLE: Duration = Duration::from_secs(1);

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
    pub(super) connection: Option<Connection>,
    pub(super) clock: SharedClock,
    /// The database's clock less ours, in microseconds.
    pub(super) clock_offset_us: i64,
    /// A commit may be missing on the standby: the next one must wait for it.
    pub(super) unconfirmed: bool,
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
            metrics,
            batch_max,
        };
        let connection = Connection::open(database_url).await?;
        lane.reload(&connection).await?;
        lane.connection = Some(connection);
        Ok(lane)
    }

    /// Serve until every sender is gone and everything accepted is answered.
    pub(super) async fn run(mut self, mut requests: mpsc::Receiver<Pending>) {
        let mut waiting = Vec::with_capacity(self.batch_max);
        loop {
            tokio::select! {
                biased;
                count = requests.recv_many(&mut waiting, self.batch_max) => {
                    if count == 0 {
                        return;
                    }
                    let depth = requests.len();
                    self.metrics.waiting.set(i64::try_from(depth).unwrap_or(i64::MAX));
                    let batch = std::mem::take(&mut waiting);
                    waiting.reserve(self.batch_max);
                    self.serve(batch).await;
                }
                () = tokio::time::sleep(IDLE) => self.look_around().await,
            }
        }
    }

    /// The database's time now, in microseconds, as well as it is known.
    pub(super) fn now_us(&self) -> i64 {
        self.clock.now().as_microsecond() + self.clock_offset_us
    }

    async fn look_around(&mut self) {
        if let Err(error) = self.refresh().await {
            tracing::warn!(error = %error, "the lane cannot follow the ledger");
        }
    }

    /// A connection, and memory at the heads that it shows.
    pub(super) async fn refresh(&mut self) -> Result<(), Error> {
        if self
            .connection
            .as_ref()
            .is_some_and(|connection| connection.client.is_closed())
        {
            self.connection = None;
        }
        let is_new = self.connection.is_none();
        if is_new {
            self.connection = Some(Connection::open(&self.database_url).await?);
        }
        let connection = self.connection.take().expect("it was just opened");
        let followed = self.follow(&connection, is_new).await;
        // After an error the connection is not trusted with a decision any more.
        followed?;
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
