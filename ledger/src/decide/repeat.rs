//! An ADD of an attachment that holds addresses already.

use std::net::IpAddr;

use super::allocate::{hold_ref, receipt};
use super::resolve::resolve;
use super::{LaterCall, Repeat, Verdict};
use crate::answer::{Allocated, AllocatedAddress, Answer};
use crate::command::Allocate;
use crate::event::encoding::Key;
use crate::refusal::Refusal;
use crate::state::{Record, SpaceIndex, State};

/// What the attachment holds, seen from a request.
enum Held {
    Nothing,
    /// In the order of the ranges.
    Same(Vec<Record>),
    Other(Vec<Record>),
}

/// The same attachment again: the same addresses, or a conflict that names the field. `fixed` are
/// the addresses that the ranges are asked for.
pub(super) fn check(
    state: &State,
    request: &Allocate,
    (key, content): (Key, u64),
    fixed: &[Option<IpAddr>],
) -> Result<(), Verdict> {
    let seen = |held: &[Record]| held.iter().map(|record| record.space).collect();
    match held(state, request, (key, content), fixed) {
        Held::Nothing => Ok(()),
        Held::Other(held) => {
            let refusal = Refusal::AttachmentConflict {
                key: "ranges".to_owned(),
                hold: hold_ref(state, &held[0]),
            };
            Err(Verdict::Refuse(refusal, seen(&held)))
        }
        Held::Same(held) => Err(again(state, request, &held, seen(&held))),
    }
}

fn held(
    state: &State,
    request: &Allocate,
    (key, content): (Key, u64),
    fixed: &[Option<IpAddr>],
) -> Held {
    let own = state.held_by_attachment(key);
    if !own.is_empty() {
        // One of several may have been ended alone, by its address and step.
        let same =
            own.len() == request.ranges.len() && own.iter().all(|record| record.content == content);
        return if same {
            Held::Same(own)
        } else {
            Held::Other(own)
        };
    }
    let [of_interface, of_sandbox] = request.attachment.imported_keys();
    let imported = state.held_by_attachment(of_interface);
    if !imported.is_empty() {
        // The source recorded no request: it is the same if every range has its address.
        let ordered: Option<Vec<Record>> =
            by_range(state, request, &imported, (fixed, Several::AreItsOwn))
                .into_iter()
                .collect();
        return match ordered.filter(|ordered| ordered.len() == imported.len()) {
            Some(ordered) => Held::Same(ordered),
            None => Held::Other(imported),
        };
    }
    // The source did not know the interface: some of these may be another's.
    let imported = state.held_by_attachment(of_sandbox);
    let fitting = by_range(state, request, &imported, (fixed, Several::MayBeAnothers));
    match fitting.iter().flatten().count() {
        0 => Held::Nothing,
        count if count == fitting.len() => Held::Same(fitting.into_iter().flatten().collect()),
        _ if imported.len() == 1 => Held::Other(imported),
        _ => Held::Nothing,
    }
}

/// Of several holds that fit one range.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Several {
    AreItsOwn,
    MayBeAnothers,
}

/// For each range the hold that it may have handed out.
fn by_range(
    state: &State,
    request: &Allocate,
    held: &[Record],
    (fixed, several): (&[Option<IpAddr>], Several),
) -> Vec<Option<Record>> {
    let mut ordered: Vec<Option<Record>> = Vec::with_capacity(request.ranges.len());
    for (window, fixed) in request.ranges.iter().zip(fixed) {
        let place = resolve(state, &request.space, window.cidr()).ok();
        let space = place.and_then(|place| place.space());
        let mut fitting = held.iter().filter(|record| {
            Some(record.space) == space
                && window.contains(record.ip())
                && fixed.is_none_or(|ip| ip == record.ip())
                && !ordered.contains(&Some(**record))
        });
        let first = fitting.next().copied();
        let is_it = several == Several::AreItsOwn || fitting.next().is_none();
        ordered.push(first.filter(|_| is_it));
    }
    ordered
}

fn again(state: &State, request: &Allocate, held: &[Record], seen: Vec<SpaceIndex>) -> Verdict {
    let addresses = held.iter().map(|record| held_address(state, record));
    let answer = Answer::Allocated(Allocated {
        addresses: addresses.collect(),
        repeated: true,
        dry_run: request.dry_run,
        epoch: state.epoch,
    });
    let calls = later_calls(state, request, held);
    if calls.is_empty() {
        return Verdict::Answer(answer, seen);
    }
    Verdict::Repeat(Box::new(Repeat {
        answer,
        seen,
        calls,
    }))
}

/// The holds that a repeat came later for than any call before it: a DEL that began in between
/// and is still on its way ends none of them.
fn later_calls(state: &State, request: &Allocate, held: &[Record]) -> Vec<LaterCall> {
    let Some(token) = request.token.filter(|_| !request.dry_run) else {
        return Vec::new();
    };
    let stamp = state.order.stamp(&token);
    held.iter()
        .filter(|record| record.stamp().is_none_or(|last| last < stamp))
        .map(|record| LaterCall {
            space: record.space,
            ip: record.ip(),
            step: record.step,
            token,
        })
        .collect()
}

fn held_address(state: &State, record: &Record) -> AllocatedAddress {
    AllocatedAddress {
        ip: record.ip(),
        space: state.spaces.get(record.space).name.clone(),
        pool: state.pools.cidr(record.pool),
        receipt: Some(receipt(record)),
    }
}
