use super::{Burial, Change, Draft, NewEvent, Verdict, cluster, first_call};
use crate::answer::{Answer, Released};
use crate::command::Release;
use crate::event::{Kind, Payload};
use crate::state::{Record, State};

/// Frees exactly what this attachment holds; needs neither range nor definition.
pub(super) fn decide(state: &State, request: &Release) -> Verdict {
    let cluster = &request.attachment.cluster;
    if let Err(refusal) = cluster::check(state, cluster, request.cluster_uid.as_deref()) {
        return Verdict::Refuse(refusal, Vec::new());
    }
    if let Err(verdict) = first_call(state, request.boot()) {
        return verdict;
    }
    let key = request.attachment.key();
    let held = held(state, request);
    if held.is_empty() {
        let owner = request.owner.as_ref();
        return Verdict::Bury(Burial {
            attachment: key,
            token: request.token,
            cluster: request.attachment.cluster.clone(),
            node: owner
                .and_then(|owner| owner.node.clone())
                .unwrap_or_default(),
        });
    }
    let answered = |stale| {
        let released = Released {
            released: Vec::new(),
            stale,
            epoch: state.epoch,
        };
        let seen = held.iter().map(|record| record.space).collect();
        Verdict::Answer(Answer::Released(released), seen)
    };
    // Of holds whose interface the source did not know, one is taken for the only one. Of several
    // some may be a living interface's, so all are left to sync.
    let [_, of_sandbox] = request.attachment.imported_keys();
    if held.len() > 1 && held[0].attachment == of_sandbox {
        return answered(false);
    }
    if let Some(token) = &request.token {
        let stamp = state.order.stamp(token);
        if held
            .iter()
            .filter_map(Record::stamp)
            .any(|last| stamp < last)
        {
            return answered(true);
        }
    }
    let events = held
        .iter()
        .map(|record| release_event(request, record))
        .collect();
    Verdict::Append(events, Draft::Released)
}

/// What may end with this attachment: its own holds, or else those that were imported for it.
fn held(state: &State, request: &Release) -> Vec<Record> {
    let [of_interface, of_sandbox] = request.attachment.imported_keys();
    for key in [request.attachment.key(), of_interface] {
        let held = state.held_by_attachment(key);
        if !held.is_empty() {
            return held;
        }
    }
    state.held_by_attachment(of_sandbox)
}

fn release_event(request: &Release, record: &Record) -> NewEvent {
    let mut payload = Payload::new(Kind::Released, "del", &request.provenance);
    payload.attachment = Some(request.attachment.clone());
    payload.owner = request.owner.clone();
    payload.token = request.token;
    payload.ends_seq = Some(record.allocated_seq);
    NewEvent {
        space: record.space,
        target: Some((record.ip(), record.step + 1)),
        change: Change::Free,
        payload,
    }
}
