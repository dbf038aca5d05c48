//! Taking in what the database said.

use std::collections::HashMap;

use futures_util::StreamExt as _;

use super::super::append::{Appended, Head};
use super::super::lane::{Flights, Lane, Pending};
use super::owed::Owed;
use super::{Attempt, Failure, Flight, Landing};
use crate::state::SpaceIndex;

/// A flight that is not in the ledger, and what the database said.
type Missed = (Flight, Result<Appended, Failure>);

impl Lane {
    /// A landing whose batch is in the ledger: memory is made exact and every request answered;
    /// gives those that must write something first. Any other is given back.
    pub(super) fn take_in(
        &mut self,
        landing: Landing,
    ) -> Result<Vec<(Pending, Owed)>, Box<Missed>> {
        self.count(&landing);
        let Landing {
            flight,
            sent,
            confirmed,
            ..
        } = landing;
        let Ok(Appended::Yes { heads, epoch }) = sent else {
            return Err(Box::new((flight, sent)));
        };
        self.unconfirmed &= !confirmed;
        let times = self.accept(&flight, &heads, epoch);
        Ok(flight.reply(&times, epoch, self))
    }

    /// Take the answer of the first flight in. If it failed, the later ones were decided on
    /// heads that never came to be: take all back and go on one by one.
    pub(in super::super) async fn land(&mut self, landing: Landing, flights: &mut Flights) {
        let (flight, sent) = match self.take_in(landing) {
            Ok(owed) if owed.is_empty() => return,
            Ok(owed) => {
                self.land_all(flights).await;
                let again = self.settle_owed(owed).await;
                return self.serve(again, None).await;
            }
            Err(failed) => *failed,
        };
        let mut failed = vec![(flight, sent)];
        let mut again = Vec::new();
        while let Some(landing) = flights.next().await {
            self.count(&landing);
            let Landing { flight, sent, .. } = landing;
            match sent {
                // It touched other spaces: it is in the ledger, and memory follows the stream.
                Ok(Appended::Yes { heads, epoch }) => {
                    let times = self.times(&heads);
                    again.extend(flight.reply_appended(&times, epoch, self));
                }
                sent => failed.push((flight, sent)),
            }
        }
        self.state.roll_back();
        for (flight, sent) in failed {
            match self.judge(flight.batch, sent).await {
                Attempt::Done(_) => {}
                Attempt::Again(batch) | Attempt::Failed(batch, _) => {
                    self.follow_or_warn().await;
                    self.serve(batch, None).await;
                }
                Attempt::Lost(batch, reason) => self.serve(batch, Some(reason)).await,
            }
        }
        self.follow_or_warn().await;
        self.serve(again, None).await;
    }

    pub(super) async fn land_all(&mut self, flights: &mut Flights) {
        while let Some(landing) = flights.next().await {
            Box::pin(self.land(landing, flights)).await;
        }
    }

    /// The batch is in the ledger: make memory exact. Gives the time of record per space.
    pub(super) fn accept(
        &mut self,
        flight: &Flight,
        heads: &[Head],
        epoch: u32,
    ) -> HashMap<SpaceIndex, i64> {
        let times = self.times(heads);
        for head in heads {
            if let Some(space) = self.state.spaces.index_of_id(head.space_id) {
                self.state.spaces.set_anchor(space, head.seq, head.hash);
            }
        }
        let appended: HashMap<SpaceIndex, i64> = flight
            .events
            .iter()
            .filter_map(|(event, _)| Some((event.space, *times.get(&event.space)?)))
            .collect();
        self.state.commit_first(flight.changes, &appended);
        if epoch > 0 {
            self.state.epoch = epoch;
        }
        self.set_persisted(&flight.events);
        times
    }

    pub(super) fn times(&self, heads: &[Head]) -> HashMap<SpaceIndex, i64> {
        heads
            .iter()
            .filter_map(|head| {
                Some((
                    self.state.spaces.index_of_id(head.space_id)?,
                    head.recorded_at_us?,
                ))
            })
            .collect()
    }
}
