//! What a definition hands out. The rows are the facts that the unit tests of whereabouts v0.9.4
//! state about ranges, where strict reading accepts them too; what it refuses of them is in
//! `refused.rs`.

use address::{RunSet, lowest_free};

use crate::{Row, lowest_free_text, number, range};

fn taken(addresses: &[&str]) -> RunSet {
    let mut set = RunSet::default();
    for address in addresses {
        assert!(set.insert(number(address)));
    }
    set
}

/// whereabouts: `pkg/allocate/allocate_test.go` and `cmd/whereabouts_test.go`.
#[test]
fn the_lowest_free_address_comes_first() {
    let rows: &[(Row, &[&str], Option<&str>)] = &[
        // Bits behind the prefix do not set a start.
        (range("192.168.1.1/24"), &[], Some("192.168.1.1")),
        (range("192.168.1.44/28"), &[], Some("192.168.1.33")),
        (range("caa5::0/112"), &[], Some("caa5::1")),
        (range("::1/126"), &[], Some("::1")),
        (range("fd::1/116"), &[], Some("fd::1")),
        (range("2001::1/116"), &[], Some("2001::1")),
        (range("100::2:1/126"), &[], Some("100::2:1")),
        (range("::10/124"), &[], Some("::11")),
        // Exclusions: CIDR, bare address, unsorted, neighbouring.
        (
            Row("192.168.0.0/29", None, None, &["192.168.0.0/30"]),
            &[],
            Some("192.168.0.4"),
        ),
        (
            Row("192.168.0.0/29", None, None, &["192.168.0.1"]),
            &[],
            Some("192.168.0.2"),
        ),
        (
            Row("100::2:1/125", None, None, &["100::2:1/126"]),
            &[],
            Some("100::2:4"),
        ),
        (
            Row("100::2:1/125", None, None, &["100::2:1"]),
            &[],
            Some("100::2:2"),
        ),
        (
            Row("2001:db8::/30", None, None, &["2001:db8::0/32"]),
            &[],
            Some("2001:db9::"),
        ),
        (
            Row(
                "192.168.0.0/28",
                None,
                None,
                &[
                    "192.168.0.0/30",
                    "192.168.0.6/31",
                    "192.168.0.8/31",
                    "192.168.0.4/30",
                ],
            ),
            &[],
            Some("192.168.0.10"),
        ),
        (
            Row(
                "192.168.0.0/28",
                None,
                None,
                &[
                    "192.168.0.0/30",
                    "192.168.0.14/31",
                    "192.168.0.4/30",
                    "192.168.0.6/31",
                    "192.168.0.8/31",
                ],
            ),
            &[],
            Some("192.168.0.10"),
        ),
        (
            Row(
                "192.168.1.0/24",
                None,
                None,
                &["192.168.1.0/28", "192.168.1.16/28"],
            ),
            &[],
            Some("192.168.1.32"),
        ),
        (
            Row(
                "2001::1/116",
                None,
                None,
                &["2001::0/128", "2001::1/128", "2001::2/128"],
            ),
            &[],
            Some("2001::3"),
        ),
        (
            Row("caa5::0/112", None, None, &["caa5::0/113"]),
            &[],
            Some("caa5::8000"),
        ),
        (Row("::/112", None, None, &["::/113"]), &[], Some("::8000")),
        // Nothing left, though something is taken or excluded only in part.
        (
            Row("192.168.0.0/29", None, None, &["192.168.0.0/30"]),
            &["192.168.0.4", "192.168.0.5", "192.168.0.6"],
            None,
        ),
        (
            Row("192.168.0.0/29", None, None, &["192.168.0.4/30"]),
            &["192.168.0.1", "192.168.0.2", "192.168.0.3"],
            None,
        ),
        (
            Row("100::2:1/125", None, None, &["100::2:4/126"]),
            &["100::2:1", "100::2:2", "100::2:3"],
            None,
        ),
        (
            Row(
                "192.168.0.0/28",
                Some("192.168.0.1"),
                Some("192.168.0.6"),
                &["192.168.0.4/30"],
            ),
            &["192.168.0.1", "192.168.0.2", "192.168.0.3"],
            None,
        ),
        // Holes are filled.
        (
            Row(
                "192.168.0.0/28",
                Some("192.168.0.1"),
                Some("192.168.0.6"),
                &[],
            ),
            &[],
            Some("192.168.0.1"),
        ),
        (
            Row(
                "192.168.0.0/28",
                Some("192.168.0.1"),
                Some("192.168.0.6"),
                &[],
            ),
            &["192.168.0.1", "192.168.0.2", "192.168.0.3"],
            Some("192.168.0.4"),
        ),
        (
            Row(
                "192.168.0.0/28",
                Some("192.168.0.1"),
                Some("192.168.0.6"),
                &[],
            ),
            &["192.168.0.1", "192.168.0.2", "192.168.0.5"],
            Some("192.168.0.3"),
        ),
        // Start given, in either form.
        (
            range("192.168.1.5-192.168.1.25/24"),
            &[],
            Some("192.168.1.5"),
        ),
        (
            Row("192.168.1.0/24", Some("192.168.1.5"), None, &[]),
            &[],
            Some("192.168.1.5"),
        ),
        (
            range("2001:db8:480:603d:0304:0403:000:0000-2001:db8:480:603d:0304:0403:0000:0004/64"),
            &[],
            Some("2001:db8:480:603d:304:403::"),
        ),
        (
            range("fd00:0:0:10:0:0:3:1-fd00:0:0:10:0:0:3:6/64"),
            &[],
            Some("fd00::10:0:0:3:1"),
        ),
        // Two ranges share one set of taken addresses where they overlap.
        (
            range("192.168.22.0/28"),
            &["192.168.22.1"],
            Some("192.168.22.2"),
        ),
        (
            range("2001::2:3:0/126"),
            &["2001::2:3:1"],
            Some("2001::2:3:2"),
        ),
    ];
    for &(row, held, expected) in rows {
        let free = lowest_free_text(&row.window(), &taken(held));
        assert_eq!(free.as_deref(), expected, "{row:?} with {held:?} taken");
    }
}

