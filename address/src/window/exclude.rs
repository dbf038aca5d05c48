//! The parts of a window that are not handed out.

use std::net::IpAddr;

use ipnet::IpNet;

use super::error::{WindowError, WindowProblem};
use super::text::MAX_EXCLUDES;
use crate::number::{Family, family, from_number, to_number};
use crate::text::{MAPPED_BLOCK, canonical};

/// First and last number of an excluded part.
pub(super) type Part = (u128, u128);

/// How errors name the item at an index.
pub(super) fn key(index: usize) -> String {
    format!("exclude[{index}]")
}

/// Refuses lists that are too long to be meant.
pub(super) fn within_limit(items: usize) -> Result<(), WindowError> {
    if items > MAX_EXCLUDES {
        return Err(WindowProblem::TooMany.about("exclude", &format!("{items} items")));
    }
    Ok(())
}

/// Checks an excluded part against the range that it belongs to.
pub(super) fn part(first: IpAddr, last: IpAddr, cidr: IpNet) -> Result<Part, WindowProblem> {
    if family(first) != family(last) {
        return Err(WindowProblem::MixedFamilies);
    }
    let cidr_family = family(cidr.network());
    if family(first) != cidr_family {
        return Err(WindowProblem::OtherFamily {
            found: family(first),
            cidr,
            cidr_family,
        });
    }
    if first > last {
        return Err(WindowProblem::Inverted(part_text(last, first)));
    }
    Ok((to_number(first), to_number(last)))
}

/// `first-last`, or the address where both are the same.
pub(super) fn part_text(first: IpAddr, last: IpAddr) -> String {
    if first == last {
        canonical(first)
    } else {
        format!("{first}-{last}")
    }
}

/// The parts that lie in `first..=last`: clipped to it, sorted, and joined where they overlap or
/// touch. The IPv4-mapped block is always among the parts of an IPv6 window that holds it.
pub(super) fn merged(mut parts: Vec<Part>, family: Family, first: u128, last: u128) -> Vec<Part> {
    if family == Family::V6 {
        parts.push(MAPPED_BLOCK);
    }
    parts.retain(|&(a, b)| a <= last && b >= first);
    parts.sort_unstable();
    let mut merged: Vec<Part> = Vec::with_capacity(parts.len());
    for (a, b) in parts.into_iter().map(|(a, b)| (a.max(first), b.min(last))) {
        match merged.last_mut() {
            Some((_, end)) if a <= end.saturating_add(1) => *end = b.max(*end),
            _ => merged.push((a, b)),
        }
    }
    merged.shrink_to_fit();
    merged
}

/// Whether one of the merged parts holds `n`.
pub(super) fn covers(merged: &[Part], n: u128) -> bool {
    let index = merged.partition_point(|&(_, end)| end < n);
    merged.get(index).is_some_and(|&(start, _)| start <= n)
}

/// The merged parts as texts that parse back to them: the IPv4-mapped block has no accepted text
/// and needs none, so a part that holds it is named up to it and from behind it.
pub(super) fn texts(merged: &[Part], family: Family) -> Vec<String> {
    let text = |(a, b)| part_text(from_number(family, a), from_number(family, b));
    let (block_first, block_last) = MAPPED_BLOCK;
    let mut texts = Vec::with_capacity(merged.len());
    for &(a, b) in merged {
        if family == Family::V4 || b < block_first || a > block_last {
            texts.push(text((a, b)));
            continue;
        }
        if a < block_first {
            texts.push(text((a, block_first - 1)));
        }
        if b > block_last {
            texts.push(text((block_last + 1, b)));
        }
    }
    texts
}
