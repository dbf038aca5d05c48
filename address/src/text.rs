//! One spelling per address.

use std::net::{IpAddr, Ipv6Addr};

/// Values repeated in errors are cut to this many characters.
const SHOWN_CHARACTERS: usize = 200;

/// Why a text is not an address. Displays as the quoted text (cut to 200 characters), what is
/// wrong with it and what would be right.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("{value:?} {problem}")]
pub struct ParseError {
    value: String,
    problem: AddressProblem,
}

/// What is wrong with an address, as the end of a sentence that begins with its text.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub(crate) enum AddressProblem {
    #[error("is empty; write an IP address such as 10.0.0.5 or 2001:db8::5")]
    Empty,
    #[error("has white space around the address; write {0}")]
    WhiteSpace(IpAddr),
    #[error("has a leading zero, which some programs read as octal; write {0} if decimal is meant")]
    LeadingZero(IpAddr),
    #[error("has a zone id, which means nothing on another node; write {0}")]
    ZoneId(IpAddr),
    #[error("is an IPv4-mapped IPv6 address; write {0}")]
    Mapped(IpAddr),
    #[error("has a prefix length where a bare address belongs; write {0}")]
    PrefixLength(IpAddr),
    #[error("is not an IP address; write one such as 10.0.0.5 or 2001:db8::5")]
    NotAnAddress,
}

impl ParseError {
    /// A stable word for the kind of mistake, for codes and metrics.
    pub fn kind(&self) -> &'static str {
        match self.problem {
            AddressProblem::Empty => "empty",
            AddressProblem::WhiteSpace(_) => "white_space",
            AddressProblem::LeadingZero(_) => "leading_zero",
            AddressProblem::ZoneId(_) => "zone_id",
            AddressProblem::Mapped(_) => "ipv4_mapped",
            AddressProblem::PrefixLength(_) => "prefix_length",
            AddressProblem::NotAnAddress => "not_an_address",
        }
    }

    /// The text at fault, cut to 200 characters.
    pub fn value(&self) -> &str {
        &self.value
    }

    pub(crate) fn problem(&self) -> &AddressProblem {
        &self.problem
    }
}

/// Reads an address strictly: refuses leading zeros in IPv4 octets, zone ids, white space, a
/// prefix length and IPv4-mapped IPv6. Upper case and uncompressed IPv6 are accepted.
///
/// # Errors
/// [`ParseError`] says what is wrong and, where it can be told, what to write instead.
///
/// ```
/// let ip = address::parse_ip("2001:DB8:0:0:0:0:0:5")?;
/// assert_eq!(address::canonical(ip), "2001:db8::5");
///
/// let error = address::parse_ip("::ffff:10.0.0.5").unwrap_err();
/// assert_eq!(error.kind(), "ipv4_mapped");
/// # Ok::<(), address::ParseError>(())
/// ```
pub fn parse_ip(text: &str) -> Result<IpAddr, ParseError> {
    let problem = match text.parse::<IpAddr>() {
        Ok(ip) => match unmapped(ip) {
            None => return Ok(ip),
            Some(v4) => AddressProblem::Mapped(v4),
        },
        Err(_) => diagnose(text),
    };
    Err(ParseError {
        value: shown(text),
        problem,
    })
}

/// The canonical text of an address (RFC 5952 for IPv6).
pub fn canonical(ip: IpAddr) -> String {
    ip.to_string()
}

/// The IPv4 address behind an IPv4-mapped IPv6 address.
pub(crate) fn unmapped(ip: IpAddr) -> Option<IpAddr> {
    match ip {
        IpAddr::V4(_) => None,
        IpAddr::V6(v6) => v6.to_ipv4_mapped().map(IpAddr::V4),
    }
}

/// The text as errors repeat it: at most 200 characters, the last one `…` when it was cut.
pub(crate) fn shown(text: &str) -> String {
    match text.char_indices().nth(SHOWN_CHARACTERS) {
        None => text.to_owned(),
        Some(_) => text
            .chars()
            .take(SHOWN_CHARACTERS - 1)
            .chain(['…'])
            .collect(),
    }
}

/// Finds the mistake in a text that is not an address. A remedy is only named when it reads as
/// an address itself.
fn diagnose(text: &str) -> AddressProblem {
    if text.is_empty() {
        return AddressProblem::Empty;
    }
    if let Some(ip) = remedy(text.trim()) {
        return AddressProblem::WhiteSpace(ip);
    }
    if let Some(ip) = text.split_once('%').and_then(|(bare, _)| remedy(bare)) {
        return AddressProblem::ZoneId(ip);
    }
    if let Some(ip) = text.split_once('/').and_then(|(bare, _)| remedy(bare)) {
        return AddressProblem::PrefixLength(ip);
    }
    if let Some(ip) = without_leading_zeros(text).and_then(|bare| remedy(&bare)) {
        return AddressProblem::LeadingZero(ip);
    }
    AddressProblem::NotAnAddress
}

fn remedy(text: &str) -> Option<IpAddr> {
    text.parse::<IpAddr>()
        .ok()
        .map(|ip| unmapped(ip).unwrap_or(ip))
}

/// Drops the leading zeros of dotted octets, also of those that end an IPv6 text.
fn without_leading_zeros(text: &str) -> Option<String> {
    let dotted_at = text.rfind(':').map_or(0, |colon| colon + 1);
    let (head, dotted) = text.split_at(dotted_at);
    let mut octets = Vec::with_capacity(4);
    for octet in dotted.split('.') {
        if octet.is_empty() || octets.len() == 4 {
            return None;
        }
        let significant = octet.trim_start_matches('0');
        octets.push(if significant.is_empty() {
            "0"
        } else {
            significant
        });
    }
    Some(format!("{head}{}", octets.join(".")))
}

/// First and last number of the IPv4-mapped block `::ffff:0:0/96`. The ledger stores no such
/// address, since it would be a second spelling of an IPv4 one, so no window hands one out.
pub(crate) const MAPPED_BLOCK: (u128, u128) = (
    Ipv6Addr::new(0, 0, 0, 0, 0, 0xffff, 0, 0).to_bits(),
    Ipv6Addr::new(0, 0, 0, 0, 0, 0xffff, 0xffff, 0xffff).to_bits(),
);
