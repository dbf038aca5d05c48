use std::net::IpAddr;

use address::Window;

use super::{Change, HoldChange, LaterCall, NewEvent};
use crate::event::encoding::Key;
use crate::event::{DecisionRule, Kind, Payload, WindowRecord};
use crate::model::Attachment;
use crate::state::{Class, Gate, Keep, Record, SpaceIndex, Stamp, State};

/// Take decided events into the state, with the positions that they will have. Undone by
/// `State::roll_back`.
pub fn apply(state: &mut State, events: &[NewEvent], now_us: i64) -> Vec<u64> {
    events
        .iter()
        .map(|event| {
            let seq = state.spaces.get(event.space).seq + 1;
            apply_at(state, event, seq, now_us);
            seq
        })
        .collect()
}

/// Take repeats into the state: their order tokens are the last ones of their holds. Undone by
/// `State::roll_back`.
pub fn apply_calls(state: &mut State, calls: &[LaterCall]) {
    for call in calls {
        let stamp = state.order.see(&call.token);
        state.set_stamp(call.space, call.ip, call.step, Some(stamp));
    }
}

/// Take an event of another writer into the state. The error names what does not fit.
pub fn apply_recorded(
    state: &mut State,
    space: SpaceIndex,
    seq: u64,
    at_us: i64,
    target: Option<(IpAddr, u32)>,
    payload: Payload,
) -> Result<(), String> {
    let change = match (payload.kind, target) {
        (Kind::Allocated, Some(_)) => {
            Change::Hold(Box::new(recorded_hold(state, space, &payload)?))
        }
        (Kind::Reserved, Some((ip, _))) => {
            Change::Hold(Box::new(recorded_reservation(state, space, ip, &payload)?))
        }
        (Kind::Released, Some(_)) => Change::Free,
        (Kind::Allocated | Kind::Released | Kind::Reserved, None) => {
            return Err("it has no address".to_owned());
        }
        _ => Change::None,
    };
    if let Change::Hold(hold) = &change {
        // It came after the DEL, or it would not stand.
        state.order.unbury(hold.attachment);
    }
    let event = NewEvent {
        space,
        target,
        change,
        payload,
    };
    apply_at(state, &event, seq, at_us);
    Ok(())
}

fn apply_at(state: &mut State, event: &NewEvent, seq: u64, at_us: i64) {
    state.advance(event.space, seq, at_us);
    match (&event.change, event.target) {
        (Change::Hold(hold), Some((ip, step))) => {
            apply_hold(state, event, hold, (ip, step), seq, at_us);
        }
        (Change::Free, Some((ip, step))) => apply_release(state, event, (ip, step), seq, at_us),
        _ => apply_fact(state, event, seq, at_us),
    }
}

fn apply_hold(
    state: &mut State,
    event: &NewEvent,
    hold: &HoldChange,
    (ip, step): (IpAddr, u32),
    seq: u64,
    at_us: i64,
) {
    let pool = state.record_window(event.space, &hold.window);
    let boot = hold.token.map(|token| state.order.see(&token).boot);
    let slot = state.put(Record {
        number: address::to_number(ip),
        attachment: hold.attachment,
        owner: hold.owner.unwrap_or(0),
        boottime_ns: hold.token.map_or(0, |token| token.boottime_ns),
        seq,
        allocated_seq: seq,
        at_us,
        content: hold.content,
        boot,
        space: event.space,
        pool,
        step,
        cooldown_seconds: hold.rest_seconds,
        position: hold.position,
        family: address::family(ip),
        class: match event.payload.kind {
            Kind::Reserved => Class::Reserved,
            _ => Class::Held,
        },
    });
    state.keep(slot, hold.keep);
    let decision = event.payload.decision.as_ref();
    if decision.is_some_and(|decision| decision.rule == DecisionRule::LongestIdle) {
        state.follow_idle(event.space, &hold.window);
    }
}

