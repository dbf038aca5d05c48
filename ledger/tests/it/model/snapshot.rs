//! What the ledger's memory says, taken down through its own questions, and compared.

use std::collections::BTreeMap;
use std::net::IpAddr;

use ledger::decide::NewEvent;
use ledger::state::{Class, Record, SpaceIndex, State, Taken};

use super::naive::{Address, Holder, Naive};
use super::world::{KnownInterface, RANGES, World};

/// Everything that a decision can depend on, but for remembered calls, which time forgets.
#[derive(Debug, PartialEq)]
pub(crate) struct Snapshot {
    heads: BTreeMap<String, u64>,
    records: BTreeMap<(SpaceIndex, IpAddr), Record>,
    counts: BTreeMap<(SpaceIndex, usize), Taken>,
    recorded: Vec<(SpaceIndex, [u128; 3], Taken)>,
    pools: BTreeMap<(SpaceIndex, usize), bool>,
    held: BTreeMap<u128, Vec<IpAddr>>,
    of_owner: BTreeMap<u128, Vec<IpAddr>>,
    stamps: Vec<ledger::state::Stamp>,
    bound: Option<String>,
}

/// Take a snapshot. An error says where the memory contradicts itself.
pub(crate) fn snapshot(state: &State, world: &World, naive: &Naive) -> Result<Snapshot, String> {
    let spaces: Vec<SpaceIndex> = state.spaces.iter().map(|(index, _)| index).collect();
    let mut taken = Snapshot {
        heads: state
            .spaces
            .iter()
            .map(|(_, s)| (s.name.clone(), s.seq))
            .collect(),
        records: BTreeMap::new(),
        counts: BTreeMap::new(),
        recorded: Vec::new(),
        pools: BTreeMap::new(),
        held: BTreeMap::new(),
        of_owner: BTreeMap::new(),
        stamps: world
            .tokens()
            .map(|token| state.order.stamp(&token))
            .collect(),
        bound: state.spaces.bound_uid(&world.cluster).map(str::to_owned),
    };
    for &space in &spaces {
        for &ip in &world.known.ips {
            if let Some(record) = state.record_of(space, ip) {
                taken.records.insert((space, ip), *record);
            }
        }
        for (index, window) in world.known.windows.iter().enumerate() {
            taken
                .counts
                .insert((space, index), state.counts(space, window));
            let has_pool = state.spaces.has_pool(space, window.cidr());
            taken.pools.insert((space, index), has_pool);
        }
    }
    for (space, known) in state.pools.windows() {
        let window = &known.window;
        let shape = [window.first(), window.last(), window.capacity()];
        taken.recorded.push((space, shape, known.taken));
    }
    let ips = |records: Vec<Record>| records.iter().map(Record::ip).collect();
    for known in &world.known.interfaces {
        let [with_ifname, without] = known.imported;
        for key in [known.attachment, with_ifname, without] {
            taken.held.insert(key, ips(state.held_by_attachment(key)));
        }
        if let Some(key) = known.owner {
            taken.of_owner.insert(key, ips(state.of_owner(key)));
        }
    }
    taken.check(state, world, naive)?;
    Ok(taken)
}

impl Snapshot {
    /// The memory's shortcuts say what its records say.
    fn check(&self, state: &State, world: &World, naive: &Naive) -> Result<(), String> {
        if self.records.len() != state.addresses() {
            return Err(format!(
                "{} addresses, but {} records",
                state.addresses(),
                self.records.len()
            ));
        }
        for (index, space) in state.spaces.iter() {
            let records = || self.records.values().filter(move |r| r.space == index);
            for family in [address::Family::V4, address::Family::V6] {
                let taken = state.spaces.taken(index, family);
                let of_family = records().filter(|r| r.family == family);
                let busy: Vec<u128> = of_family
                    .filter(|r| r.class != Class::Free)
                    .map(Record::number)
                    .collect();
                if taken.count() != busy.len() as u128 || busy.iter().any(|n| !taken.contains(*n)) {
                    return Err(format!("{}: taken is {taken:?}, not {busy:?}", space.name));
                }
            }
            for window in &world.known.windows {
                let resting = records().filter(|r| r.class == Class::Cooling);
                let inside = resting.filter(|r| window.contains(r.ip()));
                let wakes = inside.map(Record::cooling_until_us).min();
                if state.next_wake(index, window) != wakes {
                    let said = state.next_wake(index, window);
                    return Err(format!("{window:?} wakes at {said:?}, not {wakes:?}"));
                }
            }
        }
        for (space, window, taken) in &self.recorded {
            if taken.sum() > window[2] || taken.sum() > naive.addresses.len() as u128 {
                return Err(format!("{space:?} {window:?}: {taken:?}"));
            }
        }
        Ok(())
    }

    /// Events got their times of record, which had been estimated.
    pub(crate) fn settle(&mut self, events: &[(NewEvent, u64)], at_us: i64) {
        for (event, seq) in events {
            let key = event.target.map(|(ip, _)| (event.space, ip));
            if let Some(record) = key.and_then(|key| self.records.get_mut(&key))
                && record.seq == *seq
            {
                record.at_us = at_us;
            }
        }
    }

