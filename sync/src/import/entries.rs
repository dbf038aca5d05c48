//! Pools and reservations, entry by entry, with the address that each stands for.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use address::to_number;
use ipnet::IpNet;
use serde_json::Value;

use super::definitions::Definitions;
use super::finding::{Finding, FindingKind, Outcome};
use super::inventory::{Inventory, SourceObject};
use super::pods::PodName;
use crate::project::{address_at, pool_name, reservation_name_address};

/// One address in the set within which it is unique: a network name, or `<network name>#<CIDR>` for
/// a pool whose definitions check no overlapping ranges.
pub(super) type Place = (String, IpAddr);

/// One pool that can be read.
#[derive(Debug, Clone)]
pub(super) struct Pool<'a> {
    pub(super) source: &'a SourceObject,
    pub(super) network: String,
    /// First part of the places of its entries.
    pub(super) scope: String,
    /// What is imported as the pool; for a node's slice the whole range.
    pub(super) range: IpNet,
    /// Keys count from here.
    base: IpAddr,
    /// What `spec.range` covers.
    covers: IpNet,
}

/// One entry of a pool that stands for an address.
#[derive(Debug, Clone)]
pub(super) struct PoolEntry {
    /// Index of its pool.
    pub(super) pool: usize,
    pub(super) key: String,
    pub(super) address: IpAddr,
    pub(super) container_id: String,
    pub(super) who: Who,
}

/// The pod and interface that an entry or reservation names.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Who {
    pub(super) pod: Option<PodName>,
    pub(super) ifname: Option<String>,
}

/// One reservation whose name is an address.
#[derive(Debug, Clone)]
pub(super) struct Reservation<'a> {
    pub(super) source: &'a SourceObject,
    pub(super) who: Who,
    /// Only whereabouts before 0.7 wrote one.
    pub(super) container_id: Option<String>,
}

/// All that could be read, and what could not.
#[derive(Debug, Default)]
pub(super) struct Entries<'a> {
    pub(super) pools: Vec<Pool<'a>>,
    pub(super) entries: Vec<PoolEntry>,
    pub(super) reservations: BTreeMap<Place, Reservation<'a>>,
    pub(super) findings: Vec<Finding>,
}