fn apply_release(
    state: &mut State,
    event: &NewEvent,
    (ip, step): (IpAddr, u32),
    seq: u64,
    at_us: i64,
) {
    let Some(old) = state.record_of(event.space, ip).copied() else {
        return;
    };
    let class = if old.cooldown_seconds > 0 {
        Class::Cooling
    } else {
        Class::Free
    };
    state.put(Record {
        step,
        seq,
        at_us,
        class,
        ..old
    });
    let ended = Ended {
        attachment: old.attachment,
        owner: old.owner,
        stamp: old.stamp(),
    };
    remember(state, &event.payload, Some(ended), at_us);
}

/// The hold that a release ended.
struct Ended {
    attachment: Key,
    owner: Key,
    stamp: Option<Stamp>,
}

/// For a release that memory was not there for, and the event that it ended.
pub(crate) fn remember_release(
    state: &mut State,
    released: &Payload,
    allocated: Option<&Payload>,
    at_us: i64,
) {
    let ended = allocated.and_then(|allocated| {
        let stamp = stamp_of(state, allocated);
        let attachment = allocated.attachment.as_ref()?.key();
        let owner = owner_of(allocated).unwrap_or(0);
        Some(Ended {
            attachment,
            owner,
            stamp,
        })
    });
    remember(state, released, ended, at_us);
}

/// A delayed ADD that was overtaken must find the last call, though nothing is held any more.
fn remember(state: &mut State, released: &Payload, ended: Option<Ended>, at_us: i64) {
    let call = stamp_of(state, released);
    let ender = released.attachment.as_ref().map(Attachment::key);
    let holder = ended.as_ref().map(|ended| ended.attachment);
    if let Some(ended) = ended
        && let Some(stamp) = call.max(ended.stamp)
    {
        state.remember(ended.attachment, stamp, at_us);
        if ended.owner != 0 {
            state.remember(ended.owner, stamp, at_us);
        }
    }
    // An imported hold is filed under another key than the attachment that ends it.
    if let (Some(call), Some(key)) = (call, ender.filter(|&key| Some(key) != holder)) {
        state.remember(key, call, at_us);
    }
}

fn stamp_of(state: &mut State, payload: &Payload) -> Option<Stamp> {
    Some(state.order.see(&payload.token?))
}

/// The payload of a stored event, if this version can read it.
pub(crate) fn recorded_payload(body: &[u8]) -> Option<Payload> {
    serde_json::from_slice(body).ok()
}

fn apply_fact(state: &mut State, event: &NewEvent, seq: u64, at_us: i64) {
    match event.payload.kind {
        Kind::ClusterBound => {
            if let Some((cluster, uid)) = bound_cluster(&event.payload) {
                state.bind_cluster(cluster, uid);
            }
        }
        Kind::SpaceDeclared => {
            for (cluster, network_name) in declared_members(&event.payload) {
                state.join_space(&cluster, &network_name, event.space);
            }
        }
        Kind::GateClosed | Kind::GateOpened => {
            apply_gate(state, event.space, seq, at_us, &event.payload);
        }
        _ => {}
    }
}

/// Takes a gate's event in; one without its cluster says nothing.
pub(crate) fn apply_gate(
    state: &mut State,
    space: SpaceIndex,
    seq: u64,
    at_us: i64,
    payload: &Payload,
) {
    let evidence = payload.evidence.as_ref();
    let Some(cluster) = evidence.and_then(|evidence| evidence.get("cluster")?.as_str()) else {
        return;
    };
    let first = evidence.and_then(|evidence| evidence.get("gate_seq")?.as_u64());
    let gate = Gate {
        closed: payload.kind == Kind::GateClosed,
        reason: payload.reason.clone(),
        seq: first.unwrap_or(seq),
        at_us,
    };
    state.tell_gate(space, cluster, gate, first.is_none());
}

