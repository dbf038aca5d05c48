//! `RunSet` against the plainest set there is.

use std::collections::BTreeSet;

use address::RunSet;
use proptest::prelude::*;

/// The maximal runs of a plain set.
fn runs(model: &BTreeSet<u128>) -> Vec<(u128, u128)> {
    let mut runs: Vec<(u128, u128)> = Vec::new();
    for &n in model {
        match runs.last_mut() {
            Some((_, end)) if *end == n - 1 => *end = n,
            _ => runs.push((n, n)),
        }
    }
    runs
}

proptest! {
    /// Numbers from a small piece, so that runs meet often: at 0, at the end of IPv4, at the end
    /// of IPv6.
    #[test]
    fn behaves_like_a_plain_set(
        base in prop_oneof![Just(0), Just(u128::from(u32::MAX) - 31), Just(u128::MAX - 63)],
        operations in prop::collection::vec((any::<bool>(), 0_u128..64), 0..200),
        within in prop::collection::vec((0_u128..64, 0_u128..64), 8),
    ) {
        let (mut set, mut model) = (RunSet::default(), BTreeSet::new());
        for (insert, offset) in operations {
            let n = base + offset;
            if insert {
                prop_assert_eq!(set.insert(n), model.insert(n));
            } else {
                prop_assert_eq!(set.remove(n), model.remove(&n));
            }
            prop_assert_eq!(set.count(), model.len() as u128);
        }
        let expected = runs(&model);
        prop_assert_eq!(set.runs(), expected.len());
        for n in base..=base + 63 {
            prop_assert_eq!(set.contains(n), model.contains(&n));
            let run = expected.iter().copied().find(|&(start, end)| start <= n && n <= end);
            prop_assert_eq!(set.run_containing(n), run);
        }
        for (first, last) in within {
            let (first, last) = (base + first, base + last);
            let count = model.iter().filter(|&&n| first <= n && n <= last).count();
            prop_assert_eq!(set.count_within(first, last), count as u128);
        }
        prop_assert_eq!(set.count_within(0, u128::MAX), set.count());
        prop_assert_eq!(set.iter().collect::<Vec<_>>(), expected);
    }
}

#[test]
fn a_full_slash_16_is_one_run_in_whatever_order_it_filled() {
    let mut set = RunSet::default();
    let base = 0x0a00_0000;
    // 40503 is odd, so its multiples visit every residue of 2^16 once.
    for i in 0..1_u128 << 16 {
        assert!(set.insert(base + i * 40_503 % (1 << 16)));
    }
    assert_eq!(set.iter().collect::<Vec<_>>(), [(base, base + 0xffff)]);
    assert_eq!((set.runs(), set.count()), (1, 1 << 16));
}

#[test]
fn the_last_number_is_a_number_like_any_other() {
    let mut set = RunSet::default();
    assert!(set.insert(u128::MAX));
    assert!(!set.insert(u128::MAX));
    assert!(set.insert(u128::MAX - 1));
    assert!(set.insert(0));
    assert_eq!(
        set.iter().collect::<Vec<_>>(),
        [(0, 0), (u128::MAX - 1, u128::MAX)]
    );
    assert_eq!(set.count_within(u128::MAX, u128::MAX), 1);
    assert!(set.remove(u128::MAX));
    assert!(set.remove(0));
    assert_eq!(
        set.iter().collect::<Vec<_>>(),
        [(u128::MAX - 1, u128::MAX - 1)]
    );
}
