//! The ledger once more, written from the rules: plain lists, linear scans, no speed.

mod add;
mod others;

use std::net::IpAddr;

use ledger::state::Taken;

use super::script::{Add, Import, Interface, Reserve, Selector, Step, Token};
use super::told::of_taken;
use super::tombstones::Tombstones;
use super::world::{ADDRESSES, POOLS, RANGES, World, in_pool};

/// How long an ended call is remembered, in seconds.
const REMEMBERED: i64 = 300;

/// The cluster's default space.
const DEFAULT: Selector = Selector {
    network_name: 0,
    overlapping: true,
};

/// Who may hold an address: an interface of a sandbox, or an imported hold, of which neither the
/// network nor, sometimes, the interface is known.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Holder {
    Own(Interface),
    Imported {
        sandbox: u8,
        ifname: Option<u8>,
    },
    /// Set aside, for a reason.
    Nobody(u8),
}

/// What order is kept for: a holder, or a pod and its interface.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Caller {
    Holder(Holder),
    Pod(u8, u8),
}

/// One address that was ever used.
#[derive(Clone)]
pub(crate) struct Address {
    pub(crate) space: String,
    pub(crate) ip: &'static str,
    pub(crate) step: u32,
    pub(crate) seq: u64,
    pub(crate) allocated_seq: u64,
    /// Microseconds.
    pub(crate) at: i64,
    pub(crate) holder: Holder,
    pub(crate) position: usize,
    pub(crate) pool: &'static str,
    /// How long it rests after its release.
    rest: u32,
    /// And how long of that it is kept for the pod's name.
    sticky: u32,
    token: Option<Token>,
    request: Option<Add>,
}

#[derive(Clone)]
struct Space {
    name: String,
    network_name: u8,
    pools: Vec<&'static str>,
    seq: u64,
}

/// A hold that ended.
#[derive(Clone)]
struct Ended {
    network_name: u8,
    /// Which space, in the order of their opening.
    space: usize,
    ip: &'static str,
    sandbox: u8,
    ifname: Option<u8>,
    step: u32,
    seq: u64,
}

#[derive(Clone)]
pub(crate) struct Naive {
    world: World,
    /// Microseconds.
    pub(crate) now: i64,
    spaces: Vec<Space>,
    pub(crate) addresses: Vec<Address>,
    bound: Option<u8>,
    /// In the order of first sight.
    boots: Vec<u8>,
    calls: Vec<(Caller, Token, i64)>,
    pub(crate) tombstones: Tombstones,
    ended: Vec<Ended>,
}

/// The address chosen for a range.
struct Choice {
    ip: &'static str,
    space: usize,
}

/// A list of addresses in numeric order: the longest windows of this world have six.
fn number(ip: &str) -> IpAddr {
    ip.parse().expect("an address")
}

impl Naive {
    pub(crate) fn new(world: World, now: i64) -> Naive {
        Naive {
            world,
            now,
            spaces: Vec::new(),
            addresses: Vec::new(),
            bound: None,
            boots: Vec::new(),
            calls: Vec::new(),
            tombstones: Tombstones::default(),
            ended: Vec::new(),
        }
    }

    // ---- What is known.

    pub(crate) fn is_held(address: &Address) -> bool {
        address.step.is_multiple_of(2) && !matches!(address.holder, Holder::Nobody(_))
    }

    pub(crate) fn is_reserved(address: &Address) -> bool {
        address.step.is_multiple_of(2) && matches!(address.holder, Holder::Nobody(_))
    }

    fn until(address: &Address) -> i64 {
        address.at + i64::from(address.rest) * 1_000_000
    }

    pub(crate) fn is_cooling(&self, address: &Address) -> bool {
        let is_free = !address.step.is_multiple_of(2);
        is_free && address.rest > 0 && Naive::until(address) > self.now
    }

    /// The name that an address is kept for: pods 0 and 1 have the same.
    fn kept_for(&self, address: &Address) -> Option<(u8, u8)> {
        let until = address.at + i64::from(address.sticky) * 1_000_000;
        match address.holder {
            Holder::Own(own)
                if address.sticky > 0 && self.is_cooling(address) && until > self.now =>
            {
                Naive::name(own)
            }
            _ => None,
        }
    }

    fn name(interface: Interface) -> Option<(u8, u8)> {
        let pod = interface.sandbox % 4;
        (pod < 3).then_some((pod / 2, interface.ifname))
    }

    pub(crate) fn address(&self, space: &str, ip: &str) -> Option<&Address> {
        self.addresses
            .iter()
            .find(|address| address.space == space && address.ip == ip)
    }

    /// By position, then by address.
    pub(crate) fn held_by(&self, holder: Holder) -> Vec<&Address> {
        let mut held: Vec<&Address> = self
            .addresses
            .iter()
            .filter(|address| Naive::is_held(address) && address.holder == holder)
            .collect();
        held.sort_by_key(|address| (address.position, number(address.ip)));
        held
    }

