//! Reading a definition.

use std::net::IpAddr;

use ipnet::IpNet;

use super::bounds::{Bound, Place, acceptable_cidr, mapped_cidr};
use super::error::{WindowError, WindowProblem};
use super::{Window, bounds, exclude};
use crate::number::family;
use crate::text::{AddressProblem, ParseError, parse_ip, shown, unmapped};

/// The longest `exclude` list that is accepted.
pub const MAX_EXCLUDES: usize = 65_536;

/// A definition as it is written.
#[derive(Copy, Clone, Debug)]
pub struct WindowText<'a> {
    /// `10.0.0.0/24` (bits behind the prefix are ignored) or `10.0.0.5-10.0.0.9/24`, whose
    /// network is that of its last address.
    pub range: &'a str,
    /// The first address to hand out; not together with the dash form of `range`.
    pub range_start: Option<&'a str>,
    /// The last address to hand out; not together with the dash form of `range`.
    pub range_end: Option<&'a str>,
    /// Addresses, CIDRs or `first-last`, of the family of `range`. What lies outside it changes
    /// nothing.
    pub exclude: &'a [String],
}

pub(super) fn parse(text: &WindowText<'_>) -> Result<Window, WindowError> {
    // A dash behind the slash is the sign of a prefix length.
    let halves = text.range.split_once('-');
    let (cidr, start, end) = match halves.filter(|(first, _)| !first.ends_with('/')) {
        Some((first, last)) => dash_form(text, first, last)?,
        None => (range_cidr(text.range, text.range)?, None, None),
    };
    let start = start.or(bound("range_start", Place::RangeStart, text.range_start)?);
    let end = end.or(bound("range_end", Place::RangeEnd, text.range_end)?);
    let (first, last) = bounds::resolve(cidr, start.as_ref(), end.as_ref())?;
    exclude::within_limit(text.exclude.len())?;
    let mut excluded = Vec::with_capacity(text.exclude.len());
    for (index, item) in text.exclude.iter().enumerate() {
        let part = exclude_item(item).and_then(|(first, last)| exclude::part(first, last, cidr));
        excluded.push(part.map_err(|problem| problem.about(&exclude::key(index), item))?);
    }
    let window = Window::assemble(cidr, first, last, excluded);
    window.not_empty(|| text.exclude.join(", "))?;
    Ok(window)
}

type Bounds<'a> = (IpNet, Option<Bound<'a>>, Option<Bound<'a>>);

/// `first-last/len`, cut at the dash.
fn dash_form<'a>(
    text: &WindowText<'a>,
    first: &str,
    last: &str,
) -> Result<Bounds<'a>, WindowError> {
    let value = text.range;
    let address = |part: &str| {
        parse_ip(part).map_err(|error| WindowProblem::AddressWithin(error).about("range", value))
    };
    let start = address(first)?;
    let cidr = range_cidr(last, value)?;
    let end = address(last.split_once('/').map_or(last, |(ip, _)| ip))?;
    for (key, given) in [
        ("range_start", text.range_start),
        ("range_end", text.range_end),
    ] {
        if let Some(given) = given {
            let problem = WindowProblem::Contradiction {
                range: shown(value),
                key,
            };
            return Err(problem.about(key, given));
        }
    }
    let bound = |place, ip| Some(Bound { place, value, ip });
    Ok((
        cidr,
        bound(Place::DashFirst, start),
        bound(Place::DashLast, end),
    ))
}

/// The network of a CIDR text that is `value`, or a part of it.
fn range_cidr(text: &str, value: &str) -> Result<IpNet, WindowError> {
    let cidr = cidr(text, 1).map_err(|problem| problem.about("range", value))?;
    acceptable_cidr(cidr, value)
}

/// Reads a CIDR text; bits behind the prefix are kept. Prefix lengths start at `shortest`.
fn cidr(text: &str, shortest: u8) -> Result<IpNet, WindowProblem> {
    let Some((address, length)) = text.split_once('/') else {
        return Err(match parse_ip(text) {
            Ok(ip) => WindowProblem::NoPrefixLength(ip),
            Err(error) => match error.problem() {
                AddressProblem::Empty | AddressProblem::NotAnAddress => WindowProblem::NotACidr,
                _ => WindowProblem::AddressWithin(error),
            },
        });
    };
    let ip = match parse_ip(address) {
        Ok(ip) => ip,
        Err(error) => return Err(unreadable_cidr(address, length, error)),
    };
    let problem = || WindowProblem::PrefixLength {
        length: shown(length),
        family: family(ip),
        shortest,
    };
    let length = prefix_length(length)
        .filter(|&length| length >= shortest)
        .ok_or_else(problem)?;
    IpNet::new(ip, length).map_err(|_| problem())
}

fn unreadable_cidr(address: &str, length: &str, error: ParseError) -> WindowProblem {
    let mapped = address.parse::<IpAddr>().ok().and_then(unmapped);
    match (mapped, prefix_length(length)) {
        (Some(v4), Some(length)) => mapped_cidr(v4, length),
        _ => WindowProblem::AddressWithin(error),
    }
}

/// Decimal digits without sign and leading zeros.
fn prefix_length(text: &str) -> Option<u8> {
    let plain = text.bytes().all(|b| b.is_ascii_digit()) && (text == "0" || !text.starts_with('0'));
    text.parse().ok().filter(|_| plain)
}

fn bound<'a>(
    key: &str,
    place: Place,
    given: Option<&'a str>,
) -> Result<Option<Bound<'a>>, WindowError> {
    let Some(value) = given else {
        return Ok(None);
    };
    match parse_ip(value) {
        Ok(ip) => Ok(Some(Bound { place, value, ip })),
        Err(error) => Err(WindowProblem::Address(error).about(key, value)),
    }
}

/// First and last address of an item: a CIDR, `first-last` or one address.
fn exclude_item(item: &str) -> Result<(IpAddr, IpAddr), WindowProblem> {
    if let Some((first, last)) = item.split_once('-') {
        let first = parse_ip(first).map_err(WindowProblem::AddressWithin)?;
        let last = parse_ip(last).map_err(WindowProblem::AddressWithin)?;
        return Ok((first, last));
    }
    if item.contains('/') {
        let cidr = cidr(item, 0)?;
        return Ok((cidr.network(), cidr.broadcast()));
    }
    let ip = parse_ip(item).map_err(WindowProblem::Address)?;
    Ok((ip, ip))
}
