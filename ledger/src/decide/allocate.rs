use std::fmt::Write as _;

use super::choose::{self, Choice};
use super::resolve::{Unresolved, resolve};
use super::{Change, Draft, HoldChange, NewEvent, Verdict, cluster};
use crate::answer::{Allocated, AllocatedAddress, Answer, Receipt};
use crate::command::Allocate;
use crate::event::encoding::{Key, fingerprint_of, hex};
use crate::event::{Decision, Kind, Payload, WindowRecord};
use crate::refusal::{HoldRef, Refusal};
use crate::state::{Record, SpaceIndex, State};

pub(super) fn decide(state: &State, request: &Allocate, now_us: i64) -> Verdict {
    let binding = match cluster::check(state, request) {
        Ok(binding) => binding,
        Err(refusal) => return Verdict::Refuse(refusal, Vec::new()),
    };
    let key = request.attachment.key();
    let content = content_of(request);
    if let Some(verdict) = repeat(state, request, key, content) {
        return verdict;
    }
    let owner = owner_key(request);
    if let Some(refusal) = overtaken(state, request, key, owner, now_us) {
        return Verdict::Refuse(refusal, Vec::new());
    }
    let mut spaces = Vec::with_capacity(request.ranges.len());
    for window in &request.ranges {
        match resolve(state, &request.space, window.cidr()) {
            Ok(space) => spaces.push(space),
            Err(Unresolved::Open(open)) => return Verdict::Open(open),
            Err(Unresolved::Refused(refusal, seen)) => return Verdict::Refuse(refusal, seen),
        }
    }
    let older: Vec<Record> = owner.map_or_else(Vec::new, |owner| state.of_owner(owner));
    match choose::choose(state, request, &spaces, &older) {
        Err(refusal) => Verdict::Refuse(refusal, spaces),
        Ok(choices) if request.dry_run => Verdict::Answer(
            Answer::Allocated(preview(state, request, &spaces, &choices)),
            spaces,
        ),
        Ok(choices) => {
            let mut events: Vec<NewEvent> = binding.into_iter().collect();
            end_older(request, &older, &mut events);
            let mut chosen = Vec::with_capacity(choices.len());
            for (position, (choice, &space)) in choices.iter().zip(&spaces).enumerate() {
                chosen.push((events.len(), request.ranges[position].cidr()));
                let keys = (key, owner, content);
                events.push(hold_event(state, request, space, position, choice, keys));
            }
            Verdict::Append(events, Draft::Allocated(chosen))
        }
    }
}

/// The same attachment again: the same addresses, or a conflict that names the field.
fn repeat(state: &State, request: &Allocate, key: Key, content: u64) -> Option<Verdict> {
    let mut held = state.held_by_attachment(key);
    let mut imported = false;
    if held.is_empty() {
        held = request
            .attachment
            .imported_keys()
            .into_iter()
            .map(|key| state.held_by_attachment(key))
            .find(|held| !held.is_empty())?;
        imported = true;
    }
    let seen: Vec<SpaceIndex> = held.iter().map(|record| record.space).collect();
    let fits = if imported {
        // The source recorded no request: it is the same if every range has its address.
        held.len() == request.ranges.len() && order_by_window(&mut held, request)
    } else {
        held.iter().all(|record| record.content == content)
    };
    if !fits {
        let first = held.first()?;
        let refusal = Refusal::AttachmentConflict {
            key: "ranges".to_owned(),
            hold: hold_ref(state, first),
        };
        return Some(Verdict::Refuse(refusal, seen));
    }
    let addresses = held
        .iter()
        .map(|record| AllocatedAddress {
            ip: record.ip(),
            space: state.spaces.get(record.space).name.clone(),
            pool: state.pools.cidr(record.pool),
            receipt: Some(Receipt {
                step: record.step,
                seq: record.seq,
                recorded_at: timestamp(record.at_us),
            }),
        })
        .collect();
    let answer = Allocated {
        addresses,
        repeated: true,
        dry_run: request.dry_run,
        epoch: state.epoch,
    };
    Some(Verdict::Answer(Answer::Allocated(answer), seen))
}

/// Put imported holds into the order of the ranges; false if one fits none.
fn order_by_window(held: &mut Vec<Record>, request: &Allocate) -> bool {
    let mut ordered = Vec::with_capacity(held.len());
    for window in &request.ranges {
        let Some(index) = held.iter().position(|record| window.contains(record.ip())) else {
            return false;
        };
        ordered.push(held.swap_remove(index));
    }
    *held = ordered;
    true
}

/// A later call for this pod or attachment was applied before this one arrived.
fn overtaken(
    state: &State,
    request: &Allocate,
    key: Key,
    owner: Option<Key>,
    now_us: i64,
) -> Option<Refusal> {
    let stamp = request.token.as_ref().map(|token| {
        state
            .order
            .stamp(&request.attachment.cluster, node_of(request), token)
    });
    if let Some(stamp) = stamp {
        let last = owner
            .into_iter()
            .flat_map(|owner| state.of_owner(owner))
            .filter_map(|record| record.stamp())
            .chain(owner.and_then(|owner| state.order.last(owner)))
            .chain(state.order.last(key))
            .max();
        if last.is_some_and(|last| stamp < last) {
            return Some(Refusal::Stale {
                ifname: request.attachment.ifname.clone(),
            });
        }
    }
    let tombstone = state.order.tombstone(key, now_us)?;
    let later = matches!((stamp, tombstone.stamp), (Some(add), Some(del)) if add > del);
    (!later).then(|| Refusal::Deleted {
        container_id: request.attachment.container_id.clone(),
        ifname: request.attachment.ifname.clone(),
    })
}

