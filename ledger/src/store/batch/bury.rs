//! Calls without events: spaces that must exist first, and tombstones.

use super::super::append::{Append, Appended};
use super::super::lane::{Lane, Pending};
use super::retry::clone_failure;
use super::{Attempt, answer, answer_all};
use crate::answer::{Answer, Released};
use crate::decide::{Burial, OpenSpace};
use crate::state::Tombstone;

/// How long a DEL that found nothing keeps its own late ADD out, in seconds: far longer than any
/// runtime waits for an ADD.
const TOMBSTONE_SECONDS: i64 = 600;

impl Lane {
    /// Open spaces that a request needs, then decide again.
    pub(super) async fn open_spaces(&mut self, batch: Vec<Pending>, open: &[OpenSpace]) -> Attempt {
        let mut append = Append::new([]);
        append.add_spaces(open);
        match self.send(&append).await {
            Ok(_) => Attempt::Again(batch),
            Err(failure) => self.fail(batch, failure),
        }
    }

    /// Tombstones, one call each: they are rare. Gives back what turned out to be alive.
    pub(super) async fn bury_all(&mut self, burials: Vec<(Pending, Burial)>) -> Vec<Pending> {
        let mut alive = Vec::new();
        for (pending, burial) in burials {
            let mut append = Append::new([]);
            append.bury(&burial, TOMBSTONE_SECONDS);
            match self.send(&append).await {
                Ok(Appended::Yes { .. }) => {
                    let tombstone = Tombstone {
                        token: burial.token,
                        expires_us: self.now_us() + TOMBSTONE_SECONDS * 1_000_000,
                    };
                    self.state.order.bury(burial.attachment, tombstone);
                    let epoch = self.state.epoch;
                    let released = Released {
                        released: Vec::new(),
                        stale: false,
                        epoch,
                    };
                    answer(pending, Ok(Answer::Released(released)));
                }
                // Another replica allocated it: follow, and decide again.
                Ok(_) => {
                    alive.push(pending);
                    self.follow_or_warn().await;
                }
                // Nothing was held, so trying again is harmless.
                Err(failure) => {
                    let again = vec![pending];
                    match self.fail(again, failure) {
                        Attempt::Again(left) | Attempt::Lost(left, _) => alive.extend(left),
                        Attempt::Failed(left, error) => {
                            answer_all(left, || clone_failure(&error));
                        }
                        Attempt::Done(_) => {}
                    }
                }
            }
        }
        alive
    }
}
