//! Ranges and addresses.

use std::net::IpAddr;

use address::{Window, WindowText, parse_ip};
use ipledger_client::types::{ProblemCode, RangeRequest};
use ipnet::IpNet;

use crate::problem::Failure;

/// The most ranges of one request.
const MOST_RANGES: usize = 16;

/// One to 16 ranges, under the key `ranges`.
pub(crate) fn ranges(given: &[RangeRequest]) -> Result<Vec<Window>, Failure> {
    if !(1..=MOST_RANGES).contains(&given.len()) {
        let count = given.len().to_string();
        let detail = format!("ranges has {count} entries; 1 to {MOST_RANGES} are taken");
        return Err(Failure::new(ProblemCode::InvalidRequest, detail).about("ranges", &count));
    }
    let mut windows = Vec::with_capacity(given.len());
    for (index, range) in given.iter().enumerate() {
        windows.push(window(index, range)?);
    }
    Ok(windows)
}

fn window(index: usize, range: &RangeRequest) -> Result<Window, Failure> {
    let text = WindowText {
        range: &range.range,
        range_start: range.range_start.as_deref(),
        range_end: range.range_end.as_deref(),
        exclude: &range.exclude,
    };
    Window::parse(&text).map_err(|error| {
        let key = format!("ranges[{index}].{}", error.key());
        Failure::invalid(key, error.value(), error.problem())
    })
}

/// A CIDR and nothing more: no `first-last` form.
pub(crate) fn cidr(key: &str, given: &str) -> Result<IpNet, Failure> {
    if given.contains('-') {
        let problem = "is not a CIDR; write one such as 10.0.0.0/24";
        return Err(Failure::invalid(key, given, problem));
    }
    let text = WindowText {
        range: given,
        range_start: None,
        range_end: None,
        exclude: &[],
    };
    match Window::parse(&text) {
        Ok(window) => Ok(window.cidr()),
        Err(error) => Err(Failure::invalid(key, error.value(), error.problem())),
    }
}

/// An address.
pub(crate) fn address(key: &str, given: &str) -> Result<IpAddr, Failure> {
    parse_ip(given).map_err(|error| {
        // The error reads `"<value>" <problem>`.
        let detail = format!("{key} {error}");
        Failure::new(ProblemCode::InvalidRequest, detail).about(key, error.value())
    })
}

/// Fixed addresses, under the key `ips`: no more than ranges, none twice.
pub(crate) fn fixed_addresses(given: &[String], ranges: usize) -> Result<Vec<IpAddr>, Failure> {
    if given.len() > ranges {
        let count = given.len().to_string();
        let detail = format!("ips has {count} entries, more than the {ranges} of ranges");
        return Err(Failure::new(ProblemCode::InvalidRequest, detail).about("ips", &count));
    }
    let mut addresses: Vec<IpAddr> = Vec::with_capacity(given.len());
    for (index, text) in given.iter().enumerate() {
        let key = format!("ips[{index}]");
        let address = address(&key, text)?;
        if addresses.contains(&address) {
            return Err(Failure::invalid(key, text, "appears twice"));
        }
        addresses.push(address);
    }
    Ok(addresses)
}