    pub(crate) fn same_as(&self, other: &Snapshot) -> Result<(), String> {
        if self == other {
            return Ok(());
        }
        // Both texts have one line per field or entry; what differs is what a reader needs.
        let lines = |snapshot: &Snapshot| -> Vec<String> {
            let parts = [
                format!("heads {:?}", snapshot.heads),
                format!("recorded {:?}", snapshot.recorded),
                format!("stamps {:?}", snapshot.stamps),
                format!("bound {:?}", snapshot.bound),
            ];
            let records = snapshot
                .records
                .iter()
                .map(|entry| format!("record {entry:?}"));
            let counts = snapshot
                .counts
                .iter()
                .map(|entry| format!("counts {entry:?}"));
            let pools = snapshot.pools.iter().map(|entry| format!("pool {entry:?}"));
            let held = snapshot.held.iter().map(|entry| format!("held {entry:?}"));
            let owners = snapshot
                .of_owner
                .iter()
                .map(|entry| format!("owner {entry:?}"));
            let all = parts.into_iter().chain(records).chain(counts);
            all.chain(pools).chain(held).chain(owners).collect()
        };
        let (was, is) = (lines(self), lines(other));
        let only = |some: &[String], others: &[String]| -> String {
            let missing = some.iter().filter(|line| !others.contains(line));
            missing.map(|line| format!("\n    {line}")).collect()
        };
        Err(format!(
            "it was{}\n  and is{}",
            only(&was, &is),
            only(&is, &was)
        ))
    }
}

fn differs<T: PartialEq + std::fmt::Debug>(what: &str, here: &T, there: &T) -> Result<(), String> {
    if here == there {
        return Ok(());
    }
    Err(format!(
        "{what}: the ledger has {here:?}, the model {there:?}"
    ))
}

/// Memory against the model, just after a decision at the model's time.
pub(crate) fn compare(state: &State, world: &World, naive: &Naive) -> Result<(), String> {
    let bound = state.spaces.bound_uid(&world.cluster).map(str::to_owned);
    differs("bound", &bound, &naive.bound_uid())?;
    differs("addresses", &state.addresses(), &naive.addresses.len())?;
    for (index, space) in state.spaces.iter() {
        differs(&space.name, &space.seq, &naive.head(&space.name))?;
        for (range, window) in RANGES.iter().zip(&world.known.windows) {
            let gives = range.hands_out;
            let counts = naive.counts(&space.name, &|ip| gives.contains(&ip));
            differs(range.cidr, &state.counts(index, window), &counts)?;
            let wakes = naive.next_wake(&space.name, gives);
            differs(range.cidr, &state.next_wake(index, window), &wakes)?;
        }
    }
    for address in &naive.addresses {
        compare_address(state, naive, address)?;
    }
    for known in &world.known.interfaces {
        compare_interface(state, naive, known)?;
    }
    Ok(())
}

fn compare_address(state: &State, naive: &Naive, address: &Address) -> Result<(), String> {
    let space = state.spaces.find(&address.space);
    let ip = address.ip.parse().expect("an address");
    let record = space.and_then(|space| state.record_of(space, ip));
    let here = record.map(|r| {
        let pool = state.pools.cidr(r.pool).to_string();
        let position = usize::from(r.position);
        (
            r.step,
            r.seq,
            r.allocated_seq,
            r.at_us,
            position,
            r.class,
            pool,
        )
    });
    let class = match (Naive::is_held(address), naive.is_cooling(address)) {
        _ if Naive::is_reserved(address) => Class::Reserved,
        (true, _) => Class::Held,
        (false, true) => Class::Cooling,
        (false, false) => Class::Free,
    };
    let (a, pool) = (address, address.pool.to_owned());
    let there = Some((
        a.step,
        a.seq,
        a.allocated_seq,
        a.at,
        a.position,
        class,
        pool,
    ));
    differs(address.ip, &here, &there)
}

fn compare_interface(state: &State, naive: &Naive, known: &KnownInterface) -> Result<(), String> {
    let ips = |records: Vec<Record>| -> Vec<IpAddr> { records.iter().map(Record::ip).collect() };
    let parse = |texts: Vec<&str>| -> Vec<IpAddr> {
        texts
            .iter()
            .map(|ip| ip.parse().expect("an address"))
            .collect()
    };
    let held = ips(state.held_by_attachment(known.attachment));
    let of_owner = known
        .owner
        .map_or_else(Vec::new, |key| ips(state.of_owner(key)));
    let last = |key| {
        let stamp = state.order.last(key)?;
        Some((stamp.boot.0.get() as usize - 1, stamp.boottime_ns))
    };
    let calls = [last(known.attachment), known.owner.and_then(last)];
    let own = naive.held_by(Holder::Own(known.interface));
    let own = parse(own.into_iter().map(|address| address.ip).collect());
    let pod = parse(naive.ips_of_pod(known.interface));
    let there = (own, pod, naive.last_calls(known.interface));
    differs(
        &known.interface.to_string(),
        &(held, of_owner, calls),
        &there,
    )
}
