use std::collections::HashMap;

use address::{Family, RunSet};
use ipnet::IpNet;

/// Index of a space in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SpaceIndex(pub u32);

/// One space: its head, and which of its addresses are taken.
#[derive(Debug)]
pub struct Space {
    /// Key in the database.
    pub id: i32,
    /// Name, as in every hash.
    pub name: String,
    /// Position of its last event.
    pub seq: u64,
    /// Time of record of its last event, in microseconds; 0 for none.
    pub recorded_at_us: i64,
    /// Hash of the last event that was seen in the database, and its position.
    pub anchor: (u64, [u8; 32]),
    /// How many repeats moved an order token here, as far as they were read.
    pub calls: u64,
    /// The space it was split from, and its one CIDR.
    pub private: Option<(SpaceIndex, IpNet)>,
    v4: RunSet,
    v6: RunSet,
    pools: std::collections::HashSet<IpNet>,
}

/// All spaces and what resolves to them.
#[derive(Debug, Default)]
pub struct Spaces {
    all: Vec<Space>,
    by_name: HashMap<String, SpaceIndex>,
    by_id: HashMap<i32, SpaceIndex>,
    members: HashMap<String, HashMap<String, SpaceIndex>>,
    privates: HashMap<(SpaceIndex, IpNet), SpaceIndex>,
    clusters: HashMap<String, String>,
}

impl Spaces {
    /// Learn of a space. Its parent must be known before it.
    pub fn add(&mut self, id: i32, name: &str, private: Option<(i32, IpNet)>) -> SpaceIndex {
        if let Some(&known) = self.by_id.get(&id) {
            return known;
        }
        let index =
            SpaceIndex(u32::try_from(self.all.len()).expect("fewer than 2^32 spaces exist"));
        let private = private.and_then(|(parent, cidr)| Some((self.index_of_id(parent)?, cidr)));
        if let Some(key) = private {
            self.privates.insert(key, index);
        }
        self.by_name.insert(name.to_owned(), index);
        self.by_id.insert(id, index);
        self.all.push(Space {
            id,
            name: name.to_owned(),
            seq: 0,
            recorded_at_us: 0,
            anchor: (0, [0; 32]),
            calls: 0,
            private,
            v4: RunSet::default(),
            v6: RunSet::default(),
            pools: std::collections::HashSet::new(),
        });
        index
    }

    /// Learn that a cluster's network name resolves to a space.
    pub fn add_member(&mut self, cluster: &str, network_name: &str, space: SpaceIndex) {
        self.members
            .entry(cluster.to_owned())
            .or_default()
            .insert(network_name.to_owned(), space);
    }

    /// Learn the UID that a cluster's name is bound to.
    pub fn bind(&mut self, cluster: &str, uid: &str) {
        self.clusters.insert(cluster.to_owned(), uid.to_owned());
    }

    pub(super) fn unbind(&mut self, cluster: &str) {
        self.clusters.remove(cluster);
    }

    pub(super) fn remove_member(&mut self, cluster: &str, network_name: &str) {
        if let Some(names) = self.members.get_mut(cluster) {
            names.remove(network_name);
        }
    }

    /// The UID that a cluster's name is bound to.
    #[must_use]
    pub fn bound_uid(&self, cluster: &str) -> Option<&str> {
        self.clusters.get(cluster).map(String::as_str)
    }

    /// What a cluster's network name resolves to.
    #[must_use]
    pub fn resolve(&self, cluster: &str, network_name: &str) -> Option<SpaceIndex> {
        self.members.get(cluster)?.get(network_name).copied()
    }

    /// Whether some network name of a cluster resolves to a space.
    #[must_use]
    pub fn has_member(&self, cluster: &str, space: SpaceIndex) -> bool {
        let names = self.members.get(cluster);
        names.is_some_and(|names| names.values().any(|&resolved| resolved == space))
    }

    /// The private space of a CIDR, if it was split off.
    #[must_use]
    pub fn private(&self, parent: SpaceIndex, cidr: IpNet) -> Option<SpaceIndex> {
        self.privates.get(&(parent, cidr)).copied()
    }

    /// By name.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<SpaceIndex> {
        self.by_name.get(name).copied()
    }

    /// By key in the database.
    #[must_use]
    pub fn index_of_id(&self, id: i32) -> Option<SpaceIndex> {
        self.by_id.get(&id).copied()
    }

    /// A space.
    #[must_use]
    pub fn get(&self, index: SpaceIndex) -> &Space {
        &self.all[index.0 as usize]
    }

    /// All spaces.
    pub fn iter(&self) -> impl Iterator<Item = (SpaceIndex, &Space)> {
        (0u32..).map(SpaceIndex).zip(&self.all)
    }

    /// Whether the space knows this CIDR.
    #[must_use]
    pub fn has_pool(&self, space: SpaceIndex, cidr: IpNet) -> bool {
        self.get(space).pools.contains(&cidr)
    }

    /// The taken addresses of a family: held or resting.
    #[must_use]
    pub fn taken(&self, space: SpaceIndex, family: Family) -> &RunSet {
        let space = self.get(space);
        match family {
            Family::V4 => &space.v4,
            Family::V6 => &space.v6,
        }
    }

    pub(super) fn taken_mut(&mut self, space: SpaceIndex, family: Family) -> &mut RunSet {
        let space = &mut self.all[space.0 as usize];
        match family {
            Family::V4 => &mut space.v4,
            Family::V6 => &mut space.v6,
        }
    }

    pub(super) fn add_pool(&mut self, space: SpaceIndex, cidr: IpNet) {
        self.all[space.0 as usize].pools.insert(cidr);
    }

    pub(super) fn remove_pool(&mut self, space: SpaceIndex, cidr: IpNet) {
        self.all[space.0 as usize].pools.remove(&cidr);
    }

    /// Remember the hash at a position, to notice a history that was replaced.
    pub fn set_anchor(&mut self, space: SpaceIndex, seq: u64, hash: [u8; 32]) {
        self.all[space.0 as usize].anchor = (seq, hash);
    }

    /// Remember how far the repeats were read.
    pub fn set_calls(&mut self, space: SpaceIndex, calls: u64) {
        self.all[space.0 as usize].calls = calls;
    }

    pub(super) fn set_time(&mut self, space: SpaceIndex, at_us: i64) {
        self.all[space.0 as usize].recorded_at_us = at_us;
    }

    pub(super) fn advance(&mut self, space: SpaceIndex, seq: u64, at_us: i64) -> (u64, i64) {
        let space = &mut self.all[space.0 as usize];
        let old = (space.seq, space.recorded_at_us);
        space.seq = seq;
        space.recorded_at_us = at_us;
        old
    }
}
