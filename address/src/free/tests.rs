//! What a search costs, counted in moves of its cursors: a move is one step to a neighbouring
//! run or one seek. Counting moves instead of time proves the bound on any machine.

use super::Search;
use crate::{RunSet, Window, WindowText, to_number};

/// A move to begin with and one behind the obstacle, for each of the two cursors.
const ONE_OBSTACLE: usize = 4;

fn window(range: &str, exclude: &[String]) -> Window {
    let text = WindowText {
        range,
        range_start: None,
        range_end: None,
        exclude,
    };
    Window::parse(&text).unwrap()
}

/// What the search finds, and in how many moves.
fn search(window: &Window, taken: &RunSet, from: u128) -> (Option<u128>, usize) {
    let mut search = Search::new(window, taken, from);
    let found = search.run();
    (found, search.excluded.moves() + search.taken.moves())
}

fn number(text: &str) -> u128 {
    to_number(text.parse().unwrap())
}

#[test]
fn a_slash_8_with_one_address_left_is_one_hop() {
    let window = window("10.0.0.0/8", &[]);
    let (first, last) = (window.first(), window.last());

    let all_but_the_last = RunSet::of_runs([(first, last - 1)]);
    assert_eq!(all_but_the_last.count(), window.capacity() - 1);
    let (found, moves) = search(&window, &all_but_the_last, 0);
    assert_eq!(found, Some(last));
    assert!(moves <= ONE_OBSTACLE, "{moves} moves");

    let hole = number("10.123.45.67");
    let (found, moves) = search(
        &window,
        &RunSet::of_runs([(first, hole - 1), (hole + 1, last)]),
        0,
    );
    assert_eq!(found, Some(hole));
    assert!(moves <= ONE_OBSTACLE, "{moves} moves");

    let (found, moves) = search(&window, &RunSet::of_runs([(first, last)]), 0);
    assert_eq!(found, None);
    assert!(moves <= ONE_OBSTACLE, "{moves} moves");
}

#[test]
fn the_far_end_of_a_slash_64_is_one_hop() {
    let window = window("2001:db8::/64", &[]);
    let taken = RunSet::of_runs([(window.first(), window.last() - 1)]);
    let (found, moves) = search(&window, &taken, 0);
    assert_eq!(found, Some(number("2001:db8::ffff:ffff:ffff:fffe")));
    assert!(moves <= ONE_OBSTACLE, "{moves} moves");
}

#[test]
fn ten_thousand_neighbouring_exclusions_are_one_hop() {
    let base = number("10.0.0.0");
    let exclude: Vec<String> = (1..=10_000)
        .map(|i| crate::from_number(crate::Family::V4, base + i).to_string())
        .collect();
    let window = window("10.0.0.0/8", &exclude);
    assert_eq!(window.excluded().len(), 1);
    let (found, moves) = search(&window, &RunSet::default(), 0);
    assert_eq!(found, Some(base + 10_001));
    assert!(moves <= ONE_OBSTACLE, "{moves} moves");
}

/// 10.0.0.0/8 with 10,000 exclusions of one address, at every second address from 10.0.0.1.
fn comb() -> Window {
    let base = number("10.0.0.0");
    let exclude: Vec<String> = (0..10_000)
        .map(|i| crate::from_number(crate::Family::V4, base + 1 + 2 * i).to_string())
        .collect();
    let window = window("10.0.0.0/8", &exclude);
    assert_eq!(window.excluded().len(), 10_000);
    window
}

#[test]
fn ten_thousand_exclusions_with_every_gap_taken_cost_one_move_per_hop() {
    let window = comb();
    let taken = RunSet::of_runs((0..10_000).map(|i| {
        let gap = window.first() + 1 + 2 * i;
        (gap, gap)
    }));
    let (found, moves) = search(&window, &taken, 0);
    assert_eq!(found, Some(window.first() + 20_000));
    assert!(moves <= 20_000 + ONE_OBSTACLE, "{moves} moves");
}

#[test]
fn exclusions_under_a_taken_run_are_not_walked() {
    let window = comb();
    let end = window.first() + 30_000;
    let (found, moves) = search(&window, &RunSet::of_runs([(window.first(), end)]), 0);
    assert_eq!(found, Some(end + 1));
    assert!(moves <= 16, "{moves} moves");
}

#[test]
fn taken_runs_under_an_exclusion_are_not_walked() {
    let window = window("10.0.0.0/8", &["10.0.0.0/9".to_owned()]);
    let taken = RunSet::of_runs((0..100_000).map(|i| {
        let every_third = window.first() + 3 * i;
        (every_third, every_third)
    }));
    let (found, moves) = search(&window, &taken, 0);
    assert_eq!(found, Some(number("10.128.0.0")));
    assert!(moves <= 16, "{moves} moves");
}

#[test]
fn beginning_in_the_middle_skips_what_lies_before() {
    let window = comb();
    let taken = RunSet::of_runs((0..100_000).map(|i| {
        let every_third = window.first() + 3 * i;
        (every_third, every_third)
    }));
    let from = window.first() + 3 * 90_000;
    let (found, moves) = search(&window, &taken, from);
    assert_eq!(found, Some(from + 1));
    assert!(moves <= 4, "{moves} moves");
}

#[test]
fn nothing_follows_the_last_number() {
    let top = window("ffff:ffff:ffff:ffff:ffff:ffff:ffff:fffe/127", &[]);
    assert_eq!(top.last(), u128::MAX);
    let taken = RunSet::of_runs([(u128::MAX - 1, u128::MAX)]);
    assert_eq!(search(&top, &taken, 0).0, None);
    assert_eq!(
        search(&top, &RunSet::default(), u128::MAX).0,
        Some(u128::MAX)
    );

    let last_excluded = window(
        "ffff:ffff:ffff:ffff:ffff:ffff:ffff:fffe/127",
        &["ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff".to_owned()],
    );
    assert_eq!(
        search(&last_excluded, &RunSet::default(), u128::MAX).0,
        None
    );
}
