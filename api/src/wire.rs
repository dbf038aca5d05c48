//! From the ledger's words to those of the wire.

use ipledger_client::types as wire;
use jiff::Timestamp;
use ledger::answer::{Allocated, AllocatedAddress, Gate, ReleasedAddress, Reserved, WindowCounts};
use ledger::event::encoding::hex;
use ledger::model::{Attachment, Owner};
use ledger::{AddressChange, ClusterRow, Event, Hold, Reservation, SpaceRow, Wakeups};

/// RFC 3339 in UTC with microseconds.
pub(crate) fn time(at: Timestamp) -> String {
    format!("{at:.6}")
}

pub(crate) fn allocated(answer: Allocated) -> wire::AllocateResponse {
    wire::AllocateResponse {
        addresses: answer
            .addresses
            .into_iter()
            .map(allocated_address)
            .collect(),
        repeated: answer.repeated,
        dry_run: answer.dry_run,
        epoch: answer.epoch,
    }
}

fn allocated_address(address: AllocatedAddress) -> wire::AllocatedAddress {
    let receipt = address.receipt;
    wire::AllocatedAddress {
        address: address.ip.to_string(),
        prefix_length: address.pool.prefix_len(),
        space: address.space,
        pool: address.pool.to_string(),
        step: receipt.map(|receipt| receipt.step),
        seq: receipt.map(|receipt| receipt.seq),
        recorded_at: receipt.map(|receipt| time(receipt.recorded_at)),
    }
}

/// A hold as the allocate that made it answered.
pub(crate) fn held_address(hold: Hold) -> wire::AllocatedAddress {
    wire::AllocatedAddress {
        address: hold.ip.to_string(),
        prefix_length: hold.pool.prefix_len(),
        space: hold.space,
        pool: hold.pool.to_string(),
        step: Some(hold.step),
        seq: Some(hold.seq),
        recorded_at: Some(time(hold.recorded_at)),
    }
}

pub(crate) fn released_address(released: ReleasedAddress) -> wire::ReleasedAddress {
    wire::ReleasedAddress {
        address: released.ip.to_string(),
        space: released.space,
        step: released.receipt.step,
        seq: released.receipt.seq,
        recorded_at: time(released.receipt.recorded_at),
    }
}

pub(crate) fn reserved(reserved: Reserved) -> wire::ReserveResponse {
    wire::ReserveResponse {
        address: reserved.ip.to_string(),
        space: reserved.space,
        pool: reserved.pool.to_string(),
        step: reserved.receipt.step,
        seq: reserved.receipt.seq,
        recorded_at: time(reserved.receipt.recorded_at),
        repeated: reserved.repeated,
        epoch: reserved.epoch,
    }
}

pub(crate) fn reservation(reservation: Reservation) -> wire::Reservation {
    wire::Reservation {
        space: reservation.space,
        pool: reservation.pool.to_string(),
        address: reservation.ip.to_string(),
        step: reservation.step,
        seq: reservation.seq,
        recorded_at: time(reservation.recorded_at),
        actor: reservation.actor.name,
        authenticated_by: reservation.actor.authenticated_by,
        reason: reservation.reason,
    }
}

pub(crate) fn hold(hold: Hold) -> wire::Hold {
    wire::Hold {
        space: hold.space,
        pool: hold.pool.to_string(),
        address: hold.ip.to_string(),
        step: hold.step,
        seq: hold.seq,
        recorded_at: time(hold.recorded_at),
        position: hold.position,
        attachment: attachment(hold.attachment),
        owner: hold.owner.map(owner),
    }
}

fn attachment(attachment: Attachment) -> wire::Attachment {
    wire::Attachment {
        cluster: attachment.cluster,
        network: attachment.network,
        container_id: attachment.container_id,
        ifname: attachment.ifname,
    }
}

fn owner(owner: Owner) -> wire::Owner {
    wire::Owner {
        namespace: owner.namespace,
        name: owner.name,
        uid: owner.uid,
        node: owner.node,
    }
}

pub(crate) fn event(event: Event) -> wire::Event {
    wire::Event {
        space: event.space,
        seq: event.seq,
        epoch: event.epoch,
        recorded_at: time(event.recorded_at),
        claimed_at: event.claimed_at.map(time),
        address: event.ip.map(|ip| ip.to_string()),
        step: event.step,
        predecessor_seq: event.predecessor_seq,
        kind: event.kind,
        encoding: event.encoding,
        payload: event.payload,
        digest: hex(&event.digest),
        hash: hex(&event.hash),
        previous_hash: hex(&event.previous_hash),
    }
}

pub(crate) fn change(change: AddressChange) -> wire::AddressChange {
    wire::AddressChange {
        space: change.space,
        address: change.ip.to_string(),
        before: change.before.map(hold),
        after: change.after.map(hold),
    }
}

pub(crate) fn space(row: SpaceRow) -> wire::Space {
    let member = |(cluster, network_name): (String, String)| wire::SpaceMember {
        cluster,
        network_name: (!network_name.is_empty()).then_some(network_name),
    };
    wire::Space {
        name: row.name,
        seq: row.seq,
        hash: hex(&row.hash),
        recorded_at: row.recorded_at.map(time),
        members: row.members.into_iter().map(member).collect(),
        private_cidr: row.private_cidr.map(|cidr| cidr.to_string()),
    }
}

/// A gate; `None` if it never was closed.
pub(crate) fn gate(gate: Option<Gate>) -> wire::Gate {
    let Some(gate) = gate else {
        return wire::Gate {
            closed: false,
            reason: None,
            since: None,
            seq: None,
        };
    };
    wire::Gate {
        closed: gate.closed,
        reason: Some(gate.reason),
        since: Some(time(gate.since)),
        seq: Some(gate.seq),
    }
}

pub(crate) fn cluster(row: ClusterRow) -> wire::ClusterState {
    wire::ClusterState {
        name: row.name,
        uid: row.uid,
        bound_at: row.bound_at.map(time),
        gate: gate(row.gate),
        holds: row.holds,
    }
}

pub(crate) fn wakeups(page: Wakeups) -> wire::WakeupPage {
    let wakeup = |wakeup: ledger::Wakeup| {
        let reason = match wakeup.reason.as_str() {
            "exhausted" => wire::WakeupReason::Exhausted,
            "address_taken" => wire::WakeupReason::AddressTaken,
            _ => wire::WakeupReason::Unknown,
        };
        let is_address = reason == wire::WakeupReason::AddressTaken;
        wire::Wakeup {
            id: wakeup.id,
            space: wakeup.space,
            cidr: wakeup.cidr.to_string(),
            first: wakeup.first.to_string(),
            last: wakeup.last.to_string(),
            reason,
            address: is_address.then(|| wakeup.first.to_string()),
            at: time(wakeup.at),
        }
    };
    wire::WakeupPage {
        wakeups: page.wakeups.into_iter().map(wakeup).collect(),
        next: page.next,
    }
}

pub(crate) fn window(counts: &WindowCounts) -> wire::Window {
    wire::Window {
        space: counts.space.clone(),
        pool: counts.window.cidr().to_string(),
        start: counts.window.start().to_string(),
        end: counts.window.end().to_string(),
        exclude: counts.window.exclude_text(),
        counts: wire::WindowCounts {
            capacity: counts.window.capacity().to_string(),
            held: counts.taken.held.to_string(),
            cooling: counts.taken.cooling.to_string(),
            reserved: counts.taken.reserved.to_string(),
            free: counts.free().to_string(),
        },
    }
}
