use std::collections::HashMap;

use super::super::lane::{Lane, Pending};
use super::owed::{Noted, Owed};
use super::{Decided, Flight, answer};
use crate::answer::{
    Allocated, AllocatedAddress, Answer, HoldReleased, ImportOutcome, Imported, Receipt, Released,
    ReleasedAddress, Reserved,
};
use crate::decide::{Draft, LaterCall, NewEvent, timestamp};
use crate::error::Error;
use crate::state::{SpaceIndex, Stamp};

/// A batch that is in the ledger.
struct Done<'a> {
    events: &'a [(NewEvent, u64)],
    before: &'a HashMap<SpaceIndex, u64>,
    times: &'a HashMap<SpaceIndex, i64>,
    epoch: u32,
    lane: &'a Lane,
}

impl Flight {
    /// Answer every request; give back those that must write something first.
    pub(super) fn reply(
        self,
        times: &HashMap<SpaceIndex, i64>,
        epoch: u32,
        lane: &Lane,
    ) -> Vec<(Pending, Owed)> {
        let Flight {
            batch,
            decided,
            events,
            before,
            ..
        } = self;
        let done = Done {
            events: &events,
            before: &before,
            times,
            epoch,
            lane,
        };
        let mut owed = Vec::new();
        for (pending, decided) in batch.into_iter().zip(decided) {
            match decided {
                Decided::Buries(burial) => owed.push((pending, Owed::Tombstone(burial))),
                Decided::Repeats(given, calls, before) => {
                    let noted = done.noted(calls, before);
                    owed.push((pending, Owed::Repeat(done.exact(given), noted)));
                }
                Decided::Refuses(refusal) => answer(pending, Err(Error::Refused(refusal))),
                Decided::Answers(given) => answer(pending, Ok(done.exact(given))),
                Decided::Appends {
                    first,
                    count,
                    draft,
                } => {
                    answer(pending, Ok(done.finish(&draft, first, count)));
                }
            }
        }
        owed
    }

    /// Answer those whose events are in the ledger, and give back the rest: it was decided on
    /// what an earlier flight was to leave, and that did not come to be.
    pub(super) fn reply_appended(
        mut self,
        times: &HashMap<SpaceIndex, i64>,
        epoch: u32,
        lane: &Lane,
    ) -> Vec<Pending> {
        let is_appended = |decided: &Decided| matches!(decided, Decided::Appends { .. });
        let (appended, rest): (Vec<_>, Vec<_>) = std::mem::take(&mut self.batch)
            .into_iter()
            .zip(std::mem::take(&mut self.decided))
            .partition(|(_, decided)| is_appended(decided));
        (self.batch, self.decided) = appended.into_iter().unzip();
        self.reply(times, epoch, lane);
        rest.into_iter().map(|(pending, _)| pending).collect()
    }
}

impl Done<'_> {
    fn receipt(&self, index: usize) -> Receipt {
        let (event, seq) = &self.events[index];
        Receipt {
            step: event.target.map_or(0, |(_, step)| step),
            seq: *seq,
            recorded_at: timestamp(self.times.get(&event.space).copied().unwrap_or(0)),
        }
    }

    fn noted(&self, calls: Vec<LaterCall>, before: Vec<Option<Stamp>>) -> Vec<Noted> {
        let with_id = |(call, before): (LaterCall, Option<Stamp>)| Noted {
            space_id: self.lane.state.spaces.get(call.space).id,
            call,
            before,
        };
        calls.into_iter().zip(before).map(with_id).collect()
    }

    fn name(&self, space: SpaceIndex) -> String {
        self.lane.state.spaces.get(space).name.clone()
    }

    fn released(&self, index: usize) -> Option<ReleasedAddress> {
        let (event, _) = &self.events[index];
        let (ip, _) = event.target?;
        Some(ReleasedAddress {
            ip,
            space: self.name(event.space),
            receipt: self.receipt(index),
        })
    }

    fn finish(&self, draft: &Draft, first: usize, count: usize) -> Answer {
        match draft {
            Draft::Allocated(chosen) => {
                let addresses = chosen
                    .iter()
                    .filter_map(|&(index, pool)| {
                        let (event, _) = &self.events[first + index];
                        Some(AllocatedAddress {
                            ip: event.target?.0,
                            space: self.name(event.space),
                            pool,
                            receipt: Some(self.receipt(first + index)),
                        })
                    })
                    .collect();
                Answer::Allocated(Allocated {
                    addresses,
                    repeated: false,
                    dry_run: false,
                    epoch: self.epoch,
                })
            }
            Draft::Released => Answer::Released(Released {
                released: (first..first + count)
                    .filter_map(|index| self.released(index))
                    .collect(),
                stale: false,
                epoch: self.epoch,
            }),
            Draft::HoldReleased => Answer::HoldReleased(HoldReleased {
                released: self.released(first).expect("a release has an address"),
                repeated: false,
                epoch: self.epoch,
            }),
            Draft::Imported => {
                let receipt = self.receipt(first);
                Answer::Imported(Imported {
                    outcome: ImportOutcome::Imported,
                    step: receipt.step,
                    seq: receipt.seq,
                })
            }
            Draft::Reserved(pool) => {
                let (event, _) = &self.events[first];
                let (ip, _) = event.target.expect("a reservation has an address");
                Answer::Reserved(Reserved {
                    ip,
                    space: self.name(event.space),
                    pool: *pool,
                    receipt: self.receipt(first),
                    repeated: false,
                    epoch: self.epoch,
                })
            }
            Draft::ClusterBound(uid) => Answer::ClusterBound(uid.clone()),
            Draft::SpaceDeclared(name) => Answer::SpaceDeclared(name.clone()),
            // It is asked for again until it is settled, and has its exact time then.
            Draft::GateSet(set) => Answer::GateSet(set.clone()),
        }
    }

    /// A repeat of a call that was still on its way when this was decided carries an estimate of
    /// its time: put the right one in.
    fn exact(&self, mut given: Answer) -> Answer {
        match &mut given {
            Answer::Allocated(allocated) => {
                for address in &mut allocated.addresses {
                    if let Some(receipt) = &mut address.receipt {
                        self.correct(&address.space, address.ip, receipt);
                    }
                }
            }
            Answer::HoldReleased(released) => {
                let released = &mut released.released;
                self.correct(&released.space, released.ip, &mut released.receipt);
            }
            Answer::Reserved(reserved) => {
                self.correct(&reserved.space, reserved.ip, &mut reserved.receipt);
            }
            _ => {}
        }
        given
    }

    fn correct(&self, space: &str, ip: std::net::IpAddr, receipt: &mut Receipt) {
        let state = &self.lane.state;
        let Some(space) = state.spaces.find(space) else {
            return;
        };
        let record = state
            .record_of(space, ip)
            .filter(|record| record.seq == receipt.seq);
        let own = self
            .before
            .get(&space)
            .is_some_and(|&before| receipt.seq > before);
        match (record, self.times.get(&space)) {
            (Some(record), _) => receipt.recorded_at = timestamp(record.at_us),
            // It was released again later in this batch.
            (None, Some(&at_us)) if own => receipt.recorded_at = timestamp(at_us),
            _ => {}
        }
    }
}
