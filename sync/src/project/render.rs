//! From a reading to the exact set of objects.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::net::IpAddr;
use std::sync::Arc;

use ipnet::IpNet;
use jiff::Timestamp;

use super::names::{is_object_name, offset_of, pool_name, reservation_name};
use super::reading::{HeldAddress, Reading, SpaceReading};
use super::size::{LARGEST_POOL_BYTES, entry_bytes};
use super::{ObjectKey, ObjectKind};

/// Every object that shows a hold, and what no object can show.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Desired<'a> {
    /// By kind and name.
    pub objects: BTreeMap<ObjectKey, DesiredObject<'a>>,
    /// In the order of space, network name and address.
    pub unprojectable: Vec<Unprojectable>,
    /// The reading as a whole, for objects that belong to no space.
    pub position: Arc<Position>,
}

/// How fresh an object is: the ledger's positions that its content shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Position {
    /// Position by space; one space, unless the object belongs to none.
    pub as_of: BTreeMap<String, u64>,
    /// Epoch of the ledger, when known.
    pub epoch: Option<u32>,
    /// When the reading was asked for.
    pub read_at: Timestamp,
}

/// What one object is to contain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DesiredObject<'a> {
    /// An `IPPool`.
    Pool(DesiredPool<'a>),
    /// An `OverlappingRangeIPReservation`.
    Reservation(DesiredReservation<'a>),
}

/// What an `IPPool` is to contain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DesiredPool<'a> {
    /// The CIDR, as text.
    pub range: String,
    /// By key: the decimal offset of the address from the start of the range.
    pub entries: BTreeMap<String, (IpAddr, &'a HeldAddress)>,
    /// Holds that do not fit the object; see [`LARGEST_POOL_BYTES`].
    pub omitted: usize,
    /// Space and position.
    pub position: Arc<Position>,
}

/// What an `OverlappingRangeIPReservation` is to contain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DesiredReservation<'a> {
    /// The address that its name stands for.
    pub address: IpAddr,
    /// Who holds it.
    pub hold: &'a HeldAddress,
    /// Space and position.
    pub position: Arc<Position>,
}

/// Holds that no object can show. The ledger has them all the same.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, thiserror::Error)]
pub enum Unprojectable {
    /// Kubernetes takes no object of this name (whereabouts cannot store these either).
    #[error("{0} of space {1}: Kubernetes takes no object of this name")]
    Name(String, String),
    /// Two pools or reservations of different networks have one name; the other one has it.
    #[error("{0} of space {1}: another network's object has this name")]
    Taken(String, String),
    /// No network name of this cluster leads to the space.
    #[error("space {0}: no network name of this cluster leads to it")]
    NoNetwork(String),
}

impl Unprojectable {
    /// A fixed word for metrics and logs.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Unprojectable::Name(..) => "name",
            Unprojectable::Taken(..) => "name_taken",
            Unprojectable::NoNetwork(_) => "no_network",
        }
    }
}

/// The objects that show the holds of a reading. If several network names of the cluster lead to
/// one shared space, each has its own objects with all the holds, so that whoever reads one
/// network's objects sees every address that it must not give out.
#[must_use]
pub fn render(reading: &Reading) -> Desired<'_> {
    let mut desired = Desired {
        objects: BTreeMap::new(),
        unprojectable: Vec::new(),
        position: Arc::new(Position {
            as_of: reading.as_of(),
            epoch: reading.epoch,
            read_at: reading.read_at,
        }),
    };
    for (name, space) in &reading.spaces {
        if space.network_names.is_empty() && !space.holds.is_empty() {
            let problem = Unprojectable::NoNetwork(name.clone());
            desired.unprojectable.push(problem);
        }
        let position = Arc::new(Position {
            as_of: BTreeMap::from([(name.clone(), space.seq)]),
            epoch: reading.epoch,
            read_at: reading.read_at,
        });
        for network in &space.network_names {
            desired.add_pools(name, network, space, &position);
            if !space.private {
                desired.add_reservations(name, network, space, &position);
            }
        }
    }
    desired
}

impl<'a> Desired<'a> {
    fn add_pools(
        &mut self,
        space_name: &str,
        network: &str,
        space: &'a SpaceReading,
        position: &Arc<Position>,
    ) {
        let mut pools: BTreeMap<IpNet, Vec<(IpAddr, &'a HeldAddress)>> = BTreeMap::new();
        for (address, hold) in &space.holds {
            pools.entry(hold.pool).or_default().push((*address, hold));
        }
        for (range, holds) in pools {
            let key = ObjectKey::pool(pool_name(network, range));
            let pool = DesiredPool::new(range, holds, Arc::clone(position));
            self.add(key, space_name, DesiredObject::Pool(pool));
        }
    }

    fn add_reservations(
        &mut self,
        space_name: &str,
        network: &str,
        space: &'a SpaceReading,
        position: &Arc<Position>,
    ) {
        for (address, hold) in &space.holds {
            let key = ObjectKey::reservation(reservation_name(network, *address));
            let reservation = DesiredReservation {
                address: *address,
                hold,
                position: Arc::clone(position),
            };
            self.add(key, space_name, DesiredObject::Reservation(reservation));
        }
    }

    fn add(&mut self, key: ObjectKey, space: &str, object: DesiredObject<'a>) {
        if !is_object_name(&key.name) {
            let problem = Unprojectable::Name(key.to_string(), space.to_owned());
            self.unprojectable.push(problem);
            return;
        }
        match self.objects.entry(key) {
            Entry::Vacant(place) => {
                place.insert(object);
            }
            Entry::Occupied(taken) => {
                let problem = Unprojectable::Taken(taken.key().to_string(), space.to_owned());
                self.unprojectable.push(problem);
            }
        }
    }

    /// Holds that are missing from pools because they do not fit.
    #[must_use]
    pub fn omitted(&self) -> usize {
        self.objects.values().map(DesiredObject::omitted).sum()
    }
}

impl<'a> DesiredPool<'a> {
    /// The lowest addresses that fit. `holds` are in address order and all in the range.
    fn new(
        range: IpNet,
        holds: Vec<(IpAddr, &'a HeldAddress)>,
        position: Arc<Position>,
    ) -> DesiredPool<'a> {
        let (mut bytes, mut omitted) = (0, 0);
        let mut entries = BTreeMap::new();
        for (address, hold) in holds {
            let Some(offset) = offset_of(range, address) else {
                continue;
            };
            let key = offset.to_string();
            bytes += entry_bytes(&key, &hold.container_id, &hold.podref, &hold.ifname);
            if bytes > LARGEST_POOL_BYTES {
                omitted += 1;
            } else {
                entries.insert(key, (address, hold));
            }
        }
        DesiredPool {
            range: range.to_string(),
            entries,
            omitted,
            position,
        }
    }
}

impl DesiredObject<'_> {
    /// Space and position that it shows.
    #[must_use]
    pub fn position(&self) -> &Position {
        match self {
            DesiredObject::Pool(pool) => &pool.position,
            DesiredObject::Reservation(reservation) => &reservation.position,
        }
    }

    /// Holds that it does not show, because they do not fit.
    #[must_use]
    pub fn omitted(&self) -> usize {
        match self {
            DesiredObject::Pool(pool) => pool.omitted,
            DesiredObject::Reservation(_) => 0,
        }
    }

    /// Its kind.
    #[must_use]
    pub fn kind(&self) -> ObjectKind {
        match self {
            DesiredObject::Pool(_) => ObjectKind::Pool,
            DesiredObject::Reservation(_) => ObjectKind::Reservation,
        }
    }
}
