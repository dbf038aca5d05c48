//! The ledger once more, written from the rules: plain lists, linear scans, no speed.

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

    fn add(&mut self, add: &Add) -> String {
        self.try_add(add).unwrap_or_else(|told| told)
    }

    fn try_add(&mut self, add: &Add) -> Result<String, String> {
        let fixed = assign_fixed(add)?;
        if let (Some(given), Some(bound)) = (add.uid, self.bound)
            && given != bound
        {
            return Err("refused cluster_mismatch".to_owned());
        }
        self.see(add.token.filter(|_| !add.dry_run));
        if let Some(held) = self.repeat(add)? {
            let receipts: String = held.iter().map(|address| receipt(address)).collect();
            let held: Vec<(String, &str)> = held.iter().map(|a| (a.space.clone(), a.ip)).collect();
            self.repeat_counts(add, &held);
            return Err(format!("has{receipts}"));
        }
        self.overtaken(add)?;
        let mut names = Vec::new();
        for &range in &add.ranges {
            names.push(self.resolve(add.selector, RANGES[range].cidr)?);
        }
        let chosen = self.choose(add, &names, &fixed)?;
        if add.dry_run {
            let told = chosen
                .iter()
                .zip(&names)
                .map(|(ip, name)| format!(" {ip} of {name}"));
            return Ok(format!("would give{}", told.collect::<String>()));
        }
        // Spaces are opened before anything is appended to them.
        let default = self.name_of(DEFAULT, None);
        let first_contact = add.uid.is_some() && self.bound.is_none();
        for name in names.iter().chain(first_contact.then_some(&default)) {
            self.open(name);
        }
        if self.tombstones.learn(add.interface, self.now) {
            return self.try_add(add);
        }
        Ok(self.give(add, &names, &chosen))
    }

    /// The holds that the request repeats, in the order of its ranges.
    fn repeat(&self, add: &Add) -> Result<Option<Vec<&Address>>, String> {
        let held = self.held_by_interface(add.interface);
        let Some(first) = held.first() else {
            return Ok(None);
        };
        let conflict = || Err(format!("refused attachment_conflict {}", first.ip));
        let ifname = match first.holder {
            Holder::Own(_) => {
                let same = |address: &&Address| {
                    let request = address.request.as_ref();
                    request.is_some_and(|request| is_same_request(request, add))
                };
                let is_same = held.len() == add.ranges.len() && held.iter().all(same);
                return if is_same { Ok(Some(held)) } else { conflict() };
            }
            Holder::Imported { ifname, .. } => ifname,
            Holder::Nobody(_) => unreachable!("no interface is asked for by it"),
        };
        let fixed = assign_fixed(add)?;
        let mut in_order: Vec<&Address> = Vec::new();
        for (&range, fixed) in add.ranges.iter().zip(fixed) {
            let range = &RANGES[range];
            let space = self.resolve(add.selector, range.cidr).unwrap_or_default();
            let fits = |a: &&&Address| {
                a.space == space
                    && range.hands_out.contains(&a.ip)
                    && fixed.is_none_or(|ip| ip == a.ip)
                    && !in_order.iter().any(|b| b.ip == a.ip && b.space == a.space)
            };
            let fitting: Vec<&&Address> = held.iter().filter(fits).collect();
            match fitting.as_slice() {
                [only] => in_order.push(only),
                [first, ..] if ifname.is_some() => in_order.push(first),
                _ => {}
            }
        }
        let all = in_order.len() == add.ranges.len();
        match ifname {
            Some(_) if all && in_order.len() == held.len() => Ok(Some(in_order)),
            Some(_) => conflict(),
            None if all => Ok(Some(in_order)),
            // One hold that fits one of several ranges is this interface's.
            None if held.len() == 1 && !in_order.is_empty() => conflict(),
            None => Ok(None),
        }
    }

    /// A repeat that came later than the last call for a hold is the last one from now on.
    fn repeat_counts(&mut self, add: &Add, held: &[(String, &str)]) {
        let Some(token) = add.token.filter(|_| !add.dry_run) else {
            return;
        };
        let mut overtaken = Vec::new();
        for (space, ip) in held {
            let address = self.address(space, ip).expect("it is held");
            let last = address.token.map(|last| self.rank(last));
            if last.is_none_or(|last| last < self.rank(token)) {
                overtaken.push((space.clone(), *ip));
            }
        }
        for address in &mut self.addresses {
            if overtaken.contains(&(address.space.clone(), address.ip)) {
                address.token = Some(token);
            }
        }
    }

    fn overtaken(&self, add: &Add) -> Result<(), String> {
        let own = Caller::Holder(Holder::Own(add.interface));
        if let Some(token) = add.token {
            let held = self.of_pod(add.interface);
            let pod = Naive::pod(add.interface).and_then(|pod| self.last_call(pod));
            let last = held
                .iter()
                .filter_map(|address| address.token)
                .chain(pod)
                .chain(self.last_call(own))
                .map(|token| self.rank(token))
                .max();
            if last.is_some_and(|last| self.rank(token) < last) {
                return Err("refused stale".to_owned());
            }
        }
        let Some(deleted) = self.tombstones.known(add.interface, self.now) else {
            return Ok(());
        };
        match (add.token, deleted) {
            (Some(added), Some(deleted)) if self.is_later(added, deleted) => Ok(()),
            _ => Err("refused deleted".to_owned()),
        }
    }

    fn choose(
        &self,
        add: &Add,
        names: &[String],
        fixed: &[Option<&'static str>],
    ) -> Result<Vec<&'static str>, String> {
        let mut chosen: Vec<Option<&'static str>> = vec![None; add.ranges.len()];
        let mut refused: Vec<String> = Vec::new();
        let older = self.of_pod(add.interface);
        let own = |space: &str, ip: &str| older.iter().any(|a| a.ip == ip && a.space == space);
        let mut kept: Vec<&Address> = match Naive::name(add.interface) {
            Some(name) => {
                let of_name = |a: &&Address| self.kept_for(a) == Some(name);
                self.addresses.iter().filter(of_name).collect()
            }
            None => Vec::new(),
        };
        kept.sort_by_key(|a| (a.position, number(a.ip)));
        let may_have = |space: &str, ip: &str| {
            own(space, ip) || kept.iter().any(|a| a.ip == ip && a.space == space)
        };
        for (position, ip) in fixed.iter().enumerate() {
            let Some(ip) = ip else { continue };
            let space = &names[position];
            refused.extend(self.check_fixed(space, ip, may_have(space, ip)).err());
            chosen[position] = Some(ip);
        }
        for (position, &range) in add.ranges.iter().enumerate() {
            if fixed[position].is_some() {
                continue;
            }
            let (space, range) = (&names[position], &RANGES[range]);
            let used = |ip: &str| {
                let mut others = chosen.iter().zip(names);
                others.any(|(chosen, name)| *chosen == Some(ip) && name == space)
            };
            let first = |some: &mut dyn Iterator<Item = &&Address>| {
                let fits = |a: &&&Address| {
                    a.space == *space && range.hands_out.contains(&a.ip) && !used(a.ip)
                };
                let mut fitting: Vec<&&Address> = some.filter(fits).collect();
                fitting.sort_by_key(|a| (a.position != position, a.position, number(a.ip)));
                fitting.first().map(|a| a.ip)
            };
            let own_rests = |ip: &str| {
                own(space, ip) && self.address(space, ip).is_some_and(|a| self.is_cooling(a))
            };
            chosen[position] = first(&mut older.iter().filter(|a| Naive::is_held(a)))
                .or_else(|| first(&mut kept.iter()))
                .or_else(|| self.free_one(add, space, range.hands_out, (&used, &own_rests)));
            if chosen[position].is_none() {
                refused.push(self.full(space, range.hands_out));
            }
        }
        // The first kind that applies, whichever range it is about.
        for kind in [
            "address_taken",
            "address_reserved",
            "address_kept",
            "address_cooling",
            "exhausted",
            "kept",
            "cooling",
        ] {
            let of_kind = format!("refused {kind} ");
            if let Some(told) = refused.iter().find(|told| told.starts_with(&of_kind)) {
                return Err(told.clone());
            }
        }
        Ok(chosen.into_iter().flatten().collect())
    }

    /// One that nobody has, in the order that the request wants.
    fn free_one(
        &self,
        add: &Add,
        space: &str,
        hands_out: &[&'static str],
        (used, own_rests): (&dyn Fn(&str) -> bool, &dyn Fn(&str) -> bool),
    ) -> Option<&'static str> {
        let is_free = |ip: &str| match self.address(space, ip) {
            None => true,
            Some(address) => !address.step.is_multiple_of(2) && !self.is_cooling(address),
        };
        let mut left = hands_out.iter().copied().filter(|ip| !used(ip));
        if !add.longest_idle {
            return left.find(|ip| is_free(ip) || own_rests(ip));
        }
        let left: Vec<&'static str> = left.collect();
        let freed = |ip: &&'static str| self.address(space, ip).map_or(0, |address| address.seq);
        let idle = left
            .iter()
            .copied()
            .filter(|ip| is_free(ip))
            .min_by_key(freed);
        idle.or_else(|| left.into_iter().find(|ip| own_rests(ip)))
    }

    fn check_fixed(&self, space: &str, ip: &str, own: bool) -> Result<(), String> {
        match self.address(space, ip) {
            Some(address) if Naive::is_held(address) && !own => {
                let (seq, step) = (address.allocated_seq, address.step);
                Err(format!(
                    "refused address_taken {ip} of {space} step {step} seq {seq}"
                ))
            }
            Some(address) if Naive::is_reserved(address) => {
                let (seq, step) = (address.allocated_seq, address.step);
                Err(format!(
                    "refused address_reserved {ip} of {space} step {step} seq {seq}"
                ))
            }
            Some(address) if self.is_cooling(address) && !own => {
                let kind = match self.kept_for(address) {
                    Some(_) => "address_kept",
                    None => "address_cooling",
                };
                let until = Naive::until(address);
                Err(format!("refused {kind} {ip} until {until}"))
            }
            _ => Ok(()),
        }
    }

    fn full(&self, space: &str, hands_out: &[&str]) -> String {
        let taken = of_taken(&self.counts(space, &|ip| hands_out.contains(&ip)));
        match self.next_to_wake(space, hands_out) {
            Some(next) => {
                let until = Naive::until(next);
                let kind = self.kept_for(next).map_or("cooling", |_| "kept");
                format!("refused {kind} {taken} until {until}")
            }
            None => format!("refused exhausted {taken}"),
        }
    }

    /// Everything is possible: end what the older sandbox holds, and give.
    fn give(&mut self, add: &Add, names: &[String], chosen: &[&'static str]) -> String {
        self.bind_now(add);
        let older: Vec<(String, &'static str)> = self
            .of_pod(add.interface)
            .into_iter()
            .filter(|address| Naive::is_held(address))
            .map(|address| (address.space.clone(), address.ip))
            .collect();
        let caller = Caller::Holder(Holder::Own(add.interface));
        for (space, ip) in older {
            self.end(&space, ip, add.token, Some(caller));
        }
        let mut told = "given".to_owned();
        for (position, (&ip, name)) in chosen.iter().zip(names).enumerate() {
            let space = self.open(name);
            let choice = Choice { ip, space };
            let pool = RANGES[add.ranges[position]].cidr;
            let holder = Holder::Own(add.interface);
            let address = self.hold(&choice, pool, holder, position);
            address.sticky = Naive::name(add.interface).map_or(0, |_| add.sticky);
            address.rest = add.cooldown.max(address.sticky);
            address.token = add.token;
            address.request = Some(add.clone());
            told.push_str(&receipt(address));
        }
        told
    }

    fn bind_now(&mut self, add: &Add) {
        if self.bound.is_none()
            && let Some(uid) = add.uid
        {
            self.bind(uid);
        }
    }

    fn hold(
        &mut self,
        choice: &Choice,
        pool: &'static str,
        holder: Holder,
        position: usize,
    ) -> &mut Address {
        let space = &mut self.spaces[choice.space];
        space.seq += 1;
        if !space.pools.contains(&pool) {
            space.pools.push(pool);
        }
        let (name, seq) = (space.name.clone(), space.seq);
        let before = self.address(&name, choice.ip).map(|address| address.step);
        self.addresses
            .retain(|a| a.space != name || a.ip != choice.ip);
        self.addresses.push(Address {
            space: name,
            ip: choice.ip,
            step: before.map_or(0, |step| step + 1),
            seq,
            allocated_seq: seq,
            at: self.now,
            holder,
            position,
            pool,
            rest: 0,
            sticky: 0,
            token: None,
            request: None,
        });
        self.addresses.last_mut().expect("it was just pushed")
    }

    /// End a hold; the call is remembered for the holder, for the pod, and for who ended it.
    fn end(&mut self, space: &str, ip: &str, token: Option<Token>, ender: Option<Caller>) -> u64 {
        let index = self.find(space).expect("the space of a hold");
        self.spaces[index].seq += 1;
        let (seq, network_name) = (self.spaces[index].seq, self.spaces[index].network_name);
        let now = self.now;
        let mut addresses = self.addresses.iter_mut();
        let address = addresses
            .find(|a| a.space == space && a.ip == ip)
            .expect("it is held");
        address.step += 1;
        address.seq = seq;
        address.at = now;
        let ended = address.clone();
        let (sandbox, ifname) = match ended.holder {
            Holder::Own(interface) => (interface.sandbox, Some(interface.ifname)),
            Holder::Imported { sandbox, ifname } => (sandbox, ifname),
            Holder::Nobody(_) => return seq,
        };
        self.ended.push(Ended {
            network_name,
            space: index,
            ip: ended.ip,
            sandbox,
            ifname,
            step: ended.step - 1,
            seq: ended.allocated_seq,
        });
        let rank = |token: &Token| self.rank(*token);
        let last = [token, ended.token].into_iter().flatten().max_by_key(rank);
        let pod = match ended.holder {
            Holder::Own(interface) => Naive::pod(interface),
            Holder::Imported { .. } | Holder::Nobody(_) => None,
        };
        if let Some(last) = last {
            self.remember(Caller::Holder(ended.holder), last);
            pod.into_iter().for_each(|pod| self.remember(pod, last));
        }
        if let (Some(token), Some(ender)) = (token, ender) {
            self.remember(ender, token);
        }
        seq
    }

    fn del(&mut self, interface: Interface, token: Option<Token>) -> String {
        self.see(token);
        let held: Vec<Address> = self
            .held_by_interface(interface)
            .into_iter()
            .cloned()
            .collect();
        let of_sandbox = Holder::Imported {
            sandbox: interface.sandbox,
            ifname: None,
        };
        if held.is_empty() {
            self.tombstones.bury(interface, token, self.now);
            return "released".to_owned();
        }
        // Some of them may be the other interface's.
        if held.len() > 1 && held[0].holder == of_sandbox {
            return "released".to_owned();
        }
        let overtaken = |address: &Address| match (token, address.token) {
            (Some(deleted), Some(added)) => self.rank(deleted) < self.rank(added),
            _ => false,
        };
        if held.iter().any(overtaken) {
            return "released stale".to_owned();
        }
        let mut told = "released".to_owned();
        let caller = Caller::Holder(Holder::Own(interface));
        for address in &held {
            let seq = self.end(&address.space, address.ip, token, Some(caller));
            let (ip, step, space) = (address.ip, address.step + 1, &address.space);
            told.push_str(&format!(" {ip} of {space} step {step} seq {seq}"));
        }
        told
    }

    fn free(&mut self, space: &str, ip: &str, step: u32) -> String {
        if self.find(space).is_none() {
            return "refused not_found".to_owned();
        }
        let Some(address) = self.address(space, ip) else {
            return format!("refused step_mismatch {step} none");
        };
        let (actual, seq) = (address.step, address.seq);
        if step == actual && Naive::is_reserved(address) {
            return format!("refused address_reserved {ip} of {space} step {step} seq {seq}");
        }
        if step == actual && Naive::is_held(address) {
            let seq = self.end(space, ip, None, None);
            return format!("ended {ip} of {space} step {} seq {seq}", step + 1);
        }
        if step.is_multiple_of(2) && actual == step + 1 {
            return format!("had ended {ip} of {space} step {actual} seq {seq}");
        }
        format!("refused step_mismatch {step} {actual}")
    }

    /// What the history says of an import before it is decided. An interface that is not known
    /// may be any.
    pub(crate) fn ended_before(&self, import: &Import) -> Option<(u32, u64)> {
        let same_ifname = |ended: &Ended| match (ended.ifname, import.ifname) {
            (Some(ended), Some(imported)) => ended == imported,
            _ => true,
        };
        self.ended
            .iter()
            .filter(|ended| ended.network_name == import.selector.network_name)
            .filter(|ended| ended.ip == ADDRESSES[import.ip] && ended.sandbox == import.sandbox)
            .filter(|ended| same_ifname(ended))
            .max_by_key(|ended| (ended.step, ended.space))
            .map(|ended| (ended.step, ended.seq))
    }

    fn import(&mut self, import: &Import) -> String {
        self.try_import(import).unwrap_or_else(|told| told)
    }

    fn try_import(&mut self, import: &Import) -> Result<String, String> {
        let (pool, ip) = (POOLS[import.pool], ADDRESSES[import.ip]);
        if !in_pool(pool, ip) {
            return Err(format!("refused invalid_request address {ip}"));
        }
        let space = self.resolve(import.selector, pool)?;
        let holder = imported_holder(import);
        if let Some(address) = self.address(&space, ip) {
            let (step, seq) = (address.step, address.allocated_seq);
            match (address.holder == holder, Naive::is_held(address)) {
                (true, true) => return Ok(format!("import held step {step} seq {seq}")),
                (true, false) => return Ok(format!("import ended step {} seq {seq}", step - 1)),
                (false, _) => {}
            }
        }
        if let Some((step, seq)) = self.ended_before(import) {
            return Ok(format!("import ended step {step} seq {seq}"));
        }
        self.check_fixed(&space, ip, false)?;
        let index = self.open(&space);
        let mut positions = self
            .held_by(holder)
            .into_iter()
            .map(|address| address.position);
        let position = positions.next_back().map_or(0, |last| last + 1);
        let choice = Choice { ip, space: index };
        let address = self.hold(&choice, pool, holder, position);
        Ok(format!(
            "imported step {} seq {}",
            address.step, address.seq
        ))
    }

    fn reserve(&mut self, reserve: &Reserve) -> String {
        self.try_reserve(reserve).unwrap_or_else(|told| told)
    }

    fn try_reserve(&mut self, reserve: &Reserve) -> Result<String, String> {
        let (pool, ip) = (POOLS[reserve.pool], ADDRESSES[reserve.ip]);
        if !in_pool(pool, ip) {
            return Err(format!("refused invalid_request address {ip}"));
        }
        let space = self.resolve(reserve.selector, pool)?;
        let mut rest = 0;
        if let Some(address) = self.address(&space, ip) {
            if Naive::is_reserved(address) && address.holder == Holder::Nobody(reserve.reason) {
                return Ok(format!("had reserved{}", receipt(address)));
            }
            if self.is_cooling(address) && self.kept_for(address).is_none() {
                let left = Naive::until(address) - self.now;
                rest = u32::try_from((left + 999_999) / 1_000_000).expect("a month at most");
            } else {
                self.check_fixed(&space, ip, false)?;
            }
        }
        let index = self.open(&space);
        let holder = Holder::Nobody(reserve.reason);
        let address = self.hold(&Choice { ip, space: index }, pool, holder, 0);
        address.rest = rest;
        Ok(format!("reserved{}", receipt(address)))
    }

    fn give_back(&mut self, space: &str, ip: &str, step: u32) -> String {
        let address = self.address(space, ip).expect("an address to give back");
        let (actual, seq, allocated_seq) = (address.step, address.seq, address.allocated_seq);
        let was_reserved = matches!(address.holder, Holder::Nobody(_));
        if step == actual && Naive::is_reserved(address) {
            let seq = self.end(space, ip, None, None);
            return format!("ended {ip} of {space} step {} seq {seq}", step + 1);
        }
        if step == actual && Naive::is_held(address) {
            return format!(
                "refused address_taken {ip} of {space} step {step} seq {allocated_seq}"
            );
        }
        if step.is_multiple_of(2) && actual == step + 1 && was_reserved {
            return format!("had ended {ip} of {space} step {actual} seq {seq}");
        }
        format!("refused step_mismatch {step} {actual}")
    }

    fn bind(&mut self, uid: u8) -> String {
        match self.bound {
            Some(bound) if bound != uid => return "refused cluster_mismatch".to_owned(),
            Some(_) => {}
            None => {
                let name = self.name_of(DEFAULT, None);
                let index = self.open(&name);
                self.spaces[index].seq += 1;
                self.bound = Some(uid);
            }
        }
        format!("bound {}", self.world.uid(uid))
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
