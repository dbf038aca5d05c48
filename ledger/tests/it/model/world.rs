//! The small world of the model: tiny windows that run full, written out by hand, and how a step
//! becomes a command.

use std::net::IpAddr;
use std::rc::Rc;

use address::{Window, WindowText};
use ledger::Command;
use ledger::command::{
    AddressOrder, Allocate, BindCluster, Count, GiveBack, Import as ImportCommand, Release,
    ReleaseHold, Reserve as ReserveCommand, SpaceSelector,
};
use ledger::event::encoding::Key;
use ledger::model::{Attachment, OrderToken, Owner};
use uuid::Uuid;

use super::script::{Add, Import, Interface, Reserve, Selector, Token};
use crate::support::provenance;

/// A definition, and every address that it hands out, in order.
pub(crate) struct Range {
    pub(crate) cidr: &'static str,
    start: Option<&'static str>,
    end: Option<&'static str>,
    exclude: Option<&'static str>,
    pub(crate) hands_out: &'static [&'static str],
}

const fn range(
    cidr: &'static str,
    (start, end): (Option<&'static str>, Option<&'static str>),
    exclude: Option<&'static str>,
    hands_out: &'static [&'static str],
) -> Range {
    Range {
        cidr,
        start,
        end,
        exclude,
        hands_out,
    }
}

pub(crate) const RANGES: &[Range] = &[
    range("10.0.0.0/30", (None, None), None, &["10.0.0.1", "10.0.0.2"]),
    range(
        "10.0.0.0/29",
        (None, None),
        None,
        &[
            "10.0.0.1", "10.0.0.2", "10.0.0.3", "10.0.0.4", "10.0.0.5", "10.0.0.6",
        ],
    ),
    range(
        "10.0.0.0/29",
        (Some("10.0.0.2"), Some("10.0.0.4")),
        Some("10.0.0.3"),
        &["10.0.0.2", "10.0.0.4"],
    ),
    range("10.0.0.4/31", (None, None), None, &["10.0.0.4", "10.0.0.5"]),
    range("10.0.0.2/32", (None, None), None, &["10.0.0.2"]),
    range("fd00::/126", (None, None), None, &["fd00::1", "fd00::2"]),
    range(
        "fd00::/125",
        (None, None),
        Some("fd00::2-fd00::5"),
        &["fd00::1", "fd00::6"],
    ),
    range(
        "fd00::/64",
        (Some("fd00::1"), Some("fd00::3")),
        None,
        &["fd00::1", "fd00::2", "fd00::3"],
    ),
];

/// Addresses that are asked for or imported.
pub(crate) const ADDRESSES: &[&str] = &[
    "10.0.0.0", "10.0.0.1", "10.0.0.2", "10.0.0.3", "10.0.0.4", "10.0.0.5", "10.0.0.6", "fd00::1",
    "fd00::2", "fd00::3", "fd00::6",
];

/// CIDRs that imports are filed under.
pub(crate) const POOLS: &[&str] = &["10.0.0.0/29", "10.0.0.4/31", "fd00::/125", "fd00::/64"];

/// Which of the addresses lie in a pool.
pub(crate) fn in_pool(pool: &str, ip: &str) -> bool {
    match pool {
        "10.0.0.0/29" => ip.starts_with("10."),
        "10.0.0.4/31" => ip == "10.0.0.4" || ip == "10.0.0.5",
        _ => ip.starts_with("fd00"),
    }
}

impl Range {
    fn window(&self) -> Window {
        let exclude: Vec<String> = self.exclude.iter().map(ToString::to_string).collect();
        Window::parse(&WindowText {
            range: self.cidr,
            range_start: self.start,
            range_end: self.end,
            exclude: &exclude,
        })
        .expect("a window")
    }

    pub(crate) fn name(&self) -> String {
        match (self.start, self.exclude) {
            (None, None) => self.cidr.to_owned(),
            _ => format!("{}{:?}", self.cidr, self.hands_out),
        }
    }
}

fn interfaces() -> impl Iterator<Item = Interface> {
    (0..8u8).flat_map(|sandbox| {
        (1..=2u8).flat_map(move |ifname| {
            (0..2u8).map(move |network| Interface {
                sandbox,
                ifname,
                network,
            })
        })
    })
}

/// The words of one test case: cases that share a database differ in the cluster's name.
#[derive(Clone)]
pub(crate) struct World {
    pub(crate) cluster: String,
    /// Made once: scripts look at them after every step.
    pub(crate) known: Rc<Known>,
}

/// Every interface that a script can name, and the windows of the ranges.
pub(crate) struct Known {
    pub(crate) interfaces: Vec<KnownInterface>,
    pub(crate) windows: Vec<Window>,
    pub(crate) ips: Vec<IpAddr>,
}

pub(crate) struct KnownInterface {
    pub(crate) interface: Interface,
    pub(crate) attachment: Key,
    pub(crate) imported: [Key; 2],
    pub(crate) owner: Option<Key>,
}

impl World {
    pub(crate) fn new(cluster: &str) -> World {
        let mut world = World {
            cluster: cluster.to_owned(),
            known: Rc::new(Known {
                interfaces: Vec::new(),
                windows: RANGES.iter().map(Range::window).collect(),
                ips: ADDRESSES
                    .iter()
                    .map(|ip| ip.parse().expect("an address"))
                    .collect(),
            }),
        };
        let interfaces = interfaces().map(|interface| {
            let attachment = world.attachment(interface);
            let owner = world.owner(interface);
            KnownInterface {
                interface,
                attachment: attachment.key(),
                imported: attachment.imported_keys(),
                owner: owner.and_then(|o| o.key(&attachment.cluster, &attachment.ifname)),
            }
        });
        let interfaces = interfaces.collect();
        Rc::get_mut(&mut world.known)
            .expect("it was just made")
            .interfaces = interfaces;
        world
    }