impl<'a> Entries<'a> {
    pub(super) fn read(inventory: &'a Inventory, definitions: &Definitions) -> Entries<'a> {
        let mut read = Entries::default();
        for source in inventory.pools.values() {
            read.add_pool(source, definitions);
        }
        let networks: BTreeSet<String> =
            read.pools.iter().map(|pool| pool.network.clone()).collect();
        for source in inventory.reservations.values() {
            read.add_reservation(source, &networks);
        }
        for index in 0..read.pools.len() {
            read.add_entries(index);
        }
        read
    }

    fn add_pool(&mut self, source: &'a SourceObject, definitions: &Definitions) {
        let text = source.object.data["spec"]["range"].as_str().unwrap_or("");
        let Ok(range) = text.parse::<IpNet>() else {
            let detail = format!("spec.range {text:?} is no CIDR, so none of its entries counts");
            let finding = left_out(FindingKind::UnreadableObject, source, detail);
            self.findings.push(finding);
            return;
        };
        let covers = range.trunc();
        let plain = pool_name("", range);
        let prefix = source.name().strip_suffix(plain.as_str()).unwrap_or("");
        let prefix = prefix.strip_suffix('-').unwrap_or(prefix);
        let (network, whole) = definitions
            .whole_range(prefix, covers)
            .unwrap_or_else(|| (prefix.to_owned(), covers));
        let scope = match definitions.is_overlapping(&network, whole) {
            true => network.clone(),
            false => format!("{network}#{whole}"),
        };
        self.pools.push(Pool {
            source,
            network,
            scope,
            range: whole,
            base: range.addr(),
            covers,
        });
    }

    fn add_reservation(&mut self, source: &'a SourceObject, networks: &BTreeSet<String>) {
        let Some(place) = reservation_place(source.name(), networks) else {
            let detail = "its name is no address of a known network".to_owned();
            let finding = left_out(FindingKind::UnreadableName, source, detail);
            self.findings.push(finding);
            return;
        };
        let spec = &source.object.data["spec"];
        let reservation = Reservation {
            source,
            who: Who::read(spec),
            container_id: text(spec, "containerid"),
        };
        self.reservations.insert(place, reservation);
    }

    fn add_entries(&mut self, index: usize) {
        let pool = self.pools[index].clone();
        let Some(allocations) = pool.source.object.data["spec"]["allocations"].as_object() else {
            return;
        };
        for (key, value) in allocations {
            match self.read_entry(&pool, key, value) {
                Ok((address, container_id, who)) => self.entries.push(PoolEntry {
                    pool: index,
                    key: key.clone(),
                    address,
                    container_id,
                    who,
                }),
                Err(finding) => self.findings.push(*finding),
            }
        }
    }

    fn read_entry(
        &self,
        pool: &Pool<'_>,
        key: &str,
        value: &Value,
    ) -> Result<(IpAddr, String, Who), Box<Finding>> {
        let who = Who::read(value);
        let finding = |kind, detail| {
            let mut finding = left_out(kind, pool.source, detail);
            finding.key = Some(key.to_owned());
            finding.podref = who.pod.as_ref().map(podref);
            Box::new(finding)
        };
        let Ok(offset) = key.parse::<u128>() else {
            let detail = "the key is no decimal offset".to_owned();
            return Err(finding(FindingKind::UnreadableKey, detail));
        };
        let (kind, detail) = match self.address_of(pool, offset, &who) {
            Ok(address) => match text(value, "id").filter(|id| !id.is_empty()) {
                Some(id) => return Ok((address, id, who)),
                None => (
                    FindingKind::UnreadableEntry,
                    "it has no container id".to_owned(),
                ),
            },
            Err(0) => (
                FindingKind::OutsideRange,
                format!("it lies outside the range {}", pool.covers),
            ),
            Err(count) => (
                FindingKind::AmbiguousOffset,
                format!(
                    "the key may stand for {count} addresses, and no reservation says for which"
                ),
            ),
        };
        Err(finding(kind, detail))
    }

    /// The address of a key. A base with host bits makes two of some keys, since whereabouts keeps
    /// the distance without its sign; and it keeps only 64 bits of it. A reservation for the same
    /// pod tells which is meant. The error says how many there are.
    fn address_of(&self, pool: &Pool<'_>, offset: u128, who: &Who) -> Result<IpAddr, usize> {
        let mut candidates: BTreeSet<IpAddr> = BTreeSet::new();
        candidates.extend(address_at(pool.base, offset));
        let below = to_number(pool.base).checked_sub(offset);
        let below = below.map(|number| address::from_number(address::family(pool.base), number));
        candidates.extend(below);
        candidates.retain(|address| pool.covers.contains(address));
        let reserved = |address: &IpAddr| {
            let place = (pool.network.clone(), *address);
            let reservation = self.reservations.get(&place);
            reservation.is_some_and(|reservation| reservation.who.pod == who.pod)
        };
        if candidates.len() == 1 && pool.covers.max_prefix_len() - pool.covers.prefix_len() <= 64 {
            return candidates.into_iter().next().ok_or(0);
        }
        if let Some(address) = candidates.iter().find(|address| reserved(address)) {
            return Ok(*address);
        }
        let wrapped = self
            .reservations
            .iter()
            .find(|((network, address), reservation)| {
                *network == pool.network
                    && reservation.who.pod == who.pod
                    && pool.covers.contains(address)
                    && low_bits(to_number(*address).abs_diff(to_number(pool.base)))
                        == low_bits(offset)
            });
        match (wrapped, candidates.len()) {
            (Some(((_, address), _)), _) => Ok(*address),
            (None, 1) => candidates.into_iter().next().ok_or(0),
            (None, count) => Err(count),
        }
    }
}

fn low_bits(number: u128) -> u128 {
    number & u128::from(u64::MAX)
}

impl Who {
    fn read(value: &Value) -> Who {
        let pod = text(value, "podref");
        let pod = pod.as_deref().and_then(|podref| podref.split_once('/'));
        Who {
            pod: pod
                .filter(|(namespace, name)| !namespace.is_empty() && !name.is_empty())
                .map(|(namespace, name)| PodName {
                    namespace: namespace.to_owned(),
                    name: name.to_owned(),
                }),
            ifname: text(value, "ifname").filter(|ifname| !ifname.is_empty()),
        }
    }
}

/// `namespace/name`.
pub(super) fn podref(pod: &PodName) -> String {
    format!("{}/{}", pod.namespace, pod.name)
}

fn text(value: &Value, key: &str) -> Option<String> {
    value.get(key)?.as_str().map(str::to_owned)
}

pub(super) fn left_out(kind: FindingKind, source: &SourceObject, detail: String) -> Finding {
    Finding {
        kind,
        object: source.label(),
        key: None,
        address: None,
        podref: None,
        detail,
        outcome: Outcome::LeftOut,
    }
}

/// Network and address of a reservation's name. The longest known network that fits is meant; a
/// network without pools is told from an IPv4 address, which has no hyphen.
fn reservation_place(name: &str, networks: &BTreeSet<String>) -> Option<Place> {
    let mut known: Vec<&String> = networks.iter().filter(|name| !name.is_empty()).collect();
    known.sort_by_key(|network| std::cmp::Reverse(network.len()));
    for network in known {
        let rest = name
            .strip_prefix(network.as_str())
            .and_then(|rest| rest.strip_prefix('-'));
        if let Some(address) = rest.and_then(reservation_name_address) {
            return Some((network.clone(), address));
        }
    }
    if let Some(address) = reservation_name_address(name) {
        return Some((String::new(), address));
    }
    let (network, last) = name.rsplit_once('-')?;
    let address = reservation_name_address(last).filter(IpAddr::is_ipv4)?;
    Some((network.to_owned(), address))
}
