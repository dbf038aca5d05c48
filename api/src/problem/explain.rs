//! Refusals that are worth a second look: who is in the way, and since when.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use ipledger_client::types::ProblemCode;
use ledger::{Error, Hold, Ledger, Refusal, Reservation};
use tokio::sync::Semaphore;

use super::ledger::Keys;
use super::{Failure, holder, holder_of};
use crate::app::App;

/// How many refusals are explained at a time. A full pool is asked for again and again by every
/// pod that wants it; the reads for the text must not add to the load then.
const AT_A_TIME: usize = 4;
/// How long an explanation may take. Without one the refusal itself stands.
const PATIENCE: Duration = Duration::from_millis(500);

/// How long an explanation is good for others that are refused for the same reason.
const GOOD_FOR: Duration = Duration::from_secs(1);

/// Looks up what makes a refusal understandable.
#[derive(Debug)]
pub struct Explainer {
    permits: Semaphore,
    known: Mutex<HashMap<Question, (Instant, Option<Found>)>>,
}

/// What explains a refusal.
#[derive(Debug, Clone)]
enum Found {
    Hold(Box<Hold>),
    Reservation(Box<Reservation>),
}

/// What an explanation is about: space, first and last address, and whether one hold or the oldest
/// of a window is meant.
type Question = (String, IpAddr, IpAddr, &'static str);

impl Default for Explainer {
    fn default() -> Self {
        Self {
            permits: Semaphore::new(AT_A_TIME),
            known: Mutex::default(),
        }
    }
}

impl App {
    /// The failure for an error of the ledger, with holder or oldest hold where they matter.
    pub(crate) async fn explain(&self, error: Error, keys: Keys) -> Failure {
        let found = match &error {
            Error::Refused(refusal) if question(refusal).is_some() => {
                self.explainer.look(&self.ledger, refusal).await
            }
            _ => None,
        };
        let failure = Failure::from_ledger(error, keys, self.clock.now());
        match found {
            Some(Found::Hold(hold)) => failure.with_hold(&hold),
            Some(Found::Reservation(reservation)) => failure.with_reservation(&reservation),
            None => failure,
        }
    }
}

impl Explainer {
    async fn look(&self, ledger: &Ledger, refusal: &Refusal) -> Option<Found> {
        let question = question(refusal)?;
        let read = async {
            if let Some(known) = self.recall(&question) {
                return Ok(known);
            }
            // Whoever waits here finds what the one before it read.
            let _permit = self.permits.acquire().await;
            if let Some(known) = self.recall(&question) {
                return Ok(known);
            }
            let found = find(ledger, refusal).await?;
            self.remember(question, found.clone());
            Ok::<_, Error>(found)
        };
        match tokio::time::timeout(PATIENCE, read).await {
            Ok(Ok(found)) => found,
            Ok(Err(error)) => {
                tracing::warn!(kind = error.kind(), %error, "a refusal stays unexplained");
                None
            }
            Err(_) => None,
        }
    }

    fn recall(&self, question: &Question) -> Option<Option<Found>> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let (at, found) = known.get(question)?;
        (at.elapsed() < GOOD_FOR).then(|| found.clone())
    }

    fn remember(&self, question: Question, found: Option<Found>) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.retain(|_, (at, _)| at.elapsed() < GOOD_FOR);
        known.insert(question, (Instant::now(), found));
    }
}

async fn find(ledger: &Ledger, refusal: &Refusal) -> Result<Option<Found>, Error> {
    let hold = match refusal {
        Refusal::AddressTaken { hold, .. } => ledger.describe(hold, PATIENCE).await?,
        Refusal::AddressKept { hold, .. } => ledger.describe_last(hold, PATIENCE).await?,
        Refusal::AddressReserved { hold, .. } => {
            let found = ledger.describe_reservation(hold, PATIENCE).await?;
            return Ok(found.map(|found| Found::Reservation(Box::new(found))));
        }
        Refusal::Exhausted { space, window, .. } => {
            ledger.oldest_hold(space, window, PATIENCE).await?
        }
        _ => None,
    };
    Ok(hold.map(|hold| Found::Hold(Box::new(hold))))
}

/// A step is part of the reason, so that a hold that was ended does not explain the next one.
fn question(refusal: &Refusal) -> Option<Question> {
    match refusal {
        Refusal::AddressTaken { ip, hold }
        | Refusal::AddressReserved { ip, hold }
        | Refusal::AddressKept { ip, hold, .. } => Some((
            format!("{} {}", hold.space, hold.step),
            *ip,
            *ip,
            refusal.kind(),
        )),
        Refusal::Exhausted { space, window, .. } => {
            Some((space.clone(), window.start(), window.end(), refusal.kind()))
        }
        _ => None,
    }
}

impl Failure {
    fn with_hold(mut self, hold: &Hold) -> Self {
        let holder = holder_of(hold);
        let words = holder::in_words(&holder);
        if self.code() == ProblemCode::AddressTaken {
            self.0.detail.push_str(" by ");
            self.0.detail.push_str(&words);
            return self.held_by(holder);
        }
        if self.code() == ProblemCode::AddressKept {
            let pod = holder.pod.as_deref().unwrap_or("an unknown pod");
            self.0.detail.push_str(", ");
            self.0.detail.push_str(pod);
            return self;
        }
        self.0.detail.push_str("; the oldest hold is ");
        self.0.detail.push_str(&holder.address);
        self.0.detail.push_str(" of ");
        self.0.detail.push_str(&words);
        self
    }
    fn with_reservation(mut self, reservation: &Reservation) -> Self {
        let Reservation { actor, reason, .. } = reservation;
        let since = crate::wire::time(reservation.recorded_at);
        let words = format!(" by {} since {since}: {reason}", actor.name);
        self.0.detail.push_str(&words);
        self
    }
}