/// Whatever the owner's older sandbox holds ends here, on every network and in every space; the
/// addresses that are kept are allocated again right after.
fn end_older(request: &Allocate, older: &[Record], events: &mut Vec<NewEvent>) {
    for record in older.iter().filter(|record| record.is_held()) {
        let mut payload = Payload::new(Kind::Released, "takeover", &request.provenance);
        payload.attachment = Some(request.attachment.clone());
        payload.owner = request.owner.clone();
        payload.token = request.token;
        payload.ends_seq = Some(record.allocated_seq);
        events.push(NewEvent {
            space: record.space,
            target: Some((record.ip(), record.step + 1)),
            change: Change::Free,
            payload,
        });
    }
}

fn hold_event(
    state: &State,
    request: &Allocate,
    space: SpaceIndex,
    position: usize,
    choice: &Choice,
    (attachment, owner, content): (Key, Option<Key>, u64),
) -> NewEvent {
    let window = &request.ranges[position];
    let position = u16::try_from(position).expect("a request has at most 16 ranges");
    let ranges = u16::try_from(request.ranges.len()).expect("a request has at most 16 ranges");
    let known = state.pools.find_window(space, window);
    let (held, cooling) = state.counts(space, window);
    let step = match choice.previous_step {
        // A takeover releases the old hold in between.
        Some(step) if choice.releases_first => step + 2,
        Some(step) => step + 1,
        None => 0,
    };
    let reason = if choice.releases_first {
        "takeover"
    } else {
        "add"
    };
    let mut payload = Payload::new(Kind::Allocated, reason, &request.provenance);
    payload.attachment = Some(request.attachment.clone());
    payload.owner = request.owner.clone();
    payload.token = request.token;
    payload.content = Some(hex(&content.to_be_bytes()));
    payload.cooldown_seconds = Some(request.cooldown_seconds);
    payload.decision = Some(Decision {
        capacity: window.capacity().to_string(),
        cooling: u64::try_from(cooling).unwrap_or(u64::MAX),
        held: u64::try_from(held).unwrap_or(u64::MAX),
        ips: request.ips.clone(),
        position,
        ranges,
        rule: choice.rule,
        window: match known {
            Some(known) if known.persisted => known.record.clone(),
            _ => WindowRecord::new(window, true),
        },
    });
    NewEvent {
        space,
        target: Some((choice.ip, step)),
        change: Change::Hold(Box::new(HoldChange {
            window: window.clone(),
            attachment,
            owner,
            token: request.token,
            content,
            cooldown_seconds: request.cooldown_seconds,
            position,
        })),
        payload,
    }
}

fn preview(
    state: &State,
    request: &Allocate,
    spaces: &[SpaceIndex],
    choices: &[Choice],
) -> Allocated {
    let addresses = choices
        .iter()
        .zip(spaces)
        .zip(&request.ranges)
        .map(|((choice, &space), window)| AllocatedAddress {
            ip: choice.ip,
            space: state.spaces.get(space).name.clone(),
            pool: window.cidr(),
            receipt: None,
        })
        .collect();
    Allocated {
        addresses,
        repeated: false,
        dry_run: true,
        epoch: state.epoch,
    }
}

pub(super) fn owner_key(request: &Allocate) -> Option<Key> {
    request
        .owner
        .as_ref()
        .and_then(|owner| owner.key(&request.attachment.cluster, &request.attachment.ifname))
}

pub(super) fn node_of(request: &Allocate) -> &str {
    request
        .owner
        .as_ref()
        .and_then(|owner| owner.node.as_deref())
        .unwrap_or_default()
}

pub(super) fn hold_ref(state: &State, record: &Record) -> HoldRef {
    HoldRef {
        space: state.spaces.get(record.space).name.clone(),
        ip: record.ip(),
        step: record.step,
        seq: record.allocated_seq,
    }
}

/// Microseconds as a time; the database cannot hold one that is out of range.
pub(crate) fn timestamp(at_us: i64) -> jiff::Timestamp {
    jiff::Timestamp::from_microsecond(at_us).unwrap_or(jiff::Timestamp::UNIX_EPOCH)
}

/// A fingerprint of everything that makes two requests of one attachment the same request.
fn content_of(request: &Allocate) -> u64 {
    let mut text = String::with_capacity(128);
    for window in &request.ranges {
        let _ = write!(
            text,
            "{} {} {}",
            window.cidr(),
            window.first(),
            window.last()
        );
        for (first, last) in window.excluded() {
            let _ = write!(text, " -{first}-{last}");
        }
        text.push('\n');
    }
    for ip in &request.ips {
        let _ = writeln!(text, "ip {ip}");
    }
    if let Some(owner) = &request.owner {
        let uid = owner.uid.as_deref().unwrap_or_default();
        let _ = writeln!(text, "{} {} {uid}", owner.namespace, owner.name);
    }
    let space = &request.space;
    let _ = write!(text, "{} {}", space.network_name, space.overlapping);
    fingerprint_of(&[&text])
}