    pub(crate) fn attachment(&self, interface: Interface) -> Attachment {
        Attachment {
            cluster: self.cluster.clone(),
            container_id: format!("c{}", interface.sandbox),
            ifname: format!("net{}", interface.ifname),
            network: ["a", "b"][usize::from(interface.network)].to_owned(),
        }
    }

    /// Pods 0 and 1 have a UID each and one name, as if a StatefulSet's pod had come back; pod 2 has
    /// only a name, and of pod 3 nothing is known.
    pub(crate) fn owner(&self, interface: Interface) -> Option<Owner> {
        let pod = interface.sandbox % 4;
        (pod < 3).then(|| Owner {
            name: format!("pod-{}", pod / 2 * 2),
            namespace: "default".to_owned(),
            node: Some("node-1".to_owned()),
            uid: (pod < 2).then(|| format!("uid-{}-{pod}", self.cluster)),
        })
    }

    pub(crate) fn selector(&self, selector: Selector) -> SpaceSelector {
        SpaceSelector {
            cluster: self.cluster.clone(),
            network_name: ["", "blue"][usize::from(selector.network_name)].to_owned(),
            overlapping: selector.overlapping,
        }
    }

    pub(crate) fn uid(&self, uid: u8) -> String {
        format!("cluster-uid-{uid}")
    }

    fn token(&self, (boot, boottime_ns): Token) -> OrderToken {
        // Boots are of one cluster, so that cases do not see each other's.
        let name = format!("{} {boot}", self.cluster);
        let digest = ledger::event::encoding::payload_digest(name.as_bytes());
        let boot_id = Uuid::from_slice(&digest[..16]).expect("16 bytes");
        OrderToken {
            boot_id,
            boottime_ns,
        }
    }

    /// One token of each boot.
    pub(crate) fn tokens(&self) -> impl Iterator<Item = OrderToken> {
        (0..2).map(|boot| self.token((boot, 1)))
    }

    pub(crate) fn add(&self, add: &Add) -> Command {
        let ips = add.ips.iter();
        Command::Allocate(Box::new(Allocate {
            attachment: self.attachment(add.interface),
            owner: self.owner(add.interface),
            cluster_uid: add.uid.map(|uid| self.uid(uid)),
            token: add.token.map(|token| self.token(token)),
            space: self.selector(add.selector),
            ranges: add
                .ranges
                .iter()
                .map(|&range| RANGES[range].window())
                .collect(),
            ips: ips
                .map(|&ip| ADDRESSES[ip].parse().expect("an address"))
                .collect(),
            order: if add.longest_idle {
                AddressOrder::LongestIdle
            } else {
                AddressOrder::LowestFree
            },
            cooldown_seconds: add.cooldown,
            sticky_seconds: add.sticky,
            dry_run: add.dry_run,
            provenance: provenance(),
        }))
    }

    pub(crate) fn del(&self, interface: Interface, token: Option<Token>) -> Command {
        Command::Release(Box::new(Release {
            cluster_uid: None,
            attachment: self.attachment(interface),
            owner: self.owner(interface),
            token: token.map(|token| self.token(token)),
            provenance: provenance(),
        }))
    }

    pub(crate) fn free(&self, space: &str, ip: IpAddr, step: u32) -> Command {
        let evidence = serde_json::json!({"kind": "test", "seen": [1, null, {"b": 1, "a": "ü"}]});
        Command::ReleaseHold(Box::new(ReleaseHold {
            space: space.to_owned(),
            ip,
            step,
            reason: "gone".to_owned(),
            evidence: evidence.as_object().expect("an object").clone(),
            provenance: provenance(),
        }))
    }

    pub(crate) fn import(&self, import: &Import) -> ImportCommand {
        ImportCommand {
            cluster_uid: None,
            space: self.selector(import.selector),
            pool: POOLS[import.pool].parse().expect("a CIDR"),
            ip: self.known.ips[import.ip],
            container_id: format!("c{}", import.sandbox),
            ifname: import.ifname.map(|ifname| format!("net{ifname}")),
            owner: None,
            evidence: serde_json::Map::new(),
            ended_before: None,
            provenance: provenance(),
        }
    }

    pub(crate) fn reserve(&self, reserve: &Reserve) -> Command {
        Command::Reserve(Box::new(ReserveCommand {
            space: self.selector(reserve.selector),
            pool: POOLS[reserve.pool].parse().expect("a CIDR"),
            ip: self.known.ips[reserve.ip],
            reason: format!("reason {}", reserve.reason),
            provenance: provenance(),
        }))
    }

    pub(crate) fn give_back(&self, space: &str, ip: IpAddr, step: u32) -> Command {
        Command::GiveBack(Box::new(GiveBack {
            space: space.to_owned(),
            ip,
            step,
            reason: "needed".to_owned(),
            provenance: provenance(),
        }))
    }

    pub(crate) fn bind(&self, uid: u8) -> Command {
        Command::BindCluster(Box::new(BindCluster {
            cluster: self.cluster.clone(),
            uid: self.uid(uid),
            provenance: provenance(),
        }))
    }

    /// Every range, in the default space.
    pub(crate) fn count(&self) -> Command {
        let selector = Selector {
            network_name: 0,
            overlapping: true,
        };
        let windows = self.known.windows.clone();
        Command::Count(Box::new(Count::Ranges(self.selector(selector), windows)))
    }
}
