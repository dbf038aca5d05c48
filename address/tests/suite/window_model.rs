//! Windows of small prefixes against an enumeration of all their addresses: every IPv4 prefix
//! length from /24 to /32 and every IPv6 one from /120 to /128.

use std::collections::BTreeSet;

use address::{
    Family, RunSet, Window, WindowText, count_in_window, from_number, lowest_free, to_number,
};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

mod case;
mod naive;

use case::{Case, Shape};
use naive::Checked;

fn check_window(window: &Window, expected: &BTreeSet<u128>) -> Result<(), TestCaseError> {
    let family = window.family();
    prop_assert_eq!(window.capacity(), expected.len() as u128);
    prop_assert_eq!(to_number(window.start()), window.first());
    prop_assert_eq!(to_number(window.end()), window.last());
    let highest = match family {
        Family::V4 => u128::from(u32::MAX),
        Family::V6 => u128::MAX,
    };
    let below = window.first().saturating_sub(300);
    let above = window.last().saturating_add(300).min(highest);
    for n in below..=above {
        prop_assert_eq!(
            window.contains(from_number(family, n)),
            expected.contains(&n)
        );
    }
    for &(first, last) in window.excluded() {
        prop_assert!(window.first() <= first && first <= last && last <= window.last());
    }
    for pair in window.excluded().windows(2) {
        prop_assert!(
            pair[0].1 + 1 < pair[1].0,
            "overlapping or touching: {:?}",
            pair
        );
    }
    Ok(())
}

/// The canonical texts, and the parts, lead back to the same window.
fn check_round_trip(window: &Window) -> Result<(), TestCaseError> {
    let again = Window::parse(&WindowText {
        range: &window.cidr().to_string(),
        range_start: Some(&window.start().to_string()),
        range_end: Some(&window.end().to_string()),
        exclude: &window.exclude_text(),
    });
    prop_assert_eq!(again.as_ref(), Ok(window));
    let ip = |n| from_number(window.family(), n);
    let parts = window
        .excluded()
        .iter()
        .rev()
        .map(|&(a, b)| (ip(a), ip(b)))
        .collect();
    let from_parts = Window::new(window.cidr(), window.start(), window.end(), parts);
    prop_assert_eq!(from_parts.as_ref(), Ok(window));
    Ok(())
}

fn check_free(
    window: &Window,
    expected: &BTreeSet<u128>,
    checked: &Checked<'_>,
) -> Result<(), TestCaseError> {
    let (mut set, mut model) = (RunSet::default(), BTreeSet::new());
    for &(offset, length) in &checked.case.taken {
        for n in (0..=length).map(|i| checked.number(offset + i16::from(i))) {
            prop_assert_eq!(set.insert(n), model.insert(n));
        }
    }
    for from in [
        0,
        window.first(),
        checked.number(checked.case.from),
        window.last(),
        u128::MAX,
    ] {
        let free = expected.range(from..).find(|n| !model.contains(n)).copied();
        prop_assert_eq!(lowest_free(window, &set, from), free, "from {}", from);
    }
    let both = expected.intersection(&model).count();
    prop_assert_eq!(count_in_window(window, &set), both as u128);
    Ok(())
}

fn check(shape: Shape, case: &Case) -> Result<(), TestCaseError> {
    let checked = Checked { shape, case };
    match (checked.parse(), checked.expected()) {
        (Ok(window), Ok(expected)) => {
            prop_assert_eq!(
                u32::from(window.cidr().prefix_len()),
                shape.bits() - shape.host_bits
            );
            prop_assert_eq!(to_number(window.cidr().network()), case.network);
            check_window(&window, &expected)?;
            check_round_trip(&window)?;
            check_free(&window, &expected, &checked)
        }
        (Err(error), Err(kind)) => {
            prop_assert_eq!(error.kind(), kind, "{}", error);
            Ok(())
        }
        (parsed, expected) => Err(TestCaseError::fail(format!("{parsed:?} for {expected:?}"))),
    }
}

fn check_all_prefixes(family: Family) {
    for host_bits in 0..=8 {
        let shape = Shape { family, host_bits };
        let config = Config {
            cases: 200,
            failure_persistence: None,
            ..Config::default()
        };
        let result = TestRunner::new(config).run(&shape.cases(), |case| check(shape, &case));
        if let Err(error) = result {
            panic!("{family} with {host_bits} host bits: {error}");
        }
    }
}

#[test]
fn ipv4_slash_24_to_32() {
    check_all_prefixes(Family::V4);
}

#[test]
fn ipv6_slash_120_to_128() {
    check_all_prefixes(Family::V6);
}
