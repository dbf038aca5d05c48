use serde_json::{Map, Value};

use super::allocate::timestamp;
use super::{Change, Draft, NewEvent, Verdict, cluster};
use crate::answer::{self, Answer, GateSet};
use crate::command::SetGate;
use crate::event::{Kind, Payload};
use crate::refusal::Refusal;
use crate::state::{Gate, SpaceIndex, State};

/// Refuses a cluster whose gate is closed. The refusal holds as long as the head of its default
/// space, where the gate would be opened.
pub(super) fn check(state: &State, cluster: &str) -> Result<(), Verdict> {
    let Some(gate) = state.gates.of(cluster).filter(|gate| gate.closed) else {
        return Ok(());
    };
    let refusal = Refusal::Gated {
        cluster: cluster.to_owned(),
        reason: gate.reason.clone(),
        since: timestamp(gate.at_us),
    };
    let default = state.spaces.resolve(cluster, "");
    Err(Verdict::Refuse(refusal, default.into_iter().collect()))
}

/// Closes or opens a gate: one event in the cluster's default space, and one in every other space
/// that must tell it. What is missing in some is added by a repeat.
pub(super) fn set(state: &State, request: &SetGate, now_us: i64) -> Verdict {
    let name = &request.cluster;
    if let Err(refusal) = cluster::check(state, name, request.cluster_uid.as_deref()) {
        return Verdict::Refuse(refusal, Vec::new());
    }
    let Some(default) = state.spaces.resolve(name, "") else {
        return Verdict::Open(vec![cluster::default_space(name)]);
    };
    if request
        .spaces
        .iter()
        .any(|space| state.spaces.find(space).is_none())
    {
        return Verdict::Open(Vec::new());
    }
    let known = state.gates.of(name);
    let others = || {
        let all = state.spaces_of_gate(name).into_iter();
        all.filter(|&space| space != default)
    };
    if known.is_some_and(|gate| gate.closed) != request.closed {
        let gate = Gate {
            closed: request.closed,
            reason: request.reason.clone(),
            seq: state.spaces.get(default).seq + 1,
            at_us: now_us,
        };
        let mut events = vec![event(request, &gate, default, None)];
        events.extend(others().map(|space| event(request, &gate, space, Some(gate.seq))));
        return Verdict::Append(events, Draft::GateSet(outcome(request, Some(&gate), false)));
    }
    let Some(gate) = known else {
        return Verdict::Answer(Answer::GateSet(outcome(request, None, true)), vec![default]);
    };
    // With every head: what was told by a batch that is still on its way may come to nothing.
    let seen = std::iter::once(default).chain(others()).collect();
    let set = outcome(request, Some(gate), true);
    let missing: Vec<NewEvent> = others()
        .filter(|&space| !state.gates.is_told(space, name, gate.seq))
        .map(|space| event(request, gate, space, Some(gate.seq)))
        .collect();
    if missing.is_empty() {
        return Verdict::Answer(Answer::GateSet(set), seen);
    }
    Verdict::Append(missing, Draft::GateSet(set))
}

fn outcome(request: &SetGate, gate: Option<&Gate>, repeated: bool) -> GateSet {
    GateSet {
        settled: gate.is_none_or(|gate| gate.seq <= request.read_at),
        gate: gate.map(|gate| answer::Gate {
            closed: gate.closed,
            reason: gate.reason.clone(),
            since: timestamp(gate.at_us),
            seq: gate.seq,
        }),
        repeated,
    }
}

/// `first` is the position of the event that this one repeats in another space.
fn event(request: &SetGate, gate: &Gate, space: SpaceIndex, first: Option<u64>) -> NewEvent {
    let kind = if gate.closed {
        Kind::GateClosed
    } else {
        Kind::GateOpened
    };
    let mut payload = Payload::new(kind, &gate.reason, &request.provenance);
    let mut evidence = Map::new();
    evidence.insert("cluster".to_owned(), Value::from(request.cluster.as_str()));
    if let Some(seq) = first {
        evidence.insert("gate_seq".to_owned(), Value::from(seq));
    }
    payload.evidence = Some(evidence);
    NewEvent {
        space,
        target: None,
        change: Change::None,
        payload,
    }
}
