//! From the words of a request to those of the ledger, each checked on the way. Every refusal
//! names the key and the value.

mod evidence;
mod names;
mod parties;
mod ranges;
mod values;

pub(crate) use evidence::{evidence, reason};
pub(crate) use names::{
    cluster, cluster_uid, container_id, dns_label, ifname, network, network_name, node, pod_name,
    pod_uid, space,
};
pub(crate) use parties::{attachment, owner, token};
pub(crate) use ranges::{address, cidr, fixed_addresses, ranges};
pub(crate) use values::{position, rest_seconds, step, time};
