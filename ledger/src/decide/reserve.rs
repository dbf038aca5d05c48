//! Addresses that a person sets aside, and gives back. A reservation is a step like any hold, so
//! the guard covers it; it has no attachment and no pod, so nothing ends it but its own return.

use std::net::IpAddr;

use address::Window;

use super::allocate::{hold_ref, receipt, to_u64};
use super::choose::resting;
use super::hold::{end, ended, step_mismatch, whole_pool};
use super::resolve::{Place, resolve};
use super::{Change, Draft, HoldChange, NewEvent, Verdict};
use crate::answer::{Answer, Reserved};
use crate::command::{GiveBack, Reserve};
use crate::event::encoding::{fingerprint_of, hex};
use crate::event::{Decision, DecisionRule, Kind, Payload, WindowRecord};
use crate::model::reservation_key;
use crate::refusal::Refusal;
use crate::state::{Class, Record, SpaceIndex, State};

/// Sets an address aside that nobody holds. It may rest: what is left of the rest comes after the
/// reservation then.
pub(super) fn reserve(state: &State, request: &Reserve, now_us: i64) -> Verdict {
    try_reserve(state, request, now_us).unwrap_or_else(|verdict| verdict)
}

/// The verdict; an error is one that ends the checks early.
fn try_reserve(state: &State, request: &Reserve, now_us: i64) -> Result<Verdict, Verdict> {
    let refused = |refusal| Verdict::Refuse(refusal, Vec::new());
    let window = whole_pool(request.pool, request.ip).map_err(refused)?;
    let place = resolve(state, &request.space, request.pool)?;
    let space = match &place {
        Place::Unopened { open, .. } => return Ok(Verdict::Open(vec![open.clone()])),
        Place::Space(space) => *space,
    };
    let record = state.record_of(space, request.ip);
    let in_the_way = |refusal| Err(Verdict::Refuse(refusal, vec![space]));
    let mut rest_seconds = 0;
    if let Some(record) = record {
        let (ip, hold) = (request.ip, hold_ref(state, record));
        match record.class {
            Class::Held => return in_the_way(Refusal::AddressTaken { ip, hold }),
            Class::Reserved if record.content == content_of(&request.reason) => {
                let again = Answer::Reserved(reserved(state, record));
                return Ok(Verdict::Answer(again, vec![space]));
            }
            Class::Reserved => return in_the_way(Refusal::AddressReserved { ip, hold }),
            Class::Cooling if state.kept_for(record, now_us).is_some() => {
                return in_the_way(resting(state, record, now_us));
            }
            Class::Cooling => rest_seconds = seconds_left(record, now_us),
            Class::Free => {}
        }
    }
    let step = record.map_or(0, |record| record.step + 1);
    let event = reservation(state, request, (space, step), window, rest_seconds);
    Ok(Verdict::Append(vec![event], Draft::Reserved(request.pool)))
}

fn seconds_left(record: &Record, now_us: i64) -> u32 {
    let left_us = record.cooling_until_us().saturating_sub(now_us).max(0);
    u32::try_from(left_us.unsigned_abs().div_ceil(1_000_000)).unwrap_or(u32::MAX)
}

fn reservation(
    state: &State,
    request: &Reserve,
    (space, step): (SpaceIndex, u32),
    window: Window,
    rest_seconds: u32,
) -> NewEvent {
    let taken = state.counts(space, &window);
    let mut payload = Payload::new(Kind::Reserved, &request.reason, &request.provenance);
    payload.content = Some(hex(&content_of(&request.reason).to_be_bytes()));
    payload.cooldown_seconds = Some(rest_seconds);
    payload.decision = Some(Decision {
        capacity: window.capacity().to_string(),
        cooling: to_u64(taken.cooling),
        held: to_u64(taken.held),
        ips: vec![request.ip],
        position: 0,
        ranges: 1,
        reserved: to_u64(taken.reserved),
        rule: DecisionRule::Reservation,
        window: WindowRecord::new(&window, true),
    });
    let name = &state.spaces.get(space).name;
    let change = change(name, request.ip, window, &payload);
    NewEvent {
        space,
        target: Some((request.ip, step)),
        change: Change::Hold(Box::new(change)),
        payload,
    }
}

/// What memory keeps of a reservation.
pub(super) fn change(space: &str, ip: IpAddr, window: Window, payload: &Payload) -> HoldChange {
    HoldChange {
        window,
        attachment: reservation_key(space, ip),
        owner: None,
        token: None,
        content: content_of(&payload.reason),
        rest_seconds: payload.rest_seconds(),
        keep: None,
        position: 0,
    }
}

/// A repeat is one for the same reason.
fn content_of(reason: &str) -> u64 {
    fingerprint_of(&["reservation", reason])
}

fn reserved(state: &State, record: &Record) -> Reserved {
    Reserved {
        ip: record.ip(),
        space: state.spaces.get(record.space).name.clone(),
        pool: state.pools.cidr(record.pool),
        receipt: receipt(record),
        repeated: true,
        epoch: state.epoch,
    }
}

/// Ends one reservation, named by address and step, and no hold.
pub(super) fn give_back(state: &State, request: &GiveBack) -> Verdict {
    let Some(space) = state.spaces.find(&request.space) else {
        return Verdict::Refuse(Refusal::NoSuchSpace(request.space.clone()), Vec::new());
    };
    let record = state.record_of(space, request.ip);
    match record {
        Some(record) if record.step == request.step && record.class == Class::Reserved => {
            let payload = Payload::new(Kind::Released, &request.reason, &request.provenance);
            end(record, payload)
        }
        Some(record) if record.step == request.step && record.is_held() => {
            let (ip, hold) = (request.ip, hold_ref(state, record));
            Verdict::Refuse(Refusal::AddressTaken { ip, hold }, vec![space])
        }
        // It was given back.
        Some(record)
            if request.step.is_multiple_of(2)
                && record.step == request.step + 1
                && record.attachment == reservation_key(&request.space, request.ip) =>
        {
            ended(state, record)
        }
        other => step_mismatch(space, request.ip, request.step, other),
    }
}
