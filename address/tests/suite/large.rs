//! Every prefix length against plain 128-bit arithmetic.

use address::{Family, RunSet, Window, WindowText, count_in_window, from_number, lowest_free};
use proptest::prelude::*;

/// The IPv4-mapped block, which no window hands out.
const BLOCK: (u128, u128) = (0xffff_0000_0000, 0xffff_ffff_ffff);

/// First and last number of a prefix around `n`.
fn prefix(bits: u32, length: u32, n: u128) -> (u128, u128) {
    let host = if length == bits {
        0
    } else {
        u128::MAX >> (128 - bits + length)
    };
    (n & !host, n | host)
}

/// How many numbers two pieces have in common.
fn overlap(a: (u128, u128), b: (u128, u128)) -> u128 {
    let (first, last) = (a.0.max(b.0), a.1.min(b.1));
    if first > last { 0 } else { last - first + 1 }
}

fn parse(range: &str, exclude: &[String]) -> Window {
    let text = WindowText {
        range,
        range_start: None,
        range_end: None,
        exclude,
    };
    Window::parse(&text).unwrap_or_else(|error| panic!("{error}"))
}

fn check_prefix(family: Family, bits: u32, length: u32, n: u128) -> Result<(), TestCaseError> {
    let all = prefix(bits, length, n);
    let usable = if length + 1 >= bits {
        all
    } else {
        (all.0 + 1, all.1 - 1)
    };
    let in_block = if family == Family::V6 {
        overlap(usable, BLOCK)
    } else {
        0
    };
    let window = parse(&format!("{}/{length}", from_number(family, n)), &[]);
    prop_assert_eq!(window.capacity(), usable.1 - usable.0 + 1 - in_block);
    prop_assert_eq!(window.first(), usable.0);
    if in_block == 0 {
        prop_assert_eq!(window.last(), usable.1);
        prop_assert!(window.excluded().is_empty());
    }
    check_half_excluded(&window, bits, length, n)
}

/// Excludes the half of the range in which `n` lies.
fn check_half_excluded(
    window: &Window,
    bits: u32,
    length: u32,
    n: u128,
) -> Result<(), TestCaseError> {
    if bits - length < 2 {
        return Ok(());
    }
    let half = prefix(bits, length + 1, n);
    let ip = |n| from_number(window.family(), n);
    let text = format!("{}/{}", ip(half.0), length + 1);
    let left = parse(&window.cidr().to_string(), &[text]);
    let lower_half = half.0 == prefix(bits, length, n).0;
    let first = if lower_half {
        half.1 + 1
    } else {
        window.first()
    };
    let mut taken = RunSet::default();
    prop_assert_eq!(lowest_free(&left, &taken, 0), Some(first));
    prop_assert!(!left.contains(ip(half.0)) && !left.contains(ip(half.1)));
    let all = (window.first(), window.last());
    let lost = overlap(all, half);
    let lost_to_both = overlap(all, (half.0.max(BLOCK.0), half.1.min(BLOCK.1)));
    let lost_to_both = if window.family() == Family::V6 {
        lost_to_both
    } else {
        0
    };
    prop_assert_eq!(left.capacity(), window.capacity() - lost + lost_to_both);
    for n in [first, half.0, half.1] {
        taken.insert(n);
    }
    prop_assert_eq!(count_in_window(&left, &taken), 1);
    prop_assert_eq!(left.contains(ip(first)), true);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 16, ..ProptestConfig::default() })]

    #[test]
    fn every_ipv4_prefix_length(n: u32) {
        for length in 1..=32 {
            check_prefix(Family::V4, 32, length, n.into())?;
        }
    }

    /// Addresses of all magnitudes, so that short prefixes also hold the IPv4-mapped block.
    #[test]
    fn every_ipv6_prefix_length(n: u128, magnitude in 0_u32..128) {
        let n = n >> magnitude;
        prop_assume!(overlap((n, n), BLOCK) == 0);
        for length in 1..=128 {
            // Without its lower half ::fffe:0:0/95 is the block, and nothing is left.
            let other_half_is_the_block = length == 95 && n >> 32 == 0xfffe;
            if !other_half_is_the_block {
                check_prefix(Family::V6, 128, length, n)?;
            }
        }
    }
}