/// (cluster, UID) of a binding.
pub(crate) fn bound_cluster(payload: &Payload) -> Option<(&str, &str)> {
    let evidence = payload.evidence.as_ref()?;
    let text = |key: &str| evidence.get(key)?.as_str();
    text("cluster").zip(text("uid"))
}

/// (cluster, network name) of each member that a declaration names.
pub(crate) fn declared_members(payload: &Payload) -> Vec<(String, String)> {
    let members = payload
        .evidence
        .as_ref()
        .and_then(|evidence| evidence.get("members")?.as_array());
    let member = |member: &serde_json::Value| {
        let text = |key: &str| member.get(key)?.as_str().map(str::to_owned);
        text("cluster").zip(text("network_name"))
    };
    members.into_iter().flatten().filter_map(member).collect()
}

/// The key of the pod's interface that a hold is kept under.
fn owner_of(allocated: &Payload) -> Option<Key> {
    // The source knew neither UID nor node; sync judges such a hold, no newer sandbox does.
    let attachment = allocated
        .attachment
        .as_ref()
        .filter(|_| allocated.reason != "import")?;
    let owner = allocated.owner.as_ref()?;
    owner.key(&attachment.cluster, &attachment.ifname)
}

fn recorded_hold(
    state: &State,
    space: SpaceIndex,
    payload: &Payload,
) -> Result<HoldChange, String> {
    let attachment = payload.attachment.as_ref().ok_or("it has no attachment")?;
    let decision = payload
        .decision
        .as_ref()
        .ok_or("it has no decision record")?;
    let content = match &payload.content {
        Some(text) => u64::from_str_radix(text, 16).map_err(|_| "its content is not hex")?,
        None => 0,
    };
    Ok(HoldChange {
        window: recorded_window(state, space, &decision.window)?,
        attachment: attachment.key(),
        owner: owner_of(payload),
        token: payload.token,
        content,
        rest_seconds: payload.rest_seconds(),
        keep: payload
            .sticky_seconds
            .zip(name_of(payload))
            .map(|(seconds, name)| Keep { name, seconds }),
        position: decision.position,
    })
}

/// The key of the name that a hold is kept for.
fn name_of(allocated: &Payload) -> Option<Key> {
    let attachment = allocated.attachment.as_ref()?;
    let owner = allocated.owner.as_ref()?;
    owner.name_key(&attachment.cluster, &attachment.ifname)
}

fn recorded_reservation(
    state: &State,
    space: SpaceIndex,
    ip: IpAddr,
    payload: &Payload,
) -> Result<HoldChange, String> {
    let decision = payload
        .decision
        .as_ref()
        .ok_or("it has no decision record")?;
    let window = recorded_window(state, space, &decision.window)?;
    let name = &state.spaces.get(space).name;
    Ok(super::reserve::change(name, ip, window, payload))
}

/// The window of a record; a long list of exclusions stands in the window's first event only.
pub(crate) fn recorded_window(
    state: &State,
    space: SpaceIndex,
    record: &WindowRecord,
) -> Result<Window, String> {
    if record.is_full() {
        return parse_window(record);
    }
    state
        .pools
        .windows()
        .find(|(of, known)| {
            *of == space
                && known.record.cidr == record.cidr
                && known.record.first == record.first
                && known.record.last == record.last
                && known.record.exclude_digest == record.exclude_digest
        })
        .map(|(_, known)| known.window.clone())
        .ok_or_else(|| format!("its window {} was not recorded before", record.cidr))
}

/// A window from its full record.
pub(crate) fn parse_window(record: &WindowRecord) -> Result<Window, String> {
    let exclude = record
        .exclude
        .iter()
        .map(|part| {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            Ok((parse(first)?, parse(last)?))
        })
        .collect::<Result<Vec<_>, String>>()?;
    Window::new(record.cidr, record.first, record.last, exclude).map_err(|error| error.to_string())
}

fn parse(text: &str) -> Result<IpAddr, String> {
    address::parse_ip(text).map_err(|error| error.to_string())
}
