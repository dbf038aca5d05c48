//! Reading from the ledger on behalf of a request.

use std::future::Future;
use std::time::Duration;

use ipledger_client::types::ProblemCode;
use ledger::answer::{Answer, Counted};
use ledger::command::Count;
use ledger::{Command, Error};
use tokio::sync::SemaphorePermit;

use crate::app::App;
use crate::context::RequestContext;
use crate::problem::{Failure, Keys};

impl App {
    /// A read, for as long as the request may take.
    pub(crate) async fn read<T>(
        &self,
        context: &RequestContext,
        read: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, Failure> {
        let _permit = self.may_read()?;
        let result = match tokio::time::timeout(context.time_left(None), read).await {
            Ok(result) => result,
            Err(_) => Err(Error::DeadlinePassed),
        };
        result.map_err(|error| Failure::from_ledger(error, Keys::default(), self.clock.now()))
    }

    /// A place among those that read.
    pub(crate) fn may_read(&self) -> Result<SemaphorePermit<'_>, Failure> {
        self.reading.try_acquire().map_err(|_| {
            let waiting = self.config.max_reading;
            let detail = format!("too many requests are reading ({waiting})");
            Failure::new(ProblemCode::Overloaded, detail)
        })
    }

    /// The end of a wait for something new: its time is over, or the service stops.
    pub(crate) fn end_of_wait(&self, wait: Duration) -> impl Future<Output = ()> + use<> {
        let stopping = self.stopping.clone();
        async move {
            let _ = tokio::time::timeout(wait, stopping.cancelled()).await;
        }
    }

    /// A read that may wait so long for something new, beside the time of a request.
    pub(crate) async fn wait_for<T>(
        &self,
        context: &RequestContext,
        wait: Duration,
        read: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, Failure> {
        let result = match tokio::time::timeout(wait + context.time_left(None), read).await {
            Ok(result) => result,
            Err(_) => Err(Error::DeadlinePassed),
        };
        result.map_err(|error| Failure::from_ledger(error, Keys::default(), self.clock.now()))
    }

    /// Counts windows; the writer lane does it between two batches, so the counts fit together.
    pub(crate) async fn count(
        &self,
        context: &RequestContext,
        count: Count,
    ) -> Result<Counted, Failure> {
        let command = Command::Count(Box::new(count));
        match self.ledger.execute(command, context.time_left(None)).await {
            Ok(Answer::Counted(counted)) => Ok(counted),
            Ok(_) => Err(Failure::wrong_answer()),
            Err(error) => Err(self.explain(error, Keys::default()).await),
        }
    }

    /// An empty list is an answer only if the space exists.
    pub(crate) async fn require_space(
        &self,
        context: &RequestContext,
        space: &str,
    ) -> Result<(), Failure> {
        let rows = self.read(context, self.ledger.spaces()).await?;
        if rows.iter().any(|row| row.name == space) {
            return Ok(());
        }
        Err(Failure::no_such_space(space))
    }
}

impl Failure {
    /// The ledger answered another question than the one asked.
    pub(crate) fn wrong_answer() -> Self {
        Self::internal("the ledger's answer does not belong to the command")
    }
}