#[test]
fn addresses_come_in_order_and_come_back() {
    let window = range("192.168.1.11-192.168.1.23/24").window();
    let mut taken = RunSet::default();
    for octet in 11..=23 {
        let free = lowest_free(&window, &taken, 0).unwrap();
        assert_eq!(free, number(&format!("192.168.1.{octet}")));
        assert!(taken.insert(free));
    }
    assert_eq!(lowest_free(&window, &taken, 0), None);
    assert!(taken.remove(number("192.168.1.17")));
    assert_eq!(
        lowest_free_text(&window, &taken).as_deref(),
        Some("192.168.1.17")
    );
}

/// whereabouts: `pkg/iphelpers/iphelpers_test.go`; /31, /32, /127 and /128 are errors there.
#[test]
fn first_and_last_usable_address() {
    let rows: &[(Row, &str, &str)] = &[
        (range("192.168.0.0/32"), "192.168.0.0", "192.168.0.0"),
        (range("192.168.0.0/31"), "192.168.0.0", "192.168.0.1"),
        (
            range("192.168.21.100/31"),
            "192.168.21.100",
            "192.168.21.101",
        ),
        (range("192.168.0.0/30"), "192.168.0.1", "192.168.0.2"),
        (range("192.168.0.0/23"), "192.168.0.1", "192.168.1.254"),
        (range("2000::/128"), "2000::", "2000::"),
        (range("2000::/127"), "2000::", "2000::1"),
        (range("2000::/126"), "2000::1", "2000::2"),
        (range("2000::/64"), "2000::1", "2000::ffff:ffff:ffff:fffe"),
        (
            range("192.168.21.100/30"),
            "192.168.21.101",
            "192.168.21.102",
        ),
        (range("192.168.2.225/28"), "192.168.2.225", "192.168.2.238"),
        (range("192.168.2.200/27"), "192.168.2.193", "192.168.2.222"),
        (range("192.168.2.200/24"), "192.168.2.1", "192.168.2.254"),
        (range("2001::0/116"), "2001::1", "2001::ffe"),
        (
            range("fd:db8:abcd:0012::0/96"),
            "fd:db8:abcd:12::1",
            "fd:db8:abcd:12::ffff:fffe",
        ),
        (
            range("2001:db8:abcd:0012::0/96"),
            "2001:db8:abcd:12::1",
            "2001:db8:abcd:12::ffff:fffe",
        ),
        (
            range("2001:db8:abcd:0012::0/64"),
            "2001:db8:abcd:12::1",
            "2001:db8:abcd:12:ffff:ffff:ffff:fffe",
        ),
        (range("128.0.0.0/1"), "128.0.0.1", "255.255.255.254"),
        (
            range("8000::/1"),
            "8000::1",
            "ffff:ffff:ffff:ffff:ffff:ffff:ffff:fffe",
        ),
    ];
    for &(row, start, end) in rows {
        let window = row.window();
        assert_eq!(window.start().to_string(), start, "{row:?}");
        assert_eq!(window.end().to_string(), end, "{row:?}");
    }
}

