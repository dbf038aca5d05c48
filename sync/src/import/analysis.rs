//! What is inconsistent, and what is to be imported.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use ipledger_client::types::{ImportRequest, Owner};
use ipnet::IpNet;
use jiff::Timestamp;
use serde::Serialize;

use super::definitions::Definitions;
use super::entries::{Entries, Place, PoolEntry, Reservation, Who, left_out, podref};
use super::evidence::Source;
use super::finding::{Finding, FindingKind, Outcome};
use super::inventory::Inventory;
use super::pods::{PodFacts, Pods};

/// What the operator decides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choices {
    /// Name of the cluster in the ledger.
    pub cluster: String,
    /// UID of the cluster's `kube-system` namespace, when known: the ledger refuses an import
    /// from another cluster under this name.
    pub cluster_uid: Option<String>,
    /// Import entries whose pod is gone as well. They are as held as any, and because nothing is
    /// known of their node they end only by hand.
    pub keep_gone: bool,
    /// When the objects were read.
    pub read_at: Timestamp,
}

/// What an import would do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Analysis {
    /// What is to be imported: first what has a reservation, then by network and address.
    #[serde(skip)]
    pub holds: Vec<Importable>,
    /// What is odd, by kind.
    pub findings: Vec<Finding>,
    /// Pools that were read.
    pub pools: usize,
    /// Entries that stand for an address.
    pub entries: usize,
    /// Reservations whose name is an address.
    pub reservations: usize,
    /// Nodes that are not ready: pods that are gone may still run there.
    pub nodes_not_ready: Vec<String>,
}

/// One hold to import.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Importable {
    /// The object and key that it was read from.
    pub label: String,
    /// What to ask the API for.
    pub request: ImportRequest,
}

/// Judges everything that was read. An entry is left out if it cannot be right, or if its pod is
/// known to be gone and every node is ready; then nothing can be using it. All others are imported,
/// odd or not.
#[must_use]
pub fn analyse(inventory: &Inventory, choices: &Choices) -> Analysis {
    let definitions = Definitions::read(inventory);
    let read = Entries::read(inventory, &definitions);
    let not_ready = inventory.nodes.iter().filter(|node| !node.ready);
    let nodes_not_ready: Vec<String> = not_ready.map(|node| node.name.clone()).collect();
    let judge = Judge {
        keep_gone: choices.keep_gone || !nodes_not_ready.is_empty(),
        choices,
        definitions: &definitions,
        duplicates: duplicates(&read.entries),
        networks_with_reservations: read.reservations.keys().map(|place| &*place.0).collect(),
        pods: &inventory.pods,
        read: &read,
    };
    let mut findings = read.findings.clone();
    let mut holds = BTreeMap::new();
    for entry in judge.by_certainty() {
        judge.entry(entry, &mut holds, &mut findings);
    }
    let places: BTreeSet<Place> = read
        .entries
        .iter()
        .map(|entry| judge.place(entry))
        .collect();
    for (place, reservation) in &read.reservations {
        if !places.contains(place) {
            judge.lone_reservation(place, reservation, &mut holds, &mut findings);
        }
    }
    findings.sort();
    let mut holds: Vec<(bool, Place, Importable)> = holds
        .into_iter()
        .map(|(place, hold)| (!read.reservations.contains_key(&place), place, hold))
        .collect();
    holds.sort_by(|a, b| (a.0, &a.1).cmp(&(b.0, &b.1)));
    Analysis {
        holds: holds.into_iter().map(|(_, _, hold)| hold).collect(),
        findings,
        pools: read.pools.len(),
        entries: read.entries.len(),
        reservations: read.reservations.len(),
        nodes_not_ready,
    }
}

/// Entries of one pool for one pod and interface, where there are several. whereabouts gives a
/// pod's interface one address per pool, so at most one of them is in use.
fn duplicates(entries: &[PoolEntry]) -> BTreeSet<(usize, &Who)> {
    let mut seen = BTreeSet::new();
    let named = entries.iter().filter(|entry| entry.who.pod.is_some());
    named
        .map(|entry| (entry.pool, &entry.who))
        .filter(|key| !seen.insert(*key))
        .collect()
}

struct Judge<'a> {
    choices: &'a Choices,
    keep_gone: bool,
    definitions: &'a Definitions,
    duplicates: BTreeSet<(usize, &'a Who)>,
    networks_with_reservations: BTreeSet<&'a str>,
    pods: &'a Pods,
    read: &'a Entries<'a>,
}

