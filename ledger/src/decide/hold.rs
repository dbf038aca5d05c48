use address::Window;

use super::allocate::{hold_ref, timestamp};
use super::resolve::{Unresolved, resolve};
use super::{Change, Draft, HoldChange, NewEvent, Verdict};
use crate::answer::{Answer, HoldReleased, ImportOutcome, Imported, Receipt, ReleasedAddress};
use crate::command::{Import, ReleaseHold};
use crate::event::encoding::sorted;
use crate::event::{Decision, DecisionRule, Kind, Payload, WindowRecord};
use crate::model::Attachment;
use crate::refusal::{Refusal, StepText};
use crate::state::{Class, Record, SpaceIndex, State};

/// Ends one hold, named by address and step, and no other.
pub(super) fn release(state: &State, request: &ReleaseHold) -> Verdict {
    let Some(space) = state.spaces.find(&request.space) else {
        return Verdict::Refuse(Refusal::NoSuchSpace(request.space.clone()), Vec::new());
    };
    let record = state.record_of(space, request.ip);
    match record {
        Some(record) if record.step == request.step && record.is_held() => {
            let mut payload = Payload::new(Kind::Released, &request.reason, &request.provenance);
            payload.evidence = Some(sorted(&request.evidence));
            payload.ends_seq = Some(record.allocated_seq);
            let event = NewEvent {
                space,
                target: Some((request.ip, request.step + 1)),
                change: Change::Free,
                payload,
            };
            Verdict::Append(vec![event], Draft::HoldReleased)
        }
        // Its own release stands: a repeat.
        Some(record) if request.step % 2 == 0 && record.step == request.step + 1 => {
            let released = ReleasedAddress {
                ip: request.ip,
                space: request.space.clone(),
                receipt: Receipt {
                    step: record.step,
                    seq: record.seq,
                    recorded_at: timestamp(record.at_us),
                },
            };
            let answer = HoldReleased {
                released,
                repeated: true,
                epoch: state.epoch,
            };
            Verdict::Answer(Answer::HoldReleased(answer), vec![space])
        }
        other => Verdict::Refuse(
            Refusal::StepMismatch {
                ip: request.ip,
                expected: request.step,
                actual: StepText(other.map(|record| record.step)),
            },
            vec![space],
        ),
    }
}

/// Records a hold that another address manager made.
pub(super) fn import(state: &State, request: &Import) -> Verdict {
    let space = match resolve(state, &request.space, request.pool) {
        Ok(space) => space,
        Err(Unresolved::Open(open)) => return Verdict::Open(open),
        Err(Unresolved::Refused(refusal, seen)) => return Verdict::Refuse(refusal, seen),
    };
    let attachment = Attachment {
        cluster: request.space.cluster.clone(),
        container_id: request.container_id.clone(),
        ifname: request.ifname.clone().unwrap_or_default(),
        network: String::new(),
    };
    let record = state.record_of(space, request.ip);
    match record {
        Some(record) if record.is_held() && record.attachment == attachment.key() => {
            let held = Imported {
                outcome: ImportOutcome::Held,
                step: record.step,
                seq: record.allocated_seq,
            };
            return Verdict::Answer(Answer::Imported(held), vec![space]);
        }
        _ => {}
    }
    if let Some((step, seq)) = request.ended_before {
        let ended = Imported {
            outcome: ImportOutcome::Ended,
            step,
            seq,
        };
        return Verdict::Answer(Answer::Imported(ended), vec![space]);
    }
    if let Some(record) = record.filter(|record| record.class != Class::Free) {
        let refusal = if record.is_held() {
            Refusal::AddressTaken {
                ip: request.ip,
                hold: hold_ref(state, record),
            }
        } else {
            let until = timestamp(record.cooling_until_us());
            Refusal::AddressCooling {
                ip: request.ip,
                until,
            }
        };
        return Verdict::Refuse(refusal, vec![space]);
    }
    import_event(state, request, space, record, attachment)
}

fn import_event(
    state: &State,
    request: &Import,
    space: SpaceIndex,
    record: Option<&Record>,
    attachment: Attachment,
) -> Verdict {
    let window = match whole_pool(request) {
        Ok(window) => window,
        Err(refusal) => return Verdict::Refuse(refusal, Vec::new()),
    };
    let key = attachment.key();
    // The same sandbox and interface may hold one address per range.
    let position = state
        .held_by_attachment(key)
        .iter()
        .map(|r| r.position + 1)
        .max()
        .unwrap_or(0);
    let (held, cooling) = state.counts(space, &window);
    let mut payload = Payload::new(Kind::Allocated, "import", &request.provenance);
    payload.inferred = inferred(request);
    payload.attachment = Some(attachment);
    payload.owner = request.owner.clone();
    payload.evidence = Some(sorted(&request.evidence));
    payload.cooldown_seconds = Some(0);
    payload.decision = Some(Decision {
        capacity: window.capacity().to_string(),
        cooling: u64::try_from(cooling).unwrap_or(u64::MAX),
        held: u64::try_from(held).unwrap_or(u64::MAX),
        ips: vec![request.ip],
        position,
        ranges: position + 1,
        rule: DecisionRule::Import,
        window: WindowRecord::new(&window, true),
    });
    let event = NewEvent {
        space,
        target: Some((request.ip, record.map_or(0, |record| record.step + 1))),
        change: Change::Hold(Box::new(HoldChange {
            window,
            attachment: key,
            owner: None,
            token: None,
            content: 0,
            cooldown_seconds: 0,
            position,
        })),
        payload,
    };
    Verdict::Append(vec![event], Draft::Imported)
}

/// The window of an import is the whole pool: the source kept no other.
fn whole_pool(request: &Import) -> Result<Window, Refusal> {
    let range = request.pool.to_string();
    let text = address::WindowText {
        range: &range,
        range_start: None,
        range_end: None,
        exclude: &[],
    };
    let invalid = |problem: String| Refusal::Invalid {
        key: "range".to_owned(),
        value: range.clone(),
        problem,
    };
    let window = Window::parse(&text).map_err(|error| invalid(error.problem().to_owned()))?;
    if !request.pool.contains(&request.ip) {
        return Err(Refusal::Invalid {
            key: "address".to_owned(),
            value: request.ip.to_string(),
            problem: format!("lies outside the range {range}"),
        });
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
