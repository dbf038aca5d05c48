//! Who owns an address: every situation that the design names, through a real ledger.

mod again;
mod boots;
mod clusters;
mod cooldown;
mod ended;
mod exhausted;
mod first_seen;
mod fixed;
mod garbage;
mod imported;
mod order;
mod pods;
mod private;
mod racing;
mod release;
mod repeat;
mod several;
mod shared;
mod takeover;

use std::fmt::Debug;

use ledger::answer::Allocated;
use ledger::command::{Allocate, Release};
use ledger::{Error, EventQuery, Ledger, Refusal};

use crate::support::{allocate, attachment, ip, owner, provenance, token, window};

/// The range of most tests.
const RANGE: &str = "10.0.0.0/24";
/// Two addresses: `.1` and `.2`.
const SMALL: &str = "10.0.0.0/30";

/// An allocate by the sandbox of the pod with this UID; all pods here have the same name.
fn sandbox(container: &str, uid: &str) -> Allocate {
    let mut request = allocate(container, RANGE);
    request.owner = Some(owner("web-0", uid));
    request
}

/// The DEL that the runtime sends for an ADD; neither range nor space are in it.
fn del_for(request: &Allocate) -> Release {
    Release {
        cluster_uid: None,
        attachment: request.attachment.clone(),
        owner: request.owner.clone(),
        token: None,
        provenance: provenance(),
    }
}

/// Words to say how a request differs from the usual one.
trait Shape: Sized {
    /// With an order token.
    fn at(self, boot: u128, boottime_ns: u64) -> Self;
}

impl Shape for Allocate {
    fn at(mut self, boot: u128, boottime_ns: u64) -> Allocate {
        self.token = Some(token(boot, boottime_ns));
        self
    }
}

impl Shape for Release {
    fn at(mut self, boot: u128, boottime_ns: u64) -> Release {
        self.token = Some(token(boot, boottime_ns));
        self
    }
}

/// Further words for an allocate.
trait ShapeAllocate: Sized {
    fn ifname(self, ifname: &str) -> Self;
    fn network(self, network: &str) -> Self;
    fn network_name(self, network_name: &str) -> Self;
    fn cluster(self, cluster: &str) -> Self;
    fn ranges(self, ranges: &[&str]) -> Self;
    fn between(self, first: &str, last: &str) -> Self;
    fn ips(self, ips: &[&str]) -> Self;
    fn cooldown(self, seconds: u32) -> Self;
    fn private(self) -> Self;
    fn without_uid(self, node: Option<&str>) -> Self;
}

impl ShapeAllocate for Allocate {
    fn ifname(mut self, ifname: &str) -> Allocate {
        ifname.clone_into(&mut self.attachment.ifname);
        self
    }

    fn network(mut self, network: &str) -> Allocate {
        network.clone_into(&mut self.attachment.network);
        self
    }

    fn network_name(mut self, network_name: &str) -> Allocate {
        network_name.clone_into(&mut self.space.network_name);
        self
    }

    fn cluster(mut self, cluster: &str) -> Allocate {
        cluster.clone_into(&mut self.attachment.cluster);
        cluster.clone_into(&mut self.space.cluster);
        self
    }

    fn ranges(mut self, ranges: &[&str]) -> Allocate {
        self.ranges = ranges
            .iter()
            .map(|range| window(range, None, None))
            .collect();
        self
    }

    /// One window of [`RANGE`].
    fn between(mut self, first: &str, last: &str) -> Allocate {
        self.ranges = vec![window(RANGE, Some(first), Some(last))];
        self
    }

    fn ips(mut self, ips: &[&str]) -> Allocate {
        self.ips = ips.iter().map(|text| ip(text)).collect();
        self
    }

    fn cooldown(mut self, seconds: u32) -> Allocate {
        self.cooldown_seconds = seconds;
        self
    }

    /// `enable_overlapping_ranges: false`.
    fn private(mut self) -> Allocate {
        self.space.overlapping = false;
        self
    }

    fn without_uid(mut self, node: Option<&str>) -> Allocate {
        let owner = self.owner.as_mut().expect("a sandbox has an owner");
        owner.uid = None;
        owner.node = node.map(str::to_owned);
        self
    }
}

/// One line of history: position, what happened to which address, why, and which event it ends.
async fn history(ledger: &Ledger, space: &str) -> Vec<String> {
    let query = EventQuery {
        space: space.to_owned(),
        address: None,
        after_seq: 0,
        limit: 1_000,
    };
    let events = match ledger.events(&query).await {
        Err(Error::Refused(Refusal::NoSuchSpace(_))) => Vec::new(),
        events => events.expect("events"),
    };
    let line = |event: &ledger::Event| {
        let target = match (event.ip, event.step) {
            (Some(ip), Some(step)) => format!(" {ip} step {step}"),
            _ => String::new(),
        };
        let reason = event.payload["reason"].as_str().expect("a reason");
        let ends = match event.payload["ends_seq"].as_u64() {
            Some(seq) => format!(" ends {seq}"),
            None => String::new(),
        };
        format!("{} {}{target} {reason}{ends}", event.seq, event.kind)
    };
    events.iter().map(line).collect()
}

/// What a sandbox holds now on `net1`.
async fn held_by(ledger: &Ledger, container: &str) -> Vec<String> {
    held(ledger, &attachment(container)).await
}

async fn held(ledger: &Ledger, attachment: &ledger::model::Attachment) -> Vec<String> {
    let holds = ledger.lookup(attachment).await.expect("holds");
    holds.iter().map(|hold| hold.ip.to_string()).collect()
}

/// The refusal of a command that must be refused.
fn refusal<T: Debug>(result: Result<T, Error>) -> Refusal {
    match result {
        Err(Error::Refused(refusal)) => refusal,
        other => panic!("not refused: {other:?}"),
    }
}

/// The spaces of an answer, one per range.
fn spaces(allocated: &Allocated) -> Vec<&str> {
    let addresses = allocated.addresses.iter();
    addresses.map(|address| address.space.as_str()).collect()
}
