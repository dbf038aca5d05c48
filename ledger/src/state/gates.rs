//! Gates: clusters that get no address while another address manager serves a part of them.
//!
//! A gate is set by an event in the cluster's default space, and then told in every other space
//! that an allocate of the cluster could write to. Since `append` compares the heads of what it
//! writes to, whoever does not know of the gate yet finds another head, and follows the stream.

use std::collections::HashMap;

use super::{SpaceIndex, State};
use crate::decide::SHARED;

/// Whether a cluster may get addresses, and since when.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gate {
    /// It gets none.
    pub closed: bool,
    /// Why it was closed or opened.
    pub reason: String,
    /// Position of the event in the cluster's default space.
    pub seq: u64,
    /// Time of record of that event, in microseconds.
    pub at_us: i64,
}

/// The gates that were ever closed.
#[derive(Debug, Default)]
pub struct Gates {
    by_cluster: HashMap<String, Gate>,
    /// The last gate of a cluster that the stream of a space tells, by its position.
    told: HashMap<(SpaceIndex, String), u64>,
}

/// What one event changed, to take it back.
#[derive(Debug)]
pub(super) struct Told {
    pub(super) space: SpaceIndex,
    pub(super) cluster: String,
    /// Position of the gate.
    pub(super) seq: u64,
    pub(super) is_first: bool,
    gate_before: Option<Gate>,
    told_before: Option<u64>,
}

impl Told {
    pub(super) fn set_time(&mut self, cluster: &str, seq: u64, at_us: i64) {
        if self.cluster == cluster
            && let Some(gate) = self.gate_before.as_mut().filter(|gate| gate.seq == seq)
        {
            gate.at_us = at_us;
        }
    }
}

impl Gates {
    /// The gate of a cluster; `None` if it never was closed.
    #[must_use]
    pub fn of(&self, cluster: &str) -> Option<&Gate> {
        self.by_cluster.get(cluster)
    }

    /// Whether the stream of a space tells this gate of a cluster, or a later one.
    #[must_use]
    pub fn is_told(&self, space: SpaceIndex, cluster: &str, seq: u64) -> bool {
        let key = (space, cluster.to_owned());
        self.told.get(&key).is_some_and(|&told| told >= seq)
    }

    pub(super) fn tell(
        &mut self,
        space: SpaceIndex,
        cluster: &str,
        gate: Gate,
        is_first: bool,
    ) -> Told {
        let seq = gate.seq;
        let known = self.by_cluster.get(cluster).cloned();
        let is_news = known.as_ref().is_none_or(|known| {
            // What is told elsewhere has the time of its own event.
            seq > known.seq || (seq == known.seq && is_first)
        });
        if is_news {
            self.by_cluster.insert(cluster.to_owned(), gate);
        }
        let key = (space, cluster.to_owned());
        let told_before = self.told.get(&key).copied();
        self.told.insert(key, told_before.unwrap_or(0).max(seq));
        Told {
            space,
            cluster: cluster.to_owned(),
            seq,
            is_first,
            gate_before: known,
            told_before,
        }
    }

    pub(super) fn untell(&mut self, told: Told) {
        let Told {
            space,
            cluster,
            gate_before,
            told_before,
            ..
        } = told;
        let key = (space, cluster.clone());
        match told_before {
            Some(seq) => self.told.insert(key, seq),
            None => self.told.remove(&key),
        };
        match gate_before {
            Some(gate) => self.by_cluster.insert(cluster, gate),
            None => self.by_cluster.remove(&cluster),
        };
    }

    pub(super) fn set_time(&mut self, cluster: &str, seq: u64, at_us: i64) {
        let gate = self.by_cluster.get_mut(cluster);
        if let Some(gate) = gate.filter(|gate| gate.seq == seq) {
            gate.at_us = at_us;
        }
    }
}

impl State {
    /// Spaces whose streams must tell the gate of a cluster: those that it is a member of, and all
    /// shared ones, since it may become a member of them; with the private spaces split from them.
    /// A space that is opened later is known to nobody who does not know the gate: memory is always
    /// at one moment of all spaces.
    #[must_use]
    pub fn spaces_of_gate(&self, cluster: &str) -> Vec<SpaceIndex> {
        let is_own = |space: SpaceIndex| {
            self.spaces.has_member(cluster, space)
                || self.spaces.get(space).name.starts_with(SHARED)
        };
        self.spaces
            .iter()
            .filter(|(index, space)| {
                let (of, _) = space.private.unzip();
                is_own(of.unwrap_or(*index))
            })
            .map(|(index, _)| index)
            .collect()
    }
}
