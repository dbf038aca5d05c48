//! IPv4-mapped addresses (`::ffff:0:0/96`) are a second spelling of IPv4 ones, and the ledger
//! stores none: no window hands one out, whatever range holds the block.

use address::{RunSet, Window, WindowText, count_in_window};

use crate::{Row, lowest_free_text, number, range};

const BLOCK_SIZE: u128 = 1 << 32;

#[test]
fn a_range_around_the_block_leaves_it_out() {
    let window = range("::/64").window();
    assert_eq!(window.capacity(), (1 << 64) - 2 - BLOCK_SIZE);
    let block = (number("::fffe:ffff:ffff") + 1, number("::1:0:0:0") - 1);
    assert_eq!(window.excluded(), [block]);
    assert!(!window.contains("::ffff:10.0.0.5".parse().unwrap()));
    assert!(window.exclude_text().is_empty());

    let up_to_the_block = Row("::/64", None, None, &["::-::fffe:ffff:ffff"]).window();
    let free = lowest_free_text(&up_to_the_block, &RunSet::default());
    assert_eq!(free.as_deref(), Some("::1:0:0:0"));
    assert_eq!(up_to_the_block.exclude_text(), ["::1-::fffe:ffff:ffff"]);

    let mut taken = RunSet::default();
    taken.insert(block.0);
    assert_eq!(count_in_window(&window, &taken), 0);
}

#[test]
fn a_range_that_ends_with_the_block_ends_before_it() {
    for row in [
        range("::/80"),
        range("::8000:0:0/81"),
        range("::fffe:0:0/95"),
    ] {
        let window = row.window();
        assert_eq!(window.end().to_string(), "::fffe:ffff:ffff", "{row:?}");
        assert!(window.excluded().is_empty(), "{row:?}");
    }
    let error = Row("::/80", None, Some("::ffff:ffff:ffff"), &[])
        .parse()
        .unwrap_err();
    assert_eq!(error.kind(), "ipv4_mapped");
    let error = Row("::fffe:0:0/95", None, None, &["::fffe:0:0/96"])
        .parse()
        .unwrap_err();
    assert_eq!(error.kind(), "nothing_left");
}

#[test]
fn an_exclusion_that_ends_with_the_block_is_read() {
    let window = Row("::/79", None, None, &["::/80"]).window();
    let free = lowest_free_text(&window, &RunSet::default());
    assert_eq!(free.as_deref(), Some("::1:0:0:0"));
    assert_eq!(window.exclude_text(), ["::1-::fffe:ffff:ffff"]);
}

#[test]
fn exclusions_across_the_block_are_named_up_to_it_and_behind_it() {
    let window = Row("::/64", None, None, &["::fffe:ffff:fff0-::1:0:0:f"]).window();
    assert_eq!(window.excluded().len(), 1);
    let texts = window.exclude_text();
    assert_eq!(
        texts,
        ["::fffe:ffff:fff0-::fffe:ffff:ffff", "::1:0:0:0-::1:0:0:f"]
    );
    let again = WindowText {
        range: "::/64",
        range_start: None,
        range_end: None,
        exclude: &texts,
    };
    assert_eq!(Window::parse(&again).unwrap(), window);
}
