use ipnet::IpNet;

use super::OpenSpace;
use crate::command::SpaceSelector;
use crate::model::space_name;
use crate::refusal::Refusal;
use crate::state::{SpaceIndex, State};

/// Why a range has no space yet.
#[derive(Debug)]
pub(super) enum Unresolved {
    /// These must be opened first.
    Open(Vec<OpenSpace>),
    /// The range is another space's; true as long as these heads stand.
    Refused(Refusal, Vec<SpaceIndex>),
}

/// The space that serves a range. First use of a CIDR decides whether it is private.
pub(super) fn resolve(
    state: &State,
    selector: &SpaceSelector,
    cidr: IpNet,
) -> Result<SpaceIndex, Unresolved> {
    let SpaceSelector {
        cluster,
        network_name,
        overlapping,
    } = selector;
    let Some(space) = state.spaces.resolve(cluster, network_name) else {
        return Err(Unresolved::Open(vec![OpenSpace {
            name: space_name(cluster, network_name, None),
            private: None,
            members: vec![(cluster.clone(), network_name.clone())],
        }]));
    };
    if state.spaces.has_pool(space, cidr) {
        return Ok(space);
    }
    match (overlapping, state.spaces.private(space, cidr)) {
        (true, None) => Ok(space),
        (true, Some(private)) => Err(Unresolved::Refused(
            Refusal::SpaceConflict {
                cidr,
                private: state.spaces.get(private).name.clone(),
            },
            vec![space],
        )),
        (false, Some(private)) => Ok(private),
        (false, None) => {
            let parent = state.spaces.get(space);
            Err(Unresolved::Open(vec![OpenSpace {
                name: format!("{}#{cidr}", parent.name),
                private: Some((parent.id, cidr)),
                members: Vec::new(),
            }]))
        }
    }
}
