//! Readings to project.

use std::collections::BTreeMap;
use std::net::IpAddr;

use ipledger_client::types::{Attachment, Hold, Owner, Space, SpaceMember};
use ipledger_sync::project::{HeldAddress, Reading, SpaceReading};
use jiff::Timestamp;
use proptest::prelude::*;

pub(super) const CONTAINER: &str =
    "a56b06006c6a3e3a1eb26db82b8cd5db008f20627576e3b1c7926776bffc9ed0";

pub(super) fn read_at() -> Timestamp {
    "2026-11-30T07:42:00Z".parse().unwrap()
}

/// A space with its members, as (cluster, network name).
pub(super) fn space(name: &str, members: &[(&str, &str)], private: Option<&str>) -> Space {
    let member = |(cluster, network): &(&str, &str)| SpaceMember {
        cluster: (*cluster).to_owned(),
        network_name: (!network.is_empty()).then(|| (*network).to_owned()),
    };
    Space {
        name: name.to_owned(),
        seq: 7,
        hash: "00".repeat(32),
        recorded_at: None,
        members: members.iter().map(member).collect(),
        private_cidr: private.map(str::to_owned),
    }
}

/// A hold of `default/super-pod`, net1.
pub(super) fn hold(cluster: &str, space: &str, pool: &str, address: &str) -> Hold {
    Hold {
        space: space.to_owned(),
        pool: pool.to_owned(),
        address: address.to_owned(),
        step: 0,
        seq: 3,
        recorded_at: "2026-11-30T07:41:00.000000Z".to_owned(),
        position: 0,
        attachment: Attachment {
            cluster: cluster.to_owned(),
            network: "super-net".to_owned(),
            container_id: CONTAINER.to_owned(),
            ifname: "net1".to_owned(),
        },
        owner: Some(Owner {
            namespace: "default".to_owned(),
            name: "super-pod".to_owned(),
            uid: None,
            node: None,
        }),
    }
}

pub(super) fn reading(spaces: &[Space], holds: Vec<Hold>) -> Reading {
    let as_of = spaces
        .iter()
        .map(|space| (space.name.clone(), space.seq))
        .collect();
    Reading::assemble("prod", spaces, &as_of, holds, read_at()).unwrap()
}

/// The reading of scenario S1.
pub(super) fn outage() -> Reading {
    let spaces = [space("prod", &[("prod", "")], None)];
    reading(
        &spaces,
        vec![hold("prod", "prod", "10.10.3.0/24", "10.10.3.30")],
    )
}

/// Any reading of a few small pools in three spaces, one of them private.
pub(super) fn any_reading() -> impl Strategy<Value = Reading> {
    let pools = ["10.0.0.0/29", "10.0.1.0/29", "fd00::/125"];
    let hold = (0..3usize, 0..3usize, 0u128..8, 0..4u32, 0..2usize);
    prop::collection::vec(hold, 0..24).prop_map(move |holds| {
        let names = ["prod", "prod/blue", "prod/blue#10.0.9.0/29"];
        let mut spaces = BTreeMap::new();
        for (index, name) in names.into_iter().enumerate() {
            let network = if index == 0 { "" } else { "blue" };
            let space = SpaceReading {
                seq: 9,
                network_names: vec![network.to_owned()],
                private: index == 2,
                holds: BTreeMap::new(),
            };
            spaces.insert(name.to_owned(), space);
        }
        for (space, pool, offset, pod, known) in holds {
            let pool = if space == 2 {
                "10.0.9.0/29"
            } else {
                pools[pool]
            };
            let pool: ipnet::IpNet = pool.parse().unwrap();
            let address: IpAddr =
                ipledger_sync::project::address_at(pool.network(), offset).unwrap();
            let hold = HeldAddress {
                pool,
                step: pod * 2,
                seq: u64::from(pod),
                container_id: format!("container-{pod}"),
                podref: format!("default/pod-{pod}"),
                ifname: ["", "net1"][known].to_owned(),
            };
            let space = spaces.get_mut(names[space]).unwrap();
            space.holds.insert(address, hold);
        }
        Reading {
            spaces,
            epoch: Some(1),
            read_at: read_at(),
        }
    })
}
