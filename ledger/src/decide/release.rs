use super::{Burial, Change, Draft, NewEvent, Verdict, cluster};
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
    let key = request.attachment.key();
    let mut held = state.held_by_attachment(key);
    if held.is_empty() {
        held = request
            .attachment
            .imported_keys()
            .into_iter()
            .map(|key| state.held_by_attachment(key))
            .find(|held| !held.is_empty())
            .unwrap_or_default();
    }
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
    if let Some(token) = &request.token {
        let stamp = state.order.stamp(token);
        if held
            .iter()
            .filter_map(Record::stamp)
            .any(|last| stamp < last)
        {
            let answer = Released {
                released: Vec::new(),
                stale: true,
                epoch: state.epoch,
            };
            let seen = held.iter().map(|record| record.space).collect();
            return Verdict::Answer(Answer::Released(answer), seen);
        }
    }
    let events = held
        .iter()
        .map(|record| release_event(request, record))
        .collect();
    Verdict::Append(events, Draft::Released)
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
