use std::net::IpAddr;

use address::Window;
use ipnet::IpNet;
use serde_json::{Map, Value};

use super::allocate::{hold_ref, receipt, to_u64};
use super::choose::resting;
use super::resolve::{Place, resolve};
use super::{Change, Draft, HoldChange, NewEvent, Verdict, cluster};
use crate::answer::{Answer, HoldReleased, ImportOutcome, Imported, ReleasedAddress};
use crate::command::{Import, ReleaseHold};
use crate::event::encoding::{find_unfit, sorted};
use crate::event::{Decision, DecisionRule, Kind, Payload, WindowRecord};
use crate::model::Attachment;
use crate::refusal::{Refusal, StepText};
use crate::state::{Class, Record, SpaceIndex, State};

/// Ends one hold, named by address and step, and no other.
pub(super) fn release(state: &State, request: &ReleaseHold) -> Verdict {
    if let Err(refusal) = check_evidence(&request.evidence) {
        return Verdict::Refuse(refusal, Vec::new());
    }
    let Some(space) = state.spaces.find(&request.space) else {
        return Verdict::Refuse(Refusal::NoSuchSpace(request.space.clone()), Vec::new());
    };
    let record = state.record_of(space, request.ip);
    match record {
        // A person gives it back, and nobody else frees it.
        Some(record) if record.step == request.step && record.class == Class::Reserved => {
            let (ip, hold) = (request.ip, hold_ref(state, record));
            Verdict::Refuse(Refusal::AddressReserved { ip, hold }, vec![space])
        }
        Some(record) if record.step == request.step && record.is_held() => {
            let mut payload = Payload::new(Kind::Released, &request.reason, &request.provenance);
            payload.evidence = Some(sorted(&request.evidence));
            end(record, payload)
        }
        // Its own release stands.
        Some(record) if request.step.is_multiple_of(2) && record.step == request.step + 1 => {
            ended(state, record)
        }
        other => step_mismatch(space, request.ip, request.step, other),
    }
}

/// Ends the present step of an address, named by the event that began it.
pub(super) fn end(record: &Record, mut payload: Payload) -> Verdict {
    payload.ends_seq = Some(record.allocated_seq);
    let event = NewEvent {
        space: record.space,
        target: Some((record.ip(), record.step + 1)),
        change: Change::Free,
        payload,
    };
    Verdict::Append(vec![event], Draft::HoldReleased)
}

/// The release that was asked for is the last event already: a repeat.
pub(super) fn ended(state: &State, record: &Record) -> Verdict {
    let answer = HoldReleased {
        released: ReleasedAddress {
            ip: record.ip(),
            space: state.spaces.get(record.space).name.clone(),
            receipt: receipt(record),
        },
        repeated: true,
        epoch: state.epoch,
    };
    Verdict::Answer(Answer::HoldReleased(answer), vec![record.space])
}

/// The address is at another step than the caller looked at.
pub(super) fn step_mismatch(
    space: SpaceIndex,
    ip: IpAddr,
    expected: u32,
    record: Option<&Record>,
) -> Verdict {
    let refusal = Refusal::StepMismatch {
        ip,
        expected,
        actual: StepText(record.map(|record| record.step)),
    };
    Verdict::Refuse(refusal, vec![space])
}

/// Records a hold that another address manager made.
pub(super) fn import(state: &State, request: &Import, now_us: i64) -> Verdict {
    try_import(state, request, now_us).unwrap_or_else(|verdict| verdict)
}

/// The verdict; an error is one that ends the checks early.
fn try_import(state: &State, request: &Import, now_us: i64) -> Result<Verdict, Verdict> {
    let refused = |refusal| Verdict::Refuse(refusal, Vec::new());
    let window = whole_pool(request.pool, request.ip).map_err(refused)?;
    check_evidence(&request.evidence).map_err(refused)?;
    let uid = request.cluster_uid.as_deref();
    cluster::check(state, &request.space.cluster, uid).map_err(refused)?;
    let place = resolve(state, &request.space, request.pool)?;
    let attachment = Attachment {
        cluster: request.space.cluster.clone(),
        container_id: request.container_id.clone(),
        ifname: request.ifname.clone().unwrap_or_default(),
        network: String::new(),
    };
    let record = place.record_of(state, request.ip);
    let seen: Vec<SpaceIndex> = place.space().into_iter().collect();
    let known = |outcome, step, seq| {
        let imported = Imported { outcome, step, seq };
        Verdict::Answer(Answer::Imported(imported), seen.clone())
    };
    let own = record.filter(|record| record.attachment == attachment.key());
    if let Some(record) = own.filter(|record| record.is_held()) {
        return Ok(known(
            ImportOutcome::Held,
            record.step,
            record.allocated_seq,
        ));
    }
    // It may have ended after the history was looked up.
    let ended = own.map(|record| (record.step - 1, record.allocated_seq));
    if let Some((step, seq)) = ended.or(request.ended_before) {
        return Ok(known(ImportOutcome::Ended, step, seq));
    }
    if let Some(refusal) = record.and_then(|record| in_the_way(state, record, now_us)) {
        return Err(Verdict::Refuse(refusal, seen));
    }
    match &place {
        Place::Unopened { open, .. } => Ok(Verdict::Open(vec![open.clone()])),
        Place::Space(space) => {
            let step = record.map_or(0, |record| record.step + 1);
            let event = import_event(state, request, (*space, step), window, attachment);
            Ok(Verdict::Append(vec![event], Draft::Imported))
        }
    }
}

