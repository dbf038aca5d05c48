use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::rc::Rc;
use std::time::Duration;

use ipledger_client::blocking::{Budget, Client, ClientError, io_error_text};
use ipledger_client::types::{Attachment, Problem, ProblemCode};
use rustix::fs::{FlockOperation, flock};

use super::{Queue, QueuedRelease};

/// One release gets at most this long, so that one that hangs leaves time for the others.
const PER_RELEASE: Duration = Duration::from_secs(5);

/// How the one who delivers reaches ledgers.
pub trait Reach {
    /// A client for the cluster of a release; the release says how it was meant to go. The text
    /// says why there is none.
    ///
    /// # Errors
    /// No client can be made now; the release stays.
    fn client(&self, release: &QueuedRelease) -> Result<Rc<Client>, String>;
}

/// What became of one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The ledger has it.
    Delivered,
    /// It can never be delivered, and was moved here.
    SetAside(PathBuf, String),
    /// It stays, because this ledger does not answer. Others of the same ledger need no try.
    Away(String),
    /// It stays, for a reason of its own.
    Stays(String),
}

/// What became of the files that were looked at.
#[derive(Debug, Default)]
pub struct Report {
    /// Files, in the order they were tried.
    pub outcomes: Vec<(String, Outcome)>,
}

impl Report {
    /// How many releases the ledger took.
    #[must_use]
    pub fn delivered(&self) -> usize {
        self.outcomes
            .iter()
            .filter(|(_, outcome)| *outcome == Outcome::Delivered)
            .count()
    }

    /// Why the first of those that wait on does so.
    #[must_use]
    pub fn first_reason(&self) -> Option<&str> {
        self.outcomes.iter().find_map(|(_, outcome)| match outcome {
            Outcome::Away(reason) | Outcome::Stays(reason) => Some(reason.as_str()),
            Outcome::Delivered | Outcome::SetAside(..) => None,
        })
    }

    /// How many wait on.
    #[must_use]
    pub fn remaining(&self) -> usize {
        let stays = |outcome: &Outcome| matches!(outcome, Outcome::Away(_) | Outcome::Stays(_));
        self.outcomes
            .iter()
            .filter(|(_, outcome)| stays(outcome))
            .count()
    }
}

/// How much of the queue one delivery takes on.
#[derive(Debug, Clone, Copy)]
pub struct Delivery {
    /// At most this many files.
    pub files: usize,
    /// At most this much time.
    pub budget: Budget,
    /// Leave it if another process is delivering.
    pub yielding: bool,
}

impl Queue {
    /// Delivers some of what waits.
    ///
    /// # Errors
    /// The directory cannot be read.
    pub fn deliver(&self, reach: &dyn Reach, delivery: Delivery) -> io::Result<Report> {
        // Enough to choose from; a huge backlog must not slow down the call that helps it along.
        let names = self.names(delivery.files.saturating_mul(64))?;
        let mut report = Report::default();
        if names.is_empty() {
            return Ok(report);
        }
        let lock = delivery
            .yielding
            .then(|| File::open(self.directory()))
            .transpose()?;
        if let Some(lock) = &lock
            && flock(lock, FlockOperation::NonBlockingLockExclusive).is_err()
        {
            return Ok(report);
        }
        self.deliver_these(
            pick(names, delivery.files),
            reach,
            delivery.budget,
            &mut report,
        );
        Ok(report)
    }

    /// Delivers every release of this attachment, whoever else is delivering.
    ///
    /// # Errors
    /// The directory cannot be read.
    pub fn deliver_own(
        &self,
        attachment: &Attachment,
        reach: &dyn Reach,
        budget: Budget,
    ) -> io::Result<Report> {
        let mut report = Report::default();
        self.deliver_these(self.names_of(attachment)?, reach, budget, &mut report);
        Ok(report)
    }

    fn deliver_these(
        &self,
        names: Vec<String>,
        reach: &dyn Reach,
        budget: Budget,
        report: &mut Report,
    ) {
        let mut away: Vec<Vec<String>> = Vec::new();
        for name in names {
            let outcome = if budget.left().is_zero() {
                Outcome::Away("there was no time left for it".to_owned())
            } else {
                self.deliver_one(&name, reach, budget, &mut away)
            };
            report.outcomes.push((name, outcome));
        }
    }

    fn deliver_one(
        &self,
        name: &str,
        reach: &dyn Reach,
        budget: Budget,
        away: &mut Vec<Vec<String>>,
    ) -> Outcome {
        let bytes = match self.read(name) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Outcome::Delivered,
            Err(error) => {
                return Outcome::Stays(format!("cannot be read: {}", io_error_text(&error)));
            }
            Ok(bytes) => bytes,
        };
        let release = match QueuedRelease::decode(&bytes) {
            Err(error) => return self.put_aside(name, &error.to_string()),
            Ok(release) => release,
        };
        let client = match reach.client(&release) {
            Err(reason) => return Outcome::Stays(reason),
            Ok(client) => client,
        };
        let addresses = client.addresses();
        if away.contains(&addresses) {
            return Outcome::Away(format!("{} did not answer before", addresses.join(", ")));
        }
        match client.release(&release.request, budget.one_round().at_most(PER_RELEASE)) {
            Ok(_) => self.finish(name),
            Err(ClientError::Problem(problem)) if is_settled(&problem) => self.finish(name),
            Err(ClientError::Problem(problem)) if is_permanent(&problem) => {
                let reason = format!("{}: {}", problem.code.as_str(), problem.detail);
                self.put_aside(name, &reason)
            }
            Err(ClientError::Problem(problem)) if problem.status != 503 => {
                Outcome::Stays(format!("{}: {}", problem.code.as_str(), problem.detail))
            }
            Err(error) => {
                away.push(addresses);
                Outcome::Away(error.to_string())
            }
        }
    }

    fn finish(&self, name: &str) -> Outcome {
        match self.remove(name) {
            Ok(()) => Outcome::Delivered,
            Err(error) => {
                let text = io_error_text(&error);
                Outcome::Stays(format!("was delivered, but cannot be removed: {text}"))
            }
        }
    }

    fn put_aside(&self, name: &str, reason: &str) -> Outcome {
        match self.set_aside(name, reason) {
            Ok(path) => Outcome::SetAside(path, reason.to_owned()),
            Err(error) => Outcome::Stays(format!(
                "{reason}; and cannot be set aside: {}",
                io_error_text(&error)
            )),
        }
    }
}

/// The oldest ones if all fit; else a stretch that begins elsewhere in each process, so that a
/// few files that cannot go do not keep the others from going.
fn pick(mut names: Vec<String>, count: usize) -> Vec<String> {
    if names.len() > count {
        let start = std::process::id() as usize % names.len();
        names.rotate_left(start);
        names.truncate(count);
    }
    names
}

/// The ledger knows better already; there is nothing left to release.
pub(crate) fn is_settled(problem: &Problem) -> bool {
    matches!(problem.code, ProblemCode::Stale | ProblemCode::Deleted)
}

/// No repeat of this very request will ever be taken, whatever an operator mends. A token, a
/// route or a server that is wrong can be mended.
pub(crate) fn is_permanent(problem: &Problem) -> bool {
    let may_be_mended = matches!(problem.status, 401 | 403 | 404 | 405 | 408 | 429);
    (400..500).contains(&problem.status) && !problem.retryable && !may_be_mended
}
