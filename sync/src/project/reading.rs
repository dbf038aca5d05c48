//! What the ledger says of one cluster, as of one position per space.

use std::collections::BTreeMap;
use std::net::IpAddr;

use ipledger_client::types::{Hold, Space};
use ipnet::IpNet;
use jiff::Timestamp;

/// All own holds of one cluster, all as of one position in each space.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reading {
    /// By name of the space.
    pub spaces: BTreeMap<String, SpaceReading>,
    /// Epoch of the ledger, when the source of the reading said it.
    pub epoch: Option<u32>,
    /// When it was asked for.
    pub read_at: Timestamp,
}

/// One space in a reading.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SpaceReading {
    /// Position of the last event that the holds reflect.
    pub seq: u64,
    /// Network names of this cluster that lead here; the default one is empty.
    pub network_names: Vec<String>,
    /// Set for a space that is private to one CIDR: whereabouts makes no reservations there.
    pub private: bool,
    /// What this cluster holds.
    pub holds: BTreeMap<IpAddr, HeldAddress>,
}

/// As much of a hold as an object shows and an explanation needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeldAddress {
    /// CIDR of its pool.
    pub pool: IpNet,
    /// Its even step.
    pub step: u32,
    /// Position of the event that allocated it.
    pub seq: u64,
    /// The sandbox.
    pub container_id: String,
    /// `namespace/name` of the pod; empty if the ledger does not know it.
    pub podref: String,
    /// The interface; empty if the source of an import did not know it.
    pub ifname: String,
}

/// The API's answers do not fit together.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReadingError {
    /// A field of a hold (space, address, field, value) cannot be read.
    #[error("hold of {1} in space {0}: {2} {3:?} cannot be read")]
    Unreadable(String, String, &'static str, String),
    /// A hold is in a space without a position, or one that is not listed.
    #[error("space {0} has a hold, but the list of spaces or of positions lacks it; read again")]
    UnknownSpace(String),
}

impl ReadingError {
    /// A fixed word for metrics and logs.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            ReadingError::Unreadable(..) => "unreadable_hold",
            ReadingError::UnknownSpace(_) => "unknown_space",
        }
    }
}

impl Reading {
    /// Puts together all pages of one reading: `spaces` (read before the holds were), the positions
    /// that every page showed, and the holds. Holds of other clusters are left out.
    ///
    /// # Errors
    /// See [`ReadingError`]. Nothing is left out in silence, because what is not in a reading is
    /// taken out of the objects.
    pub fn assemble(
        cluster: &str,
        spaces: &[Space],
        as_of: &BTreeMap<String, u64>,
        holds: Vec<Hold>,
        read_at: Timestamp,
    ) -> Result<Reading, ReadingError> {
        let mut read: BTreeMap<String, SpaceReading> = spaces
            .iter()
            .filter_map(|space| {
                let seq = *as_of.get(&space.name)?;
                Some((space.name.clone(), describe(cluster, space, spaces, seq)))
            })
            .collect();
        for hold in holds {
            if hold.attachment.cluster != cluster {
                continue;
            }
            let (address, held) = held_address(&hold)?;
            let Some(space) = read.get_mut(&hold.space) else {
                return Err(ReadingError::UnknownSpace(hold.space));
            };
            space.holds.insert(address, held);
        }
        Ok(Reading {
            spaces: read,
            epoch: None,
            read_at,
        })
    }

    /// How many holds it has.
    #[must_use]
    pub fn len(&self) -> usize {
        self.spaces.values().map(|space| space.holds.len()).sum()
    }

    /// Whether the cluster holds nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.spaces.values().all(|space| space.holds.is_empty())
    }

    /// Positions by space.
    #[must_use]
    pub fn as_of(&self) -> BTreeMap<String, u64> {
        let position = |(name, space): (&String, &SpaceReading)| (name.clone(), space.seq);
        self.spaces.iter().map(position).collect()
    }
}

/// The names that lead to a space are those of its members; to a private one, those of the space
/// that it was split from.
fn describe(cluster: &str, space: &Space, spaces: &[Space], seq: u64) -> SpaceReading {
    let private = space.private_cidr.is_some();
    let members = match space.name.rsplit_once('#').filter(|_| private) {
        Some((parent, _)) => spaces.iter().find(|space| space.name == parent),
        None => Some(space),
    };
    let members = members.map_or(&[][..], |space| &space.members);
    let mut network_names: Vec<String> = members
        .iter()
        .filter(|member| member.cluster == cluster)
        .map(|member| member.network_name.clone().unwrap_or_default())
        .collect();
    network_names.sort();
    SpaceReading {
        seq,
        network_names,
        private,
        holds: BTreeMap::new(),
    }
}

fn held_address(hold: &Hold) -> Result<(IpAddr, HeldAddress), ReadingError> {
    let unreadable = |field, value: &str| {
        let (space, address) = (hold.space.clone(), hold.address.clone());
        ReadingError::Unreadable(space, address, field, value.to_owned())
    };
    let address: IpAddr = hold
        .address
        .parse()
        .map_err(|_| unreadable("address", &hold.address))?;
    let pool: IpNet = hold
        .pool
        .parse()
        .map_err(|_| unreadable("pool", &hold.pool))?;
    if !pool.contains(&address) {
        return Err(unreadable("pool", &hold.pool));
    }
    let owner = hold.owner.as_ref();
    let held = HeldAddress {
        pool,
        step: hold.step,
        seq: hold.seq,
        container_id: hold.attachment.container_id.clone(),
        podref: owner.map_or_else(String::new, |owner| {
            format!("{}/{}", owner.namespace, owner.name)
        }),
        ifname: hold.attachment.ifname.clone(),
    };
    Ok((address, held))
}