    pub(crate) fn held_by_interface(&self, interface: Interface) -> Vec<&Address> {
        [
            Holder::Own(interface),
            Holder::Imported {
                sandbox: interface.sandbox,
                ifname: Some(interface.ifname),
            },
            Holder::Imported {
                sandbox: interface.sandbox,
                ifname: None,
            },
        ]
        .into_iter()
        .map(|holder| self.held_by(holder))
        .find(|held| !held.is_empty())
        .unwrap_or_default()
    }

    /// Taken addresses among some.
    pub(crate) fn counts(&self, space: &str, hands_out: &dyn Fn(&str) -> bool) -> Taken {
        let count = |wanted: &dyn Fn(&Address) -> bool| {
            let of_space = |a: &&Address| a.space == space && hands_out(a.ip) && wanted(a);
            self.addresses.iter().filter(of_space).count() as u128
        };
        Taken {
            held: count(&Naive::is_held),
            cooling: count(&|a| self.is_cooling(a)),
            reserved: count(&Naive::is_reserved),
        }
    }

    pub(crate) fn space_names(&self) -> Vec<&str> {
        self.spaces
            .iter()
            .map(|space| space.name.as_str())
            .collect()
    }

    pub(crate) fn head(&self, space: &str) -> u64 {
        let found = self.spaces.iter().find(|known| known.name == space);
        found.map_or(0, |space| space.seq)
    }

    fn name_of(&self, selector: Selector, private: Option<&str>) -> String {
        let mut name = self.world.cluster.clone();
        if selector.network_name == 1 {
            name.push_str("/blue");
        }
        private.map_or(name.clone(), |cidr| format!("{name}#{cidr}"))
    }

    fn find(&self, name: &str) -> Option<usize> {
        self.spaces.iter().position(|space| space.name == name)
    }

    /// The name of the space that serves a CIDR, or the private one in the way.
    fn resolve(&self, selector: Selector, cidr: &str) -> Result<String, String> {
        let network = self.name_of(selector, None);
        let private = self.name_of(selector, Some(cidr));
        let known = self.find(&network).map(|index| &self.spaces[index]);
        if known.is_some_and(|space| space.pools.contains(&cidr)) {
            return Ok(network);
        }
        match (selector.overlapping, self.find(&private).is_some()) {
            (true, false) => Ok(network),
            (true, true) => Err(format!("refused space_conflict {private}")),
            (false, _) => Ok(private),
        }
    }

    /// Make sure of a space and, if it is private, of the one that it was split from.
    pub(crate) fn open(&mut self, name: &str) -> usize {
        let network = name.split('#').next().expect("a name has a beginning");
        for wanted in [network, name] {
            if self.find(wanted).is_none() {
                self.spaces.push(Space {
                    name: wanted.to_owned(),
                    network_name: u8::from(network.ends_with("/blue")),
                    pools: Vec::new(),
                    seq: 0,
                });
            }
        }
        self.find(name).expect("it was just opened")
    }

    /// Later boots are greater; one that was never seen is greater than all.
    fn rank(&self, token: Token) -> (usize, u64) {
        let seen = self.boots.iter().position(|&boot| boot == token.0);
        (seen.unwrap_or(self.boots.len()), token.1)
    }

    /// A dry run makes no boot known, and proves nothing against a tombstone.
    fn is_later(&self, token: Token, than: Token) -> bool {
        let known = token.0 == than.0 || self.boots.contains(&token.0);
        known && self.rank(token) > self.rank(than)
    }

    fn pod(interface: Interface) -> Option<Caller> {
        let pod = interface.sandbox % 4;
        (pod < 3).then_some(Caller::Pod(pod, interface.ifname))
    }

    /// What the pod's interface holds, or held and still rests.
    fn of_pod(&self, interface: Interface) -> Vec<&Address> {
        let Some(pod) = Naive::pod(interface) else {
            return Vec::new();
        };
        let same = |address: &&Address| match address.holder {
            Holder::Own(own) => Naive::pod(own) == Some(pod),
            Holder::Imported { .. } | Holder::Nobody(_) => false,
        };
        let mut found: Vec<&Address> = self
            .addresses
            .iter()
            .filter(same)
            .filter(|address| Naive::is_held(address) || self.is_cooling(address))
            .collect();
        found.sort_by_key(|address| (address.position, number(address.ip)));
        found
    }

    fn last_call(&self, caller: Caller) -> Option<Token> {
        let call = self.calls.iter().find(|(of, ..)| *of == caller)?;
        (self.now - call.2 <= REMEMBERED * 1_000_000).then_some(call.1)
    }

    fn remember(&mut self, caller: Caller, token: Token) {
        let before = self.last_call(caller);
        let later = before.filter(|&before| self.rank(before) > self.rank(token));
        self.calls.retain(|(of, ..)| *of != caller);
        self.calls.push((caller, later.unwrap_or(token), self.now));
    }

