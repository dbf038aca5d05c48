use super::{Change, Draft, NewEvent, OpenSpace, Verdict};
use crate::answer::Answer;
use crate::command::{Allocate, BindCluster, DeclareSpace};
use crate::event::{Kind, Payload};
use crate::model::{Provenance, space_name};
use crate::refusal::Refusal;
use crate::state::State;

/// The cluster's identity, as far as the request states it: refused if the name is bound to
/// another, bound now if it is bound to none and its default space exists.
pub(super) fn check(state: &State, request: &Allocate) -> Result<Option<NewEvent>, Refusal> {
    let cluster = &request.attachment.cluster;
    let Some(uid) = &request.cluster_uid else {
        return Ok(None);
    };
    match state.spaces.bound_uid(cluster) {
        Some(bound) if bound == uid => Ok(None),
        Some(bound) => Err(mismatch(cluster, bound, uid)),
        None if request.dry_run => Ok(None),
        None => Ok(binding(state, cluster, uid, &request.provenance)),
    }
}

/// Binds a cluster's name to the UID of its kube-system namespace.
pub(super) fn bind(state: &State, request: &BindCluster) -> Verdict {
    match state.spaces.bound_uid(&request.cluster) {
        Some(bound) if *bound == request.uid => {
            Verdict::Answer(Answer::ClusterBound(request.uid.clone()), Vec::new())
        }
        Some(bound) => Verdict::Refuse(mismatch(&request.cluster, bound, &request.uid), Vec::new()),
        None => match binding(state, &request.cluster, &request.uid, &request.provenance) {
            Some(event) => Verdict::Append(vec![event], Draft::ClusterBound(request.uid.clone())),
            None => Verdict::Open(vec![default_space(&request.cluster)]),
        },
    }
}

/// Declares a space that several clusters share. A member that has a space already would have
/// its addresses in two.
pub(super) fn declare(state: &State, request: &DeclareSpace) -> Verdict {
    let declared = state.spaces.find(&request.name);
    for (cluster, network_name) in &request.members {
        let resolved = state.spaces.resolve(cluster, network_name);
        if resolved.is_some() && resolved != declared {
            let space = resolved.map(|space| state.spaces.get(space).name.clone());
            let refusal = Refusal::MemberTaken {
                cluster: cluster.clone(),
                network_name: network_name.clone(),
                space: space.unwrap_or_default(),
            };
            return Verdict::Refuse(refusal, Vec::new());
        }
    }
    let complete = request
        .members
        .iter()
        .all(|(cluster, network_name)| state.spaces.resolve(cluster, network_name).is_some());
    match declared {
        Some(space) if complete && state.spaces.get(space).seq > 0 => {
            Verdict::Answer(Answer::SpaceDeclared(request.name.clone()), vec![space])
        }
        Some(space) if complete => {
            let mut payload =
                Payload::new(Kind::SpaceDeclared, "declared shared", &request.provenance);
            payload.evidence = Some(members_record(request));
            let event = NewEvent {
                space,
                target: None,
                change: Change::None,
                payload,
            };
            Verdict::Append(vec![event], Draft::SpaceDeclared(request.name.clone()))
        }
        _ => Verdict::Open(vec![OpenSpace {
            name: request.name.clone(),
            private: None,
            members: request.members.clone(),
        }]),
    }
}

fn members_record(request: &DeclareSpace) -> serde_json::Map<String, serde_json::Value> {
    let members = request
        .members
        .iter()
        .map(|(cluster, network_name)| {
            serde_json::json!({"cluster": cluster, "network_name": network_name})
        })
        .collect();
    [("members".to_owned(), serde_json::Value::Array(members))]
        .into_iter()
        .collect()
}

fn binding(state: &State, cluster: &str, uid: &str, provenance: &Provenance) -> Option<NewEvent> {
    let space = state.spaces.resolve(cluster, "")?;
    let mut payload = Payload::new(Kind::ClusterBound, "first contact", provenance);
    let evidence = [("cluster", cluster), ("uid", uid)]
        .map(|(key, value)| (key.to_owned(), serde_json::Value::from(value)));
    payload.evidence = Some(evidence.into_iter().collect());
    Some(NewEvent {
        space,
        target: None,
        change: Change::None,
        payload,
    })
}

fn default_space(cluster: &str) -> OpenSpace {
    OpenSpace {
        name: space_name(cluster, "", None),
        private: None,
        members: vec![(cluster.to_owned(), String::new())],
    }
}

fn mismatch(cluster: &str, bound: &str, given: &str) -> Refusal {
    Refusal::ClusterMismatch {
        cluster: cluster.to_owned(),
        bound: bound.to_owned(),
        given: given.to_owned(),
    }
}
