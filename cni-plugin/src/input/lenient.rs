//! whereabouts' reading of a range, said in the API's strict words. Whatever whereabouts ignores
//! is left out with a warning; the window that results is the one that whereabouts would use.

use std::net::IpAddr;

use ipledger_client::types::RangeRequest;
use ipnet::IpNet;

use super::Field;
use super::address_text::{address, cidr, sloppy_address, sloppy_cidr, usable};
use super::range::{Range, Written};
use crate::error::CniError;
use crate::log::Log;

pub(crate) fn normalise(written: &Written<'_>, log: &Log<'_>) -> Result<Range, CniError> {
    let (net, dash) = network(&written.range)?;
    let (first, last) = usable(&net);
    let (start, end) = match dash {
        // `a-b/len` overrides both keys.
        Some((start, end)) => (Some((start, &written.range)), Some((end, &written.range))),
        None => (
            end_of(&written.start, written, log)?,
            end_of(&written.end, written, log)?,
        ),
    };
    let start = within(start, first, last, log);
    let end = within(end, start.unwrap_or(first), last, log);
    let mut exclude = Vec::new();
    let mut exclude_keys = Vec::new();
    for field in &written.exclude {
        if let Some(part) = excluded(field, &net, log)? {
            exclude.push(part);
            exclude_keys.push(field.label());
        }
    }
    let text = |address: Option<IpAddr>| address.map(|address| address.to_string());
    let request = RangeRequest {
        range: net.to_string(),
        range_start: text(start),
        range_end: text(end),
        exclude,
    };
    Ok(Range {
        request,
        keys: written.keys(exclude_keys),
    })
}

/// The network of a range and, for `a-b/len`, its ends.
fn network(field: &Field<'_>) -> Result<(IpNet, Option<(IpAddr, IpAddr)>), CniError> {
    let text = field.text()?;
    let Some((start, rest)) = text.split_once('-') else {
        let net = sloppy_cidr(text).ok_or_else(|| field.wrong("is not a CIDR"))?;
        return Ok((net.trunc(), None));
    };
    let start =
        sloppy_address(start).ok_or_else(|| field.wrong("has a first address that is none"))?;
    let rest =
        sloppy_cidr(rest).ok_or_else(|| field.wrong("has a last address without its /length"))?;
    if !rest.contains(&start) {
        return Err(field.wrong("has a first address outside its network"));
    }
    Ok((rest.trunc(), Some((start, rest.addr()))))
}

type End<'a, 'b> = Option<(IpAddr, &'b Field<'a>)>;

/// `range_start` or `range_end`. At the top level whereabouts ignores what it cannot read; in
/// `ipRanges` it refuses.
fn end_of<'a, 'b>(
    field: &'b Option<Field<'a>>,
    written: &Written<'_>,
    log: &Log<'_>,
) -> Result<End<'a, 'b>, CniError> {
    let Some(field) = field else { return Ok(None) };
    let parse = if written.top { sloppy_address } else { address };
    match parse(field.text()?) {
        Some(address) => Ok(Some((address, field))),
        None if written.top => {
            log.warn(format_args!(
                "{}; ignored",
                field.wrong("is not an IP address")
            ));
            Ok(None)
        }
        None => Err(field.wrong("is not an IP address")),
    }
}

/// An end that lies inside; whereabouts silently ignores one that does not.
fn within(end: End<'_, '_>, least: IpAddr, most: IpAddr, log: &Log<'_>) -> Option<IpAddr> {
    let (address, field) = end?;
    let same_family = address.is_ipv4() == least.is_ipv4();
    if same_family && least <= address && address <= most {
        return Some(address);
    }
    let why = format!("says {address}, which is not between {least} and {most}");
    log.warn(format_args!("{}; ignored", field.wrong(&why)));
    None
}

/// One excluded part, cut to the network; `None` if it lies outside, where it changes nothing.
fn excluded(field: &Field<'_>, net: &IpNet, log: &Log<'_>) -> Result<Option<String>, CniError> {
    let text = field.text()?;
    let part = cidr(text).or_else(|| address(text).map(IpNet::from));
    let Some(part) = part else {
        return Err(field.wrong("is neither an IP address nor a CIDR"));
    };
    let part = part.trunc();
    // Of two networks that overlap, one contains the other.
    let common = if net.contains(&part) {
        part
    } else if part.contains(net) {
        *net
    } else {
        log.warn(format_args!(
            "{}; ignored",
            field.wrong(&format!("lies outside {net}"))
        ));
        return Ok(None);
    };
    let single = common.prefix_len() == common.max_prefix_len();
    Ok(Some(if single {
        common.addr().to_string()
    } else {
        common.to_string()
    }))
}
