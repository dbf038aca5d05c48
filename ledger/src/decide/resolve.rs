use std::net::IpAddr;

use address::{RunSet, Window};
use ipnet::IpNet;

use super::{OpenSpace, Verdict};
use crate::command::SpaceSelector;
use crate::model::space_name;
use crate::refusal::Refusal;
use crate::state::{Record, SpaceIndex, State, Taken};

/// Where a range is served. A space that does not exist yet is empty: it is opened only when
/// something is appended to it, so that a look or a refusal changes nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Place {
    Space(SpaceIndex),
    /// The space of this name, for which another one may have to be opened first.
    Unopened {
        name: String,
        open: OpenSpace,
    },
}

/// The place of a range. First use of a CIDR decides whether it is private.
pub(super) fn resolve(
    state: &State,
    selector: &SpaceSelector,
    cidr: IpNet,
) -> Result<Place, Verdict> {
    let SpaceSelector {
        cluster,
        network_name,
        overlapping,
    } = selector;
    let Some(space) = state.spaces.resolve(cluster, network_name) else {
        return Ok(Place::Unopened {
            name: space_name(cluster, network_name, (!overlapping).then_some(cidr)),
            open: OpenSpace {
                name: space_name(cluster, network_name, None),
                private: None,
                members: vec![(cluster.clone(), network_name.clone())],
            },
        });
    };
    if state.spaces.has_pool(space, cidr) {
        return Ok(Place::Space(space));
    }
    match (overlapping, state.spaces.private(space, cidr)) {
        (true, None) => Ok(Place::Space(space)),
        (true, Some(private)) => {
            let private = state.spaces.get(private).name.clone();
            let refusal = Refusal::SpaceConflict { cidr, private };
            Err(Verdict::Refuse(refusal, vec![space]))
        }
        (false, Some(private)) => Ok(Place::Space(private)),
        (false, None) => Ok(private_place(state, space, cidr)),
    }
}

fn private_place(state: &State, parent: SpaceIndex, cidr: IpNet) -> Place {
    let parent = state.spaces.get(parent);
    let name = format!("{}#{cidr}", parent.name);
    Place::Unopened {
        name: name.clone(),
        open: OpenSpace {
            name,
            private: Some((parent.id, cidr)),
            members: Vec::new(),
        },
    }
}

impl Place {
    pub(super) fn space(&self) -> Option<SpaceIndex> {
        match self {
            Place::Space(space) => Some(*space),
            Place::Unopened { .. } => None,
        }
    }

    /// What must be opened before anything can be appended here.
    pub(super) fn unopened(&self) -> Option<&OpenSpace> {
        match self {
            Place::Space(_) => None,
            Place::Unopened { open, .. } => Some(open),
        }
    }

    pub(super) fn name<'a>(&'a self, state: &'a State) -> &'a str {
        match self {
            Place::Space(space) => &state.spaces.get(*space).name,
            Place::Unopened { name, .. } => name,
        }
    }

    pub(super) fn record_of<'a>(&self, state: &'a State, ip: IpAddr) -> Option<&'a Record> {
        state.record_of(self.space()?, ip)
    }

    /// How many addresses of a window are taken.
    pub(super) fn counts(&self, state: &State, window: &Window) -> Taken {
        self.space()
            .map_or_else(Taken::default, |space| state.counts(space, window))
    }

    /// The lowest number of the window, at or above `from`, that is neither held nor resting.
    pub(super) fn lowest_free(&self, state: &State, window: &Window, from: u128) -> Option<u128> {
        match self {
            Place::Space(space) => {
                address::lowest_free(window, state.spaces.taken(*space, window.family()), from)
            }
            Place::Unopened { .. } => address::lowest_free(window, &RunSet::default(), from),
        }
    }
}
