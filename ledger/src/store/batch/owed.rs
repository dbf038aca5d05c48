//! What must be written before an answer, though it is no event: tombstones and repeats.

use super::super::append::{Append, Appended};
use super::super::calls::Calls;
use super::super::connection::{classify, describe, is_lost};
use super::super::lane::{Lane, Pending};
use super::retry::clone_failure;
use super::{Attempt, Failure, answer, answer_all};
use crate::answer::{Answer, Released};
use crate::decide::{Burial, LaterCall};
use crate::error::Error;
use crate::state::{Stamp, Tombstone};

/// How long a DEL that found nothing keeps its own late ADD out, in seconds: far longer than any
/// runtime waits for an ADD.
const TOMBSTONE_SECONDS: i64 = 600;

/// What a request still waits for after its batch came through.
pub(super) enum Owed {
    /// A release that found nothing.
    Tombstone(Burial),
    /// A repeat that came later than the last call: its answer, and what is to be noted.
    Repeat(Answer, Vec<Noted>),
}

/// One repeat to be noted: the space by its key in the database, since memory may be loaded anew
/// in between; and the order token that the hold had before.
pub(super) struct Noted {
    pub(super) space_id: i32,
    pub(super) call: LaterCall,
    pub(super) before: Option<Stamp>,
}

impl Lane {
    /// Write what is owed and answer. Gives back what must be decided again.
    pub(super) async fn settle_owed(&mut self, owed: Vec<(Pending, Owed)>) -> Vec<Pending> {
        let mut again = Vec::new();
        let mut repeats = Vec::new();
        for (pending, owed) in owed {
            match owed {
                Owed::Tombstone(burial) => self.bury(pending, &burial, &mut again).await,
                Owed::Repeat(answer, noted) => repeats.push((pending, answer, noted)),
            }
        }
        self.note_repeats(repeats, &mut again).await;
        again
    }

    /// One call each: they are rare.
    async fn bury(&mut self, pending: Pending, burial: &Burial, again: &mut Vec<Pending>) {
        let mut append = Append::new([]);
        append.bury(burial, TOMBSTONE_SECONDS);
        match self.send(&append).await {
            Ok(Appended::Yes { .. }) => {
                let tombstone = Tombstone {
                    token: burial.token,
                    expires_us: self.now_us() + TOMBSTONE_SECONDS * 1_000_000,
                };
                self.state.order.bury(burial.attachment, tombstone);
                let released = Released {
                    released: Vec::new(),
                    stale: false,
                    epoch: self.state.epoch,
                };
                answer(pending, Ok(Answer::Released(released)));
            }
            // Another replica allocated it: follow, and decide again.
            Ok(_) => {
                again.push(pending);
                self.follow_or_warn().await;
            }
            // Nothing was held, so trying again is harmless.
            Err(failure) => self.give_up(vec![pending], failure, again),
        }
    }

    /// All in one call. Memory has their tokens already, so that what was decided behind them
    /// heeds them; it must not keep what the database does not get.
    async fn note_repeats(
        &mut self,
        repeats: Vec<(Pending, Answer, Vec<Noted>)>,
        again: &mut Vec<Pending>,
    ) {
        if repeats.is_empty() {
            return;
        }
        let mut calls = Calls::default();
        for noted in repeats.iter().flat_map(|(_, _, noted)| noted) {
            calls.add(noted.space_id, &noted.call);
        }
        match self.send_calls(&calls).await {
            Ok(true) => {
                for (pending, given, _) in repeats {
                    answer(pending, Ok(given));
                }
            }
            Ok(false) => {
                self.take_back(&repeats);
                again.extend(repeats.into_iter().map(|(pending, ..)| pending));
                self.follow_or_warn().await;
            }
            Err(failure) => {
                self.take_back(&repeats);
                let batch = repeats.into_iter().map(|(pending, ..)| pending).collect();
                self.give_up(batch, failure, again);
            }
        }
    }

    async fn send_calls(&self, calls: &Calls) -> Result<bool, Failure> {
        let Some(connection) = self.connection.clone() else {
            return Err(Failure::Refused(Error::Unavailable {
                reason: "not connected".into(),
            }));
        };
        match calls.send(&connection.client).await {
            Ok(_) if connection.has_warned() => Err(Failure::Unconfirmed),
            Ok(noted) => Ok(noted),
            Err(error) if is_lost(&error) => Err(Failure::Lost(describe(&error))),
            Err(error) => Err(Failure::Refused(classify(&error))),
        }
    }

    fn take_back(&mut self, repeats: &[(Pending, Answer, Vec<Noted>)]) {
        for noted in repeats.iter().rev().flat_map(|(_, _, n)| n.iter().rev()) {
            if let Some(space) = self.state.spaces.index_of_id(noted.space_id) {
                let call = &noted.call;
                self.state
                    .set_stamp(space, call.ip, call.step, noted.before);
            }
        }
        self.state.commit();
    }

    fn give_up(&mut self, batch: Vec<Pending>, failure: Failure, again: &mut Vec<Pending>) {
        match self.fail(batch, failure) {
            Attempt::Again(left) | Attempt::Lost(left, _) => again.extend(left),
            Attempt::Failed(left, error) => answer_all(left, || clone_failure(&error)),
            Attempt::Done(_) => {}
        }
    }
}
