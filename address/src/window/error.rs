//! Why a definition is refused.

use std::net::IpAddr;

use ipnet::IpNet;

use super::text::MAX_EXCLUDES;
use crate::number::Family;
use crate::text::{AddressProblem, ParseError, shown};

/// Why a definition is refused. Displays as the key, the quoted value (cut to 200 characters),
/// what is wrong and what would be right.
///
/// ```
/// use address::{Window, WindowText};
///
/// let text = WindowText {
///     range: "10.0.0.0/24",
///     range_start: None,
///     range_end: Some("10.0.0.255"),
///     exclude: &[],
/// };
/// let error = Window::parse(&text).unwrap_err();
/// assert_eq!((error.key(), error.value()), ("range_end", "10.0.0.255"));
/// assert_eq!(error.kind(), "broadcast_address");
/// assert_eq!(
///     error.to_string(),
///     "range_end \"10.0.0.255\" is the broadcast address of 10.0.0.0/24; \
///      the last usable address is 10.0.0.254",
/// );
/// ```
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("{key} {value:?} {problem}")]
pub struct WindowError {
    key: String,
    value: String,
    kind: &'static str,
    problem: String,
}

impl WindowError {
    /// The key at fault: `range`, `range_start`, `range_end`, `exclude` or, counted from 0,
    /// `exclude[2]`.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// The value at fault, cut to 200 characters.
    pub fn value(&self) -> &str {
        &self.value
    }

    /// A stable word for the kind of mistake, for codes and metrics.
    pub fn kind(&self) -> &'static str {
        self.kind
    }

    /// What is wrong and what would be right, as the end of a sentence that begins with key and
    /// value.
    pub fn problem(&self) -> &str {
        &self.problem
    }
}

/// What is wrong, as the end of a sentence that begins with key and value.
#[derive(Debug, thiserror::Error)]
pub(super) enum WindowProblem {
    #[error("{}", .0.problem())]
    Address(ParseError),
    #[error("is not readable: {0}")]
    AddressWithin(ParseError),
    #[error("{}", AddressProblem::Mapped(*.0))]
    Mapped(IpAddr),
    #[error("is an IPv4-mapped IPv6 range; write {0}")]
    MappedCidr(IpNet),
    #[error("is not a CIDR; write one such as 10.0.0.0/24, or 10.0.0.5-10.0.0.9/24")]
    NotACidr,
    #[error("has no prefix length; write it behind the address, such as {}", usual_cidr(*.0))]
    NoPrefixLength(IpAddr),
    #[error(
        "has the prefix length {length:?}; {family} takes the numbers {shortest} to {} without leading zeros",
        .family.bits()
    )]
    PrefixLength {
        length: String,
        family: Family,
        shortest: u8,
    },
    #[error("{which} at {ip}, which {problem}")]
    DashBound {
        which: &'static str,
        ip: IpAddr,
        problem: Box<WindowProblem>,
    },
    #[error("contradicts range {range:?}, which names start and end itself; leave {key} out")]
    Contradiction { range: String, key: &'static str },
    #[error("is {found}, but range {cidr} is {cidr_family}; it belongs with an {found} range")]
    OtherFamily {
        found: Family,
        cidr: IpNet,
        cidr_family: Family,
    },
    #[error("is the {} of {cidr}; the first usable address is {first}", network_address(*.cidr))]
    NetworkAddress { cidr: IpNet, first: IpAddr },
    #[error("is the {} of {cidr}; the last usable address is {last}", broadcast_address(*.cidr))]
    BroadcastAddress { cidr: IpNet, last: IpAddr },
    #[error("is outside {cidr}; {}", usable(*.first, *.last))]
    Outside {
        cidr: IpNet,
        first: IpAddr,
        last: IpAddr,
    },
    #[error("is before range_start {start}; swap the two or correct one")]
    EndBeforeStart { start: IpAddr },
    #[error("ends before it begins; write {0}")]
    Inverted(String),
    #[error("is IPv4 at one end and IPv6 at the other; write one family")]
    MixedFamilies,
    #[error("is more than {MAX_EXCLUDES}; write neighbouring addresses as first-last or as a CIDR")]
    TooMany,
    #[error("leaves no address of {start} to {end}; exclude less or widen the range")]
    NothingLeft { start: IpAddr, end: IpAddr },
}

impl WindowProblem {
    /// The error for a key and the value that it had.
    pub(super) fn about(&self, key: &str, value: &str) -> WindowError {
        WindowError {
            key: key.to_owned(),
            value: shown(value),
            kind: self.kind(),
            problem: self.to_string(),
        }
    }

    fn kind(&self) -> &'static str {
        match self {
            Self::Address(error) | Self::AddressWithin(error) => error.kind(),
            Self::Mapped(_) | Self::MappedCidr(_) => "ipv4_mapped",
            Self::NotACidr => "not_a_cidr",
            Self::NoPrefixLength(_) => "no_prefix_length",
            Self::PrefixLength { .. } => "prefix_length",
            Self::DashBound { problem, .. } => problem.kind(),
            Self::Contradiction { .. } => "contradiction",
            Self::OtherFamily { .. } | Self::MixedFamilies => "other_family",
            Self::NetworkAddress { .. } => "network_address",
            Self::BroadcastAddress { .. } => "broadcast_address",
            Self::Outside { .. } => "outside_range",
            Self::EndBeforeStart { .. } | Self::Inverted(_) => "inverted",
            Self::TooMany => "too_many",
            Self::NothingLeft { .. } => "nothing_left",
        }
    }
}

/// The address with the prefix length that most subnets of its family have.
fn usual_cidr(ip: IpAddr) -> String {
    format!("{ip}/{}", if ip.is_ipv4() { 24 } else { 64 })
}

fn usable(first: IpAddr, last: IpAddr) -> String {
    if first == last {
        return format!("the one usable address is {first}");
    }
    format!("the usable addresses are {first} to {last}")
}

/// What the family calls the lowest address of a subnet.
fn network_address(cidr: IpNet) -> &'static str {
    match cidr {
        IpNet::V4(_) => "network address",
        IpNet::V6(_) => "subnet-router anycast address",
    }
}

/// What the family calls the highest address of a subnet.
fn broadcast_address(cidr: IpNet) -> &'static str {
    match cidr {
        IpNet::V4(_) => "broadcast address",
        IpNet::V6(_) => "last address",
    }
}