/// Why an address cannot be recorded as held by somebody else.
fn in_the_way(state: &State, record: &Record, now_us: i64) -> Option<Refusal> {
    let ip = record.ip();
    match record.class {
        Class::Free => None,
        Class::Held => Some(Refusal::AddressTaken {
            ip,
            hold: hold_ref(state, record),
        }),
        Class::Reserved => Some(Refusal::AddressReserved {
            ip,
            hold: hold_ref(state, record),
        }),
        Class::Cooling => Some(resting(state, record, now_us)),
    }
}

fn import_event(
    state: &State,
    request: &Import,
    (space, step): (SpaceIndex, u32),
    window: Window,
    attachment: Attachment,
) -> NewEvent {
    let key = attachment.key();
    // The same sandbox and interface may hold one address per range.
    let position = state
        .held_by_attachment(key)
        .iter()
        .map(|r| r.position + 1)
        .max()
        .unwrap_or(0);
    let taken = state.counts(space, &window);
    let mut payload = Payload::new(Kind::Allocated, "import", &request.provenance);
    payload.inferred = inferred(request);
    payload.attachment = Some(attachment);
    payload.owner = request.owner.clone();
    payload.evidence = Some(sorted(&request.evidence));
    payload.cooldown_seconds = Some(0);
    payload.decision = Some(Decision {
        capacity: window.capacity().to_string(),
        cooling: to_u64(taken.cooling),
        held: to_u64(taken.held),
        ips: vec![request.ip],
        position,
        ranges: position + 1,
        reserved: to_u64(taken.reserved),
        rule: DecisionRule::Import,
        window: WindowRecord::new(&window, true),
    });
    NewEvent {
        space,
        target: Some((request.ip, step)),
        change: Change::Hold(Box::new(HoldChange {
            window,
            attachment: key,
            owner: None,
            token: None,
            content: 0,
            rest_seconds: 0,
            keep: None,
            position,
        })),
        payload,
    }
}

/// Only what every program writes the same way, and PostgreSQL can read, is recorded.
fn check_evidence(evidence: &Map<String, Value>) -> Result<(), Refusal> {
    match find_unfit("evidence", &Value::Object(evidence.clone())) {
        None => Ok(()),
        Some((key, value, problem)) => Err(Refusal::Invalid {
            key,
            value,
            problem: problem.to_owned(),
        }),
    }
}

/// The window of an import, or of a reservation, is the whole pool: there is no other.
pub(super) fn whole_pool(pool: IpNet, ip: IpAddr) -> Result<Window, Refusal> {
    let range = pool.to_string();
    let text = address::WindowText {
        range: &range,
        range_start: None,
        range_end: None,
        exclude: &[],
    };
    let invalid = |key: &str, value: &str, problem: String| Refusal::Invalid {
        key: key.to_owned(),
        value: value.to_owned(),
        problem,
    };
    let window = Window::parse(&text)
        .map_err(|error| invalid("range", &range, error.problem().to_owned()))?;
    if !pool.contains(&ip) {
        let problem = format!("lies outside the range {range}");
        return Err(invalid("address", &ip.to_string(), problem));
    }
    Ok(window)
}

/// Field names that the source did not state.
fn inferred(request: &Import) -> Vec<String> {
    let mut fields = vec!["network"];
    if request.ifname.is_none() {
        fields.push("ifname");
    }
    match &request.owner {
        None => fields.push("owner"),
        Some(owner) => {
            if owner.uid.is_none() {
                fields.push("owner.uid");
            }
            if owner.node.is_none() {
                fields.push("owner.node");
            }
        }
    }
    fields.into_iter().map(str::to_owned).collect()
}
