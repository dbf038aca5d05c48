//! What a test does: steps in a small world, in which everything happens often.

use std::fmt;

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

use super::world::{ADDRESSES, POOLS, RANGES};

/// One interface of one sandbox. Sandbox `n` belongs to pod `n % 4`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Interface {
    pub(crate) sandbox: u8,
    pub(crate) ifname: u8,
    pub(crate) network: u8,
}

/// Boot and time since boot.
pub(crate) type Token = (u8, u64);

/// Index of a space name, and whether ranges overlap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Selector {
    pub(crate) network_name: u8,
    pub(crate) overlapping: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Add {
    pub(crate) interface: Interface,
    pub(crate) selector: Selector,
    pub(crate) ranges: Vec<usize>,
    pub(crate) ips: Vec<usize>,
    pub(crate) longest_idle: bool,
    pub(crate) cooldown: u32,
    pub(crate) sticky: u32,
    pub(crate) token: Option<Token>,
    pub(crate) uid: Option<u8>,
    pub(crate) dry_run: bool,
}

#[derive(Debug, Clone)]
pub(crate) struct Import {
    pub(crate) selector: Selector,
    pub(crate) pool: usize,
    pub(crate) ip: usize,
    pub(crate) sandbox: u8,
    pub(crate) ifname: Option<u8>,
}

#[derive(Debug, Clone)]
pub(crate) struct Reserve {
    pub(crate) selector: Selector,
    pub(crate) pool: usize,
    pub(crate) ip: usize,
    pub(crate) reason: u8,
}

#[derive(Debug, Clone)]
pub(crate) enum Step {
    Add(Add),
    Del(Interface, Option<Token>),
    /// End the hold of one of the addresses that were ever used; a wrong step on purpose if the
    /// second number is not 0.
    Free(u8, u8),
    Import(Import),
    Reserve(Reserve),
    /// As `Free`, for a reservation.
    GiveBack(u8, u8),
    Bind(u8),
    Count,
    /// Seconds.
    Wait(u32),
    /// Everything decided so far is in the ledger.
    Commit,
    /// The first so many undecided commands are in the ledger.
    CommitFirst(u8),
    /// Nothing decided since the last commit is in the ledger.
    RollBack,
    /// Start the ledger anew.
    Restart,
    /// Go on at the other replica.
    Switch,
}

/// Shown as one step per line, so that a counter-example reads like a log.
#[derive(Clone)]
pub(crate) struct Script(pub(crate) Vec<Step>);

fn interface() -> impl Strategy<Value = Interface> {
    let ifname = prop_oneof![5 => Just(1u8), 1 => Just(2u8)];
    let network = prop_oneof![4 => Just(0u8), 1 => Just(1u8)];
    (0u8..8, ifname, network).prop_map(|(sandbox, ifname, network)| Interface {
        sandbox,
        ifname,
        network,
    })
}

fn token() -> impl Strategy<Value = Option<Token>> {
    option::weighted(0.8, (0u8..2, 1u64..12))
}

fn selector() -> impl Strategy<Value = Selector> {
    let network_name = prop_oneof![4 => Just(0u8), 1 => Just(1u8)];
    (network_name, prop::bool::weighted(0.85)).prop_map(|(network_name, overlapping)| Selector {
        network_name,
        overlapping,
    })
}

fn add() -> impl Strategy<Value = Add> {
    let ranges = vec(0..RANGES.len(), 1..=3);
    let ips = prop_oneof![3 => Just(Vec::new()), 1 => vec(0..ADDRESSES.len(), 1..=2)];
    let cooldown = prop_oneof![2 => Just(0u32), 1 => Just(30), 1 => Just(100_000)];
    let sticky = prop_oneof![4 => Just(0u32), 1 => Just(30), 1 => Just(100_000)];
    let after = (prop::bool::weighted(0.3), cooldown, sticky);
    let uid = option::weighted(0.2, prop_oneof![6 => Just(0u8), 1 => Just(1u8)]);
    let dry_run = prop::bool::weighted(0.1);
    (
        interface(),
        selector(),
        ranges,
        ips,
        after,
        token(),
        uid,
        dry_run,
    )
        .prop_map(
            |(interface, selector, ranges, ips, after, token, uid, dry_run)| Add {
                interface,
                selector,
                ranges,
                ips,
                longest_idle: after.0,
                cooldown: after.1,
                sticky: after.2,
                token,
                uid,
                dry_run,
            },
        )
}

fn import() -> impl Strategy<Value = Import> {
    let ifname = option::of(1u8..=2);
    (
        selector(),
        0..POOLS.len(),
        0..ADDRESSES.len(),
        0u8..8,
        ifname,
    )
        .prop_map(|(selector, pool, ip, sandbox, ifname)| Import {
            selector,
            pool,
            ip,
            sandbox,
            ifname,
        })
}

fn reserve() -> impl Strategy<Value = Reserve> {
    let places = (selector(), 0..POOLS.len(), 0..ADDRESSES.len(), 0u8..2);
    places.prop_map(|(selector, pool, ip, reason)| Reserve {
        selector,
        pool,
        ip,
        reason,
    })
}

