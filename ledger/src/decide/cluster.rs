use super::resolve::Place;
use super::{Change, Draft, NewEvent, OpenSpace, Verdict};
use crate::answer::Answer;
use crate::command::{Allocate, BindCluster, DeclareSpace};
use crate::event::{Kind, Payload};
use crate::model::{Provenance, space_name};
use crate::refusal::Refusal;
use crate::state::State;

/// How the names of shared spaces begin; no cluster's name has a colon.
pub(crate) const SHARED: &str = "shared:";

/// The cluster's identity, as far as the request states it: refused if the name is bound to
/// another.
pub(super) fn check(state: &State, cluster: &str, uid: Option<&str>) -> Result<(), Refusal> {
    match (uid, state.spaces.bound_uid(cluster)) {
        (Some(uid), Some(bound)) if uid != bound => Err(mismatch(cluster, bound, uid)),
        _ => Ok(()),
    }
}

/// What an allocate must append before its holds: the binding of its cluster at first contact.
/// An error tells what must be opened first: the spaces of the ranges, and the cluster's default
/// space, whose stream has the binding.
pub(super) fn bind_now(
    state: &State,
    request: &Allocate,
    places: &[Place],
) -> Result<Vec<NewEvent>, Verdict> {
    let cluster = &request.attachment.cluster;
    let first_contact = request
        .cluster_uid
        .as_ref()
        .filter(|_| state.spaces.bound_uid(cluster).is_none());
    let event =
        first_contact.map(|uid| binding(state, cluster, uid, &request.provenance).ok_or(cluster));
    let default = matches!(event, Some(Err(_))).then(|| default_space(cluster));
    let mut open: Vec<OpenSpace> = Vec::new();
    for space in places.iter().filter_map(Place::unopened).chain(&default) {
        if !open.contains(space) {
            open.push(space.clone());
        }
    }
    if open.is_empty() {
        return Ok(event.and_then(Result::ok).into_iter().collect());
    }
    Err(Verdict::Open(open))
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

/// Declares a space that several clusters share, or further members of one. A member that has a
/// space already would have its addresses in two.
pub(super) fn declare(state: &State, request: &DeclareSpace) -> Verdict {
    if !request.name.starts_with(SHARED) {
        let refusal = Refusal::Invalid {
            key: "name".to_owned(),
            value: request.name.clone(),
            problem: format!("does not begin with {SHARED:?}, as shared spaces do"),
        };
        return Verdict::Refuse(refusal, Vec::new());
    }
    let declared = state.spaces.find(&request.name);
    let mut complete = true;
    for (cluster, network_name) in &request.members {
        match state.spaces.resolve(cluster, network_name) {
            None => complete = false,
            resolved if resolved == declared => {}
            Some(other) => {
                let refusal = Refusal::MemberTaken {
                    cluster: cluster.clone(),
                    network_name: network_name.clone(),
                    space: state.spaces.get(other).name.clone(),
                };
                return Verdict::Refuse(refusal, Vec::new());
            }
        }
    }
    match declared {
        Some(space) if complete && state.spaces.get(space).seq > 0 => {
            Verdict::Answer(Answer::SpaceDeclared(request.name.clone()), vec![space])
        }
        // The members join with the event that says so.
        Some(space) => {
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
        None => Verdict::Open(vec![OpenSpace {
            name: request.name.clone(),
            private: None,
            members: Vec::new(),
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

pub(super) fn default_space(cluster: &str) -> OpenSpace {
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