/// What is known of the pod of an entry.
#[derive(Clone, Copy)]
enum PodState<'a> {
    /// Nobody looked, or no pod is named.
    Unknown,
    Gone,
    /// It reports this very address.
    Uses(&'a PodFacts),
    /// It reports others.
    UsesOthers,
    /// It reports nothing.
    Silent,
}

/// What is imported so far, by place.
type Holds = BTreeMap<Place, Importable>;

impl<'a> Judge<'a> {
    /// Of two entries for one address the one that its reservation names goes first, then the one
    /// whose pod reports the address.
    fn by_certainty(&self) -> Vec<&'a PoolEntry> {
        let mut entries: Vec<&PoolEntry> = self.read.entries.iter().collect();
        entries.sort_by_cached_key(|entry| {
            let reservation = self.read.reservations.get(&self.place(entry));
            let reserved = reservation.is_some_and(|found| found.who.pod == entry.who.pod);
            let in_use = matches!(self.pod(&entry.who, entry.address), PodState::Uses(_));
            (!reserved, !in_use, self.place(entry), entry.key.clone())
        });
        entries
    }

    fn place(&self, entry: &PoolEntry) -> Place {
        (self.read.pools[entry.pool].scope.clone(), entry.address)
    }

    fn pod(&self, who: &Who, address: IpAddr) -> PodState<'a> {
        let (Pods::Known(pods), Some(name)) = (self.pods, &who.pod) else {
            return PodState::Unknown;
        };
        match pods.get(name) {
            None => PodState::Gone,
            Some(pod) => match pod.reports(address) {
                Some(true) => PodState::Uses(pod),
                Some(false) => PodState::UsesOthers,
                None => PodState::Silent,
            },
        }
    }

    fn entry(&self, entry: &'a PoolEntry, holds: &mut Holds, findings: &mut Vec<Finding>) {
        let pool = &self.read.pools[entry.pool];
        let place = self.place(entry);
        let state = self.pod(&entry.who, entry.address);
        let duplicate = self.duplicates.contains(&(entry.pool, &entry.who));
        let reservation = self.read.reservations.get(&place);
        let dead = match state {
            PodState::Gone => true,
            PodState::UsesOthers => duplicate,
            _ => false,
        };
        let taken = holds.get(&place);
        let leave_out = taken.is_some() || (dead && !self.keep_gone);
        let problems = about_pod(entry, state, duplicate)
            .into_iter()
            .chain(self.about_reservation(entry, reservation))
            .chain(taken.map(|first| {
                let detail = format!("{} has this address too, and is imported", first.label);
                (FindingKind::DuplicateAddress, detail)
            }));
        findings.extend(problems.map(|(kind, detail)| Finding {
            key: Some(entry.key.clone()),
            address: Some(entry.address.to_string()),
            podref: entry.who.pod.as_ref().map(podref),
            outcome: if leave_out {
                Outcome::LeftOut
            } else {
                Outcome::Imported
            },
            ..left_out(kind, pool.source, detail)
        }));
        if leave_out {
            return;
        }
        let source = Source {
            object: pool.source,
            key: Some(&entry.key),
            reservation: reservation.map(|reservation| reservation.source),
            pod: match state {
                PodState::Uses(pod) => Some(pod),
                _ => None,
            },
            container_id_inferred: false,
            read_at: self.choices.read_at,
        };
        let hold = self.importable(
            (&pool.network, pool.range, entry.address),
            (&entry.container_id, &entry.who),
            &source,
        );
        holds.insert(place, hold);
    }

    fn about_reservation(
        &self,
        entry: &PoolEntry,
        reservation: Option<&Reservation<'_>>,
    ) -> Option<(FindingKind, String)> {
        let pool = &self.read.pools[entry.pool];
        match reservation {
            None => {
                let expected = pool.scope == pool.network
                    && self.networks_with_reservations.contains(&*pool.network);
                expected.then(|| {
                    let detail = "other addresses of the network have reservations, this has none";
                    (FindingKind::EntryWithoutReservation, detail.to_owned())
                })
            }
            Some(reservation) if reservation.who.pod != entry.who.pod => {
                let other = reservation.who.pod.as_ref();
                let other = other.map_or_else(|| "no pod".to_owned(), podref);
                let detail = format!("the reservation of its address names {other}");
                Some((FindingKind::ReservationOfAnotherPod, detail))
            }
            Some(_) => None,
        }
    }

    /// A reservation alone has no container id. whereabouts leaves one behind when the write of the
    /// pool failed and the pod got the address all the same, so a pod that reports it keeps it.
    fn lone_reservation(
        &self,
        place: &Place,
        reservation: &'a Reservation<'a>,
        holds: &mut Holds,
        findings: &mut Vec<Finding>,
    ) {
        let range = self.range_of(place);
        let (pod, detail) = match (self.pod(&reservation.who, place.1), range) {
            (PodState::Uses(pod), Some(_)) => (Some(pod), "its pod reports the address"),
            (PodState::Uses(_), None) => (
                None,
                "its pod reports the address, but no pool or definition has a range for it",
            ),
            (PodState::Gone, _) => (None, "its pod does not exist any more"),
            (PodState::UsesOthers, _) => (None, "its pod does not report the address"),
            _ => (None, "it cannot be told whether its pod uses the address"),
        };
        let hold = pod.zip(range).map(|(pod, range)| {
            let made_up = format!("reservation-{}", reservation.source.name());
            let source = Source {
                object: reservation.source,
                key: None,
                reservation: None,
                pod: Some(pod),
                container_id_inferred: reservation.container_id.is_none(),
                read_at: self.choices.read_at,
            };
            let container_id = reservation.container_id.as_ref().unwrap_or(&made_up);
            let what = (place.0.as_str(), range, place.1);
            self.importable(what, (container_id, &reservation.who), &source)
        });
        findings.push(Finding {
            address: Some(place.1.to_string()),
            podref: reservation.who.pod.as_ref().map(podref),
            outcome: match hold {
                Some(_) => Outcome::Imported,
                None => Outcome::LeftOut,
            },
            ..left_out(
                FindingKind::ReservationWithoutEntry,
                reservation.source,
                format!("no pool has an entry for it; {detail}"),
            )
        });
        holds.extend(hold.map(|hold| (place.clone(), hold)));
    }

    /// The smallest range of the network that has the address.
    fn range_of(&self, (network, address): &Place) -> Option<IpNet> {
        let pools = self.read.pools.iter();
        let pools = pools.filter(|pool| pool.network == *network);
        let defined = self.definitions.ranges(network);
        let ranges = pools.map(|pool| pool.range).chain(defined);
        let having = ranges.filter(|range| range.contains(address));
        having.max_by_key(IpNet::prefix_len)
    }

    fn importable(
        &self,
        (network, range, address): (&str, IpNet, IpAddr),
        (container_id, who): (&str, &Who),
        source: &Source<'_>,
    ) -> Importable {
        let owner = who.pod.as_ref().map(|pod| Owner {
            namespace: pod.namespace.clone(),
            name: pod.name.clone(),
            uid: source.pod.map(|pod| pod.uid.clone()),
            node: source.pod.and_then(|pod| pod.node.clone()),
        });
        let request = ImportRequest {
            cluster: self.choices.cluster.clone(),
            cluster_uid: self.choices.cluster_uid.clone(),
            network_name: (!network.is_empty()).then(|| network.to_owned()),
            enable_overlapping_ranges: self.definitions.is_overlapping(network, range),
            range: range.to_string(),
            address: address.to_string(),
            container_id: container_id.to_owned(),
            ifname: who.ifname.clone(),
            owner,
            evidence: source.evidence(),
        };
        Importable {
            label: source.label(),
            request,
        }
    }
}

fn about_pod(
    entry: &PoolEntry,
    state: PodState<'_>,
    duplicate: bool,
) -> Vec<(FindingKind, String)> {
    let mut problems = Vec::new();
    let mut add = |kind, detail: &str| problems.push((kind, detail.to_owned()));
    if duplicate {
        let detail = match state {
            PodState::Uses(_) => {
                "of several entries of the pool that name this pod, it reports this"
            }
            PodState::UsesOthers => {
                "of several entries of the pool that name this pod, it reports another"
            }
            _ => "several entries of the pool name this pod, and it cannot be told which it uses",
        };
        add(FindingKind::DuplicatePodref, detail);
    }
    match state {
        PodState::Gone => add(FindingKind::PodGone, "the pod does not exist any more"),
        PodState::UsesOthers if !duplicate => add(
            FindingKind::PodWithoutAddress,
            "the pod exists, but does not report this address",
        ),
        _ if entry.who.pod.is_none() => add(
            FindingKind::NoPod,
            "no pod is named, so the hold ends only by hand",
        ),
        _ => {}
    }
    problems
}