    /// A boot counts from its first call on, whatever that comes to.
    pub(crate) fn see(&mut self, token: Option<Token>) {
        if let Some((boot, _)) = token
            && !self.boots.contains(&boot)
        {
            self.boots.push(boot);
        }
    }

    // ---- Commands. Each gives what the caller is told, as text.

    pub(crate) fn execute(&mut self, step: &Step) -> String {
        match step {
            Step::Add(add) => self.add(add),
            Step::Del(interface, token) => self.del(*interface, *token),
            Step::Free(which, shift) => {
                let (space, ip, step) = self.pick(*which, *shift).expect("an address to free");
                self.free(&space, ip, step)
            }
            Step::Import(import) => self.import(import),
            Step::Reserve(reserve) => self.reserve(reserve),
            Step::GiveBack(which, shift) => {
                let (space, ip, step) = self.pick(*which, *shift).expect("an address to give back");
                self.give_back(&space, ip, step)
            }
            Step::Bind(uid) => self.bind(*uid),
            Step::Count => self.count(),
            other => panic!("not a command: {other}"),
        }
    }

    /// One of the addresses that were ever used, and a step.
    pub(crate) fn pick(&self, which: u8, shift: u8) -> Option<(String, &'static str, u32)> {
        let index = usize::from(which).checked_rem(self.addresses.len())?;
        let address = &self.addresses[index];
        Some((
            address.space.clone(),
            address.ip,
            address.step + u32::from(shift),
        ))
    }

    /// Counts of every range in the default space, as text.
    fn count(&self) -> String {
        let mut told = "counted".to_owned();
        for range in RANGES {
            match self.resolve(DEFAULT, range.cidr) {
                Err(refused) => return refused,
                Ok(space) => {
                    let taken = self.counts(&space, &|ip| range.hands_out.contains(&ip));
                    let Taken {
                        held,
                        cooling,
                        reserved,
                    } = taken;
                    told.push_str(&format!(" {held}+{cooling}+{reserved}"));
                }
            }
        }
        told
    }

    /// For comparing: the last remembered call of an interface, and of its pod, as (rank of the
    /// boot, time).
    pub(crate) fn last_calls(&self, interface: Interface) -> [Option<(usize, u64)>; 2] {
        let own = self.last_call(Caller::Holder(Holder::Own(interface)));
        let pod = Naive::pod(interface).and_then(|pod| self.last_call(pod));
        [own, pod].map(|token| token.map(|token| self.rank(token)))
    }

    /// The addresses that the pod's interface holds or that rest after it.
    pub(crate) fn ips_of_pod(&self, interface: Interface) -> Vec<&'static str> {
        self.of_pod(interface).into_iter().map(|a| a.ip).collect()
    }

    /// When the first resting address of some is free.
    pub(crate) fn next_wake(&self, space: &str, hands_out: &[&str]) -> Option<i64> {
        self.next_to_wake(space, hands_out).map(Naive::until)
    }

    fn next_to_wake(&self, space: &str, hands_out: &[&str]) -> Option<&Address> {
        self.addresses
            .iter()
            .filter(|a| a.space == space && hands_out.contains(&a.ip) && self.is_cooling(a))
            .min_by_key(|a| (Naive::until(a), number(a.ip)))
    }

    pub(crate) fn bound_uid(&self) -> Option<String> {
        self.bound.map(|uid| self.world.uid(uid))
    }

    /// Events of these spaces have another time of record than was estimated.
    pub(crate) fn settle(&mut self, events: &[(String, u64)], by: i64) {
        for address in &mut self.addresses {
            if events.contains(&(address.space.clone(), address.seq)) {
                address.at += by;
            }
        }
    }
}

fn imported_holder(import: &Import) -> Holder {
    Holder::Imported {
        sandbox: import.sandbox,
        ifname: import.ifname,
    }
}

fn receipt(address: &Address) -> String {
    let Address {
        ip,
        space,
        pool,
        step,
        seq,
        ..
    } = address;
    format!(" {ip} of {pool} in {space} step {step} seq {seq}")
}

/// Everything but cool-down, token, UID of the cluster and dry run.
fn is_same_request(a: &Add, b: &Add) -> bool {
    a.ranges == b.ranges && a.ips == b.ips && a.selector == b.selector
}

fn assign_fixed(add: &Add) -> Result<Vec<Option<&'static str>>, String> {
    let mut fixed: Vec<Option<&'static str>> = vec![None; add.ranges.len()];
    for (nth, &ip) in add.ips.iter().enumerate() {
        let ip = ADDRESSES[ip];
        if fixed.contains(&Some(ip)) {
            return Err(format!("refused invalid_request ips[{nth}] {ip}"));
        }
        let place = (0..fixed.len())
            .find(|&index| {
                fixed[index].is_none() && RANGES[add.ranges[index]].hands_out.contains(&ip)
            })
            .ok_or_else(|| format!("refused address_outside_window {ip}"))?;
        fixed[place] = Some(ip);
    }
    Ok(fixed)
}
