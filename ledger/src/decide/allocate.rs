use std::fmt::Write as _;

use super::choose::{self, Choice, Chooser};
use super::resolve::{Place, resolve};
use super::{Change, Draft, HoldChange, NewEvent, Verdict, cluster, first_call, gate, repeat};
use crate::answer::{Allocated, AllocatedAddress, Answer, Receipt};
use crate::command::Allocate;
use crate::event::encoding::{Key, fingerprint_of, hex};
use crate::event::{Decision, Kind, Payload, WindowRecord};
use crate::model::Attachment;
use crate::refusal::{HoldRef, Refusal};
use crate::state::{Keep, Record, SpaceIndex, State};

pub(super) fn decide(state: &State, request: &Allocate, now_us: i64) -> Verdict {
    try_decide(state, request, now_us).unwrap_or_else(|verdict| verdict)
}

/// The verdict; an error is one that ends the checks early.
fn try_decide(state: &State, request: &Allocate, now_us: i64) -> Result<Verdict, Verdict> {
    let refused = |refusal| Verdict::Refuse(refusal, Vec::new());
    let fixed = choose::assign_fixed(request).map_err(refused)?;
    let cluster = &request.attachment.cluster;
    cluster::check(state, cluster, request.cluster_uid.as_deref()).map_err(refused)?;
    first_call(state, request.boot())?;
    let key = request.attachment.key();
    let content = content_of(request);
    repeat::check(state, request, (key, content), &fixed)?;
    let owner = owner_key(request);
    overtaken(state, request, key, owner, now_us)?;
    gate::check(state, cluster)?;
    let places = request
        .ranges
        .iter()
        .map(|window| resolve(state, &request.space, window.cidr()))
        .collect::<Result<Vec<Place>, Verdict>>()?;
    let older: Vec<Record> = owner.map_or_else(Vec::new, |owner| state.of_owner(owner));
    let kept = kept_for(state, request, now_us);
    let chooser = Chooser {
        state,
        request,
        places: &places,
        owner,
        older: &older,
        kept: &kept,
        now_us,
    };
    let seen = || places.iter().filter_map(Place::space).collect();
    let choices = chooser
        .choose(&fixed)
        .map_err(|refusal| Verdict::Refuse(refusal, seen()))?;
    if request.dry_run {
        let preview = preview(state, request, &places, &choices);
        return Ok(Verdict::Answer(Answer::Allocated(preview), seen()));
    }
    let mut events: Vec<NewEvent> = cluster::bind_now(state, request, &places)?;
    end_older(request, &older, &mut events);
    let mut chosen = Vec::with_capacity(choices.len());
    for (position, (choice, space)) in choices.iter().zip(seen()).enumerate() {
        chosen.push((events.len(), request.ranges[position].cidr()));
        let keys = (key, owner, content);
        events.push(hold_event(state, request, space, position, choice, keys));
    }
    Ok(Verdict::Append(events, Draft::Allocated(chosen)))
}

/// A later call for this pod or attachment was applied before this one arrived.
fn overtaken(
    state: &State,
    request: &Allocate,
    key: Key,
    owner: Option<Key>,
    now_us: i64,
) -> Result<(), Verdict> {
    let refused = |refusal| Err(Verdict::Refuse(refusal, Vec::new()));
    let stamp = request.token.as_ref().map(|token| state.order.stamp(token));
    if let Some(stamp) = stamp {
        let last = owner
            .into_iter()
            .flat_map(|owner| state.of_owner(owner))
            .filter_map(|record| record.stamp())
            .chain(owner.and_then(|owner| state.order.last(owner)))
            .chain(state.order.last(key))
            .max();
        if last.is_some_and(|last| stamp < last) {
            return refused(Refusal::Stale {
                ifname: request.attachment.ifname.clone(),
            });
        }
    }
    let Some(tombstone) = state.order.tombstone(key, now_us) else {
        return Ok(());
    };
    if matches!((request.token, tombstone.token),
        (Some(add), Some(del)) if state.order.is_later(&add, &del))
    {
        return Ok(());
    }
    refused(Refusal::Deleted {
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
    let taken = state.counts(space, window);
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
    let keep = keep(request);
    let mut payload = Payload::new(Kind::Allocated, reason, &request.provenance);
    payload.attachment = Some(request.attachment.clone());
    payload.owner = request.owner.clone();
    if request
        .owner
        .as_ref()
        .is_some_and(|owner| owner.uid.is_none())
    {
        // An old runtime: namespace, name and node stand in.
        payload.inferred = vec!["owner.uid".to_owned()];
    }
    payload.token = request.token;
    payload.content = Some(hex(&content.to_be_bytes()));
    payload.cooldown_seconds = Some(request.cooldown_seconds);
    payload.sticky_seconds = keep.map(|keep| keep.seconds);
    payload.decision = Some(Decision {
        capacity: window.capacity().to_string(),
        cooling: to_u64(taken.cooling),
        held: to_u64(taken.held),
        ips: request.ips.clone(),
        position,
        ranges,
        reserved: to_u64(taken.reserved),
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
            rest_seconds: payload.rest_seconds(),
            keep,
            position,
        })),
        payload,
    }
}

/// For whom the addresses are kept after their release, if the request wants that.
fn keep(request: &Allocate) -> Option<Keep> {
    let seconds = request.sticky_seconds;
    let name = (seconds > 0).then(|| name_key(request))??;
    Some(Keep { name, seconds })
}

/// What is kept for the pod of this name. Its request need not be sticky any more.
fn kept_for(state: &State, request: &Allocate, now_us: i64) -> Vec<Record> {
    let name = state.keeps_any().then(|| name_key(request)).flatten();
    name.map_or_else(Vec::new, |name| state.kept_by_name(name, now_us))
}

fn name_key(request: &Allocate) -> Option<Key> {
    let Attachment {
        cluster, ifname, ..
    } = &request.attachment;
    request.owner.as_ref()?.name_key(cluster, ifname)
}

/// Larger counts are told as the largest number there is.
pub(super) fn to_u64(count: u128) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}

fn preview(state: &State, request: &Allocate, places: &[Place], choices: &[Choice]) -> Allocated {
    let addresses = choices
        .iter()
        .zip(places)
        .zip(&request.ranges)
        .map(|((choice, place), window)| AllocatedAddress {
            ip: choice.ip,
            space: place.name(state).to_owned(),
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

fn owner_key(request: &Allocate) -> Option<Key> {
    request
        .owner
        .as_ref()
        .and_then(|owner| owner.key(&request.attachment.cluster, &request.attachment.ifname))
}

pub(super) fn hold_ref(state: &State, record: &Record) -> HoldRef {
    HoldRef {
        space: state.spaces.get(record.space).name.clone(),
        ip: record.ip(),
        step: record.step,
        seq: record.allocated_seq,
    }
}

/// Where the last event about an address stands.
pub(super) fn receipt(record: &Record) -> Receipt {
    Receipt {
        step: record.step,
        seq: record.seq,
        recorded_at: timestamp(record.at_us),
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