/// whereabouts: `pkg/iphelpers/iphelpers_test.go` and `pkg/config/config_test.go`.
#[test]
fn start_and_end_replace_the_usable_bounds() {
    const SLASH_64: &str = "2001:db8:abcd:0012::0/64";
    let rows: &[(Row, &str, &str)] = &[
        (
            Row("192.168.2.200/24", Some("192.168.2.23"), None, &[]),
            "192.168.2.23",
            "192.168.2.254",
        ),
        (
            Row("192.168.2.230/24", Some("192.168.2.223"), None, &[]),
            "192.168.2.223",
            "192.168.2.254",
        ),
        (
            Row("192.168.2.0/24", None, Some("192.168.2.100"), &[]),
            "192.168.2.1",
            "192.168.2.100",
        ),
        (
            Row(
                "192.168.2.0/24",
                Some("192.168.2.50"),
                Some("192.168.2.100"),
                &[],
            ),
            "192.168.2.50",
            "192.168.2.100",
        ),
        (
            Row(
                "192.168.2.0/24",
                Some("192.168.2.50"),
                Some("192.168.2.50"),
                &[],
            ),
            "192.168.2.50",
            "192.168.2.50",
        ),
        (
            Row(SLASH_64, None, Some("2001:DB8:ABCD:12::100"), &[]),
            "2001:db8:abcd:12::1",
            "2001:db8:abcd:12::100",
        ),
        (
            Row(
                SLASH_64,
                Some("2001:db8:abcd:12::50"),
                Some("2001:db8:abcd:12::100"),
                &[],
            ),
            "2001:db8:abcd:12::50",
            "2001:db8:abcd:12::100",
        ),
        (
            Row(
                SLASH_64,
                Some("2001:db8:abcd:12::100"),
                Some("2001:db8:abcd:12::100"),
                &[],
            ),
            "2001:db8:abcd:12::100",
            "2001:db8:abcd:12::100",
        ),
        (
            Row(
                "2001:db8:480:603d::/64",
                Some("2001:db8:480:603d:304:403::"),
                Some("2001:db8:480:603d:304:403:0:4"),
                &[],
            ),
            "2001:db8:480:603d:304:403::",
            "2001:db8:480:603d:304:403:0:4",
        ),
        // Both addresses of a /31 may be named, and the one of a /32.
        (
            Row("10.0.0.0/31", Some("10.0.0.0"), Some("10.0.0.1"), &[]),
            "10.0.0.0",
            "10.0.0.1",
        ),
        (
            Row("10.0.0.7/32", Some("10.0.0.7"), Some("10.0.0.7"), &[]),
            "10.0.0.7",
            "10.0.0.7",
        ),
        (range("10.0.0.7-10.0.0.7/24"), "10.0.0.7", "10.0.0.7"),
    ];
    for &(row, start, end) in rows {
        let window = row.window();
        assert_eq!(window.start().to_string(), start, "{row:?}");
        assert_eq!(window.end().to_string(), end, "{row:?}");
    }
    let cidr = range("192.168.1.5-192.168.1.25/24").window().cidr();
    assert_eq!(cidr.to_string(), "192.168.1.0/24");
    assert_eq!(
        range("10.0.0.77/24").window().cidr().to_string(),
        "10.0.0.0/24"
    );
}

/// whereabouts: `IsIPInRange` in `pkg/iphelpers/iphelpers_test.go`.
#[test]
fn contains_what_it_hands_out() {
    let v4 = Row(
        "192.168.0.0/15",
        Some("192.168.0.1"),
        Some("192.169.0.0"),
        &[],
    )
    .window();
    for inside in ["192.168.255.100", "192.168.0.1", "192.169.0.0"] {
        assert!(v4.contains(inside.parse().unwrap()), "{inside}");
    }
    for outside in [
        "192.169.255.100",
        "192.169.0.1",
        "192.167.255.255",
        "192.168.0.0",
        "::1",
    ] {
        assert!(!v4.contains(outside.parse().unwrap()), "{outside}");
    }
    // The same number in the other family is another address.
    assert!(!v4.contains("::c0a8:1".parse().unwrap()));

    let v6 = Row(
        "2000::/30",
        Some("2000::1"),
        Some("2000:1::"),
        &["2000::5-2000::7"],
    )
    .window();
    for inside in [
        "2000::ffff:ffcc",
        "2000::1",
        "2000:1::",
        "2000::4",
        "2000::8",
    ] {
        assert!(v6.contains(inside.parse().unwrap()), "{inside}");
    }
    for outside in [
        "2000:1::ffff:ffcc",
        "2000:1::1",
        "2000::",
        "2000::5",
        "2000::6",
        "2000::7",
    ] {
        assert!(!v6.contains(outside.parse().unwrap()), "{outside}");
    }
}

#[test]
fn a_dot_zero_or_dot_255_inside_a_larger_range_is_an_address_like_any_other() {
    let window = range("10.0.0.0/23").window();
    assert!(window.contains("10.0.0.255".parse().unwrap()));
    assert!(window.contains("10.0.1.0".parse().unwrap()));
    assert!(!window.contains("10.0.0.0".parse().unwrap()));
    assert!(!window.contains("10.0.1.255".parse().unwrap()));
}