fn command() -> impl Strategy<Value = Step> {
    prop_oneof![
        10 => add().prop_map(Step::Add),
        5 => (interface(), token()).prop_map(|(interface, token)| Step::Del(interface, token)),
        2 => (any::<u8>(), prop_oneof![4 => Just(0u8), 1 => 1u8..4])
            .prop_map(|(which, shift)| Step::Free(which, shift)),
        2 => import().prop_map(Step::Import),
        2 => reserve().prop_map(Step::Reserve),
        2 => (any::<u8>(), prop_oneof![4 => Just(0u8), 1 => 1u8..4])
            .prop_map(|(which, shift)| Step::GiveBack(which, shift)),
        1 => prop_oneof![3 => Just(0u8), 1 => Just(1u8)].prop_map(Step::Bind),
    ]
}

/// For decisions without a database.
pub(crate) fn for_core() -> impl Strategy<Value = Script> {
    let wait = prop_oneof![
        Just(1u32),
        Just(29),
        Just(31),
        Just(299),
        Just(301),
        Just(700)
    ];
    let step = prop_oneof![
        12 => command(),
        2 => wait.prop_map(Step::Wait),
        3 => Just(Step::Commit),
        2 => (1u8..4).prop_map(Step::CommitFirst),
        2 => Just(Step::RollBack),
    ];
    vec(step, 1..60).prop_map(Script)
}

/// For the ledger on PostgreSQL, whose clock nobody can turn.
pub(crate) fn for_store() -> impl Strategy<Value = Script> {
    let step = prop_oneof![
        20 => command(),
        2 => Just(Step::Count),
        1 => Just(Step::Restart),
        4 => Just(Step::Switch),
    ];
    // Resting for half a minute would end within a slow run, or not.
    vec(step, 20..60).prop_map(|mut steps: Vec<Step>| {
        for step in &mut steps {
            if let Step::Add(add) = step {
                for rest in [&mut add.cooldown, &mut add.sticky] {
                    *rest = if *rest == 30 { 100_000 } else { *rest };
                }
            }
        }
        Script(steps)
    })
}

/// Commands alone, to be sent at once.
pub(crate) fn for_race() -> impl Strategy<Value = Script> {
    vec(command(), 40..80).prop_map(Script)
}

impl fmt::Debug for Script {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|step| write!(f, "\n  {step}"))
    }
}

impl fmt::Display for Interface {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let network = ["a", "b"][usize::from(self.network)];
        write!(f, "c{} net{} {network}", self.sandbox, self.ifname)
    }
}

impl fmt::Display for Selector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = ["default", "blue"][usize::from(self.network_name)];
        let private = if self.overlapping { "" } else { " private" };
        write!(f, "{name}{private}")
    }
}

struct Shown<'a>(&'a Option<Token>);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some((boot, time)) => write!(f, "boot {boot} at {time}"),
            None => f.write_str("no token"),
        }
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Step::Add(add) => {
                let verb = if add.dry_run { "try" } else { "add" };
                let token = Shown(&add.token);
                write!(f, "{verb} {} {token} in {}:", add.interface, add.selector)?;
                for &range in &add.ranges {
                    write!(f, " {}", RANGES[range].name())?;
                }
                for &ip in &add.ips {
                    write!(f, " ip {}", ADDRESSES[ip])?;
                }
                if add.cooldown > 0 {
                    write!(f, " cooldown {}", add.cooldown)?;
                }
                if add.sticky > 0 {
                    write!(f, " sticky {}", add.sticky)?;
                }
                if add.longest_idle {
                    f.write_str(" longest idle")?;
                }
                add.uid.map_or(Ok(()), |uid| write!(f, " uid {uid}"))
            }
            Step::Del(interface, token) => write!(f, "del {interface} {}", Shown(token)),
            Step::Free(which, 0) => write!(f, "free address {which}"),
            Step::Free(which, shift) => write!(f, "free address {which} with step + {shift}"),
            Step::Import(import) => {
                let ifname = import.ifname.map_or("?".to_owned(), |n| format!("net{n}"));
                let (pool, ip) = (POOLS[import.pool], ADDRESSES[import.ip]);
                let (sandbox, selector) = (import.sandbox, import.selector);
                write!(
                    f,
                    "import {ip} of {pool} for c{sandbox} {ifname} in {selector}"
                )
            }
            Step::Reserve(reserve) => {
                let (pool, ip) = (POOLS[reserve.pool], ADDRESSES[reserve.ip]);
                let (reason, selector) = (reserve.reason, reserve.selector);
                write!(
                    f,
                    "reserve {ip} of {pool} for reason {reason} in {selector}"
                )
            }
            Step::GiveBack(which, shift) => write!(f, "give back {which} with step + {shift}"),
            Step::Bind(uid) => write!(f, "bind uid {uid}"),
            Step::Count => f.write_str("count"),
            Step::Wait(seconds) => write!(f, "wait {seconds} s"),
            Step::Commit => f.write_str("commit"),
            Step::CommitFirst(count) => write!(f, "commit the first {count}"),
            Step::RollBack => f.write_str("roll back"),
            Step::Restart => f.write_str("restart"),
            Step::Switch => f.write_str("switch replica"),
        }
    }
}
