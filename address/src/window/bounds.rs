//! Where a window begins and ends.

use std::net::IpAddr;

use ipnet::IpNet;

use super::error::{WindowError, WindowProblem};
use crate::number::{family, from_number, to_number};
use crate::text::{MAPPED_BLOCK, unmapped};

/// A start or end that the definition gives.
pub(super) struct Bound<'a> {
    pub(super) place: Place,
    /// The value of the key that gave it.
    pub(super) value: &'a str,
    pub(super) ip: IpAddr,
}

/// Where in a definition a bound is written.
#[derive(Copy, Clone)]
pub(super) enum Place {
    RangeStart,
    RangeEnd,
    /// In `range`, before the dash.
    DashFirst,
    /// In `range`, behind the dash.
    DashLast,
}

impl Bound<'_> {
    fn refused(&self, problem: WindowProblem) -> WindowError {
        let (key, which) = match self.place {
            Place::RangeStart => return problem.about("range_start", self.value),
            Place::RangeEnd => return problem.about("range_end", self.value),
            Place::DashFirst => ("range", "begins"),
            Place::DashLast => ("range", "ends"),
        };
        let problem = Box::new(problem);
        WindowProblem::DashBound {
            which,
            ip: self.ip,
            problem,
        }
        .about(key, self.value)
    }
}

/// Reduces a CIDR to its network; refuses /0 and IPv4-mapped ones.
pub(super) fn acceptable_cidr(cidr: IpNet, value: &str) -> Result<IpNet, WindowError> {
    let cidr = cidr.trunc();
    if cidr.prefix_len() == 0 {
        let family = family(cidr.network());
        let problem = WindowProblem::PrefixLength {
            length: "0".to_owned(),
            family,
            shortest: 1,
        };
        return Err(problem.about("range", value));
    }
    // A network inside the mapped block has a prefix length of at least 96.
    if let Some(v4) = unmapped(cidr.network()) {
        return Err(mapped_cidr(v4, cidr.prefix_len()).about("range", value));
    }
    Ok(cidr)
}

/// The refusal of a mapped range, with the IPv4 range that is meant where there is one.
pub(super) fn mapped_cidr(v4: IpAddr, prefix_length: u8) -> WindowProblem {
    let meant = prefix_length
        .checked_sub(96)
        .and_then(|length| IpNet::new(v4, length).ok());
    meant.map_or(WindowProblem::Mapped(v4), |cidr| {
        WindowProblem::MappedCidr(cidr.trunc())
    })
}

/// First and last address of the window as numbers. What is not given is the usable bound.
pub(super) fn resolve(
    cidr: IpNet,
    start: Option<&Bound<'_>>,
    end: Option<&Bound<'_>>,
) -> Result<(u128, u128), WindowError> {
    let usable = usable(cidr);
    for bound in [start, end].into_iter().flatten() {
        check(bound.ip, cidr, usable).map_err(|problem| bound.refused(problem))?;
    }
    let first = start.map_or(usable.0, |bound| to_number(bound.ip));
    let last = end.map_or(usable.1, |bound| to_number(bound.ip));
    match (start, end) {
        (Some(start), Some(end)) if first > last => Err(inverted(cidr, start, end)),
        _ => Ok((first, last)),
    }
}

/// First and last usable address of a CIDR as numbers.
fn usable(cidr: IpNet) -> (u128, u128) {
    let (first, last) = (to_number(cidr.network()), to_number(cidr.broadcast()));
    let (first, last) = match cidr.max_prefix_len() - cidr.prefix_len() {
        0 | 1 => (first, last),
        _ => (first + 1, last - 1),
    };
    // A range that ends in the mapped block (::/80 and its like) ends before it.
    match cidr {
        IpNet::V6(_) if last >= MAPPED_BLOCK.0 && last <= MAPPED_BLOCK.1 => {
            (first, MAPPED_BLOCK.0 - 1)
        }
        _ => (first, last),
    }
}

fn check(ip: IpAddr, cidr: IpNet, usable: (u128, u128)) -> Result<(), WindowProblem> {
    let cidr_family = family(cidr.network());
    if family(ip) != cidr_family {
        return Err(WindowProblem::OtherFamily {
            found: family(ip),
            cidr,
            cidr_family,
        });
    }
    if (usable.0..=usable.1).contains(&to_number(ip)) {
        return Ok(());
    }
    let (first, last) = (
        from_number(cidr_family, usable.0),
        from_number(cidr_family, usable.1),
    );
    Err(if ip == cidr.network() {
        WindowProblem::NetworkAddress { cidr, first }
    } else if ip == cidr.broadcast() {
        WindowProblem::BroadcastAddress { cidr, last }
    } else {
        WindowProblem::Outside { cidr, first, last }
    })
}

fn inverted(cidr: IpNet, start: &Bound<'_>, end: &Bound<'_>) -> WindowError {
    match end.place {
        Place::DashLast | Place::DashFirst => {
            let right = format!("{}-{}/{}", end.ip, start.ip, cidr.prefix_len());
            WindowProblem::Inverted(right).about("range", end.value)
        }
        Place::RangeStart | Place::RangeEnd => {
            end.refused(WindowProblem::EndBeforeStart { start: start.ip })
        }
    }
}
