//! Address by address.

use std::net::IpAddr;

use ipnet::IpNet;
use jiff::Timestamp;
use ledger::AddressState;
use maud::{Markup, html};

use super::super::table::{Cell, Table};
use super::super::{links, words};
use super::Shown;
use crate::wire;

/// What an address is; each has a colour and a shape.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Use {
    Held,
    Cooling,
    Free,
    NeverUsed,
    Outside,
}

impl Use {
    const ALL: [Use; 5] = [
        Use::Held,
        Use::Cooling,
        Use::Free,
        Use::NeverUsed,
        Use::Outside,
    ];

    fn shape(self) -> &'static str {
        match self {
            Use::Held => "■",
            Use::Cooling => "◆",
            Use::Free => "○",
            Use::NeverUsed => "·",
            Use::Outside => "×",
        }
    }

    fn class(self) -> &'static str {
        match self {
            Use::Held => "held",
            Use::Cooling => "cooling",
            Use::Free => "free",
            Use::NeverUsed => "never",
            Use::Outside => "outside",
        }
    }

    fn words(self) -> &'static str {
        match self {
            Use::Held => "held",
            Use::Cooling => "cooling down",
            Use::Free => "free, was used",
            Use::NeverUsed => "free, never used",
            Use::Outside => "in no window",
        }
    }

    fn of(state: &AddressState) -> Use {
        match (state.step.is_multiple_of(2), state.cooling_until) {
            (true, _) => Use::Held,
            (false, Some(_)) => Use::Cooling,
            (false, None) => Use::Free,
        }
    }
}

/// The holder, or the last one.
fn holder(state: &AddressState) -> String {
    match (&state.owner, &state.attachment) {
        (Some(owner), _) => format!("{}/{}", owner.namespace, owner.name),
        (None, Some(attachment)) => format!("sandbox {}", attachment.container_id),
        (None, None) => "holder not here any more".to_owned(),
    }
}

/// The grid, and what its shapes mean.
pub(super) fn map(shown: &Shown, states: &[AddressState]) -> Markup {
    let mut next = states.iter().peekable();
    let cells: Vec<(IpAddr, Use, String)> = hosts(shown.range)
        .map(|ip| {
            let state = next.next_if(|state| state.ip == ip);
            let in_window = shown.windows.iter().any(|w| w.window.contains(ip));
            let used = match state {
                Some(state) => Use::of(state),
                None if in_window => Use::NeverUsed,
                None => Use::Outside,
            };
            let whose = match (used, state) {
                (Use::Held, Some(state)) => format!(" by {}", holder(state)),
                (Use::Cooling | Use::Free, Some(state)) => format!(", last by {}", holder(state)),
                _ => String::new(),
            };
            (ip, used, format!("{ip} {}{whose}", used.words()))
        })
        .collect();
    let count = |wanted| cells.iter().filter(|(_, used, _)| *used == wanted).count();
    html! {
        section.map aria-labelledby="map-title" {
            h2 #map-title { "Map of addresses" }
            ul.legend aria-label="Shapes" {
                @for used in Use::ALL {
                    li {
                        span class={ "cell " (used.class()) } aria-hidden="true" { (used.shape()) }
                        " " (used.words()) ": " b { (count(used)) }
                    }
                }
            }
            p.hint { "Arrow keys move on the map, Enter opens an address." }
            ul.grid aria-labelledby="map-title" {
                @for (ip, used, label) in &cells {
                    li {
                        a class={ "cell " (used.class()) } title=(label) aria-label=(label)
                            href=(links::address(Some(&shown.space), *ip, shown.at)) { (used.shape()) }
                    }
                }
            }
        }
    }
}

/// Every address of a range, network and broadcast too.
fn hosts(range: IpNet) -> Box<dyn Iterator<Item = IpAddr>> {
    match range {
        IpNet::V4(net) => {
            let (first, last) = (u32::from(net.network()), u32::from(net.broadcast()));
            Box::new((first..=last).map(|n| IpAddr::V4(n.into())))
        }
        IpNet::V6(net) => {
            let (first, last) = (u128::from(net.network()), u128::from(net.broadcast()));
            Box::new((first..=last).map(|n| IpAddr::V6(n.into())))
        }
    }
}

/// The used addresses.
pub(super) fn table(shown: &Shown, states: &[AddressState], now: Timestamp) -> Table {
    let row = |state: &AddressState| {
        let attachment = state.attachment.as_ref();
        let whose = holder(state);
        let holder = match &state.owner {
            Some(owner) => {
                let cluster = attachment.map(|attachment| attachment.cluster.as_str());
                Cell::link(whose, links::pod(cluster, &owner.namespace, &owner.name))
            }
            None => Cell::text(whose),
        };
        let node = state.owner.as_ref().and_then(|owner| owner.node.as_deref());
        vec![
            Cell::link(
                state.ip,
                links::address(Some(&shown.space), state.ip, shown.at),
            ),
            Cell::text(Use::of(state).words()),
            holder,
            Cell::text(node.unwrap_or_default()),
            Cell::shown(
                wire::time(state.recorded_at),
                words::aged(now, state.recorded_at),
            ),
            match state.cooling_until {
                Some(until) => Cell::shown(wire::time(until), words::aged(now, until)),
                None => Cell::default(),
            },
            Cell::link(state.seq, links::event(&shown.space, state.seq)),
        ]
    };
    Table {
        name: "addresses",
        caption: format!("Addresses of {} that were ever used", shown.range),
        columns: &[
            "Address",
            "State",
            "Holder or last holder",
            "Node",
            "Since",
            "Cooling until",
            "Event",
        ],
        rows: states.iter().map(row).collect(),
    }
}
