//! What strict reading refuses, with the exact text.

use crate::{Row, range};

/// Kind of the mistake, definition, text of the error.
type Refusal = (&'static str, Row, &'static str);

fn check(refusals: &[Refusal]) {
    for &(kind, row, expected) in refusals {
        let error = row.parse().expect_err(expected);
        assert_eq!(error.to_string(), expected, "{row:?}");
        assert_eq!(error.kind(), kind, "{row:?}");
        let sentence = format!("{} {:?} {}", error.key(), error.value(), error.problem());
        assert_eq!(sentence, expected);
    }
}

/// Accepted by whereabouts v0.9.4, according to its own unit tests or as seen in use: it ignores
/// or repairs the value silently.
#[test]
fn what_the_incumbent_takes_silently() {
    check(&[
        (
            "network_address",
            Row("192.168.0.0/29", Some("192.168.0.0"), None, &[]),
            r#"range_start "192.168.0.0" is the network address of 192.168.0.0/29; the first usable address is 192.168.0.1"#,
        ),
        (
            "network_address",
            Row(
                "192.168.0.0/29",
                Some("192.168.0.0"),
                Some("192.168.0.8"),
                &[],
            ),
            r#"range_start "192.168.0.0" is the network address of 192.168.0.0/29; the first usable address is 192.168.0.1"#,
        ),
        (
            "outside_range",
            Row("192.168.0.0/29", None, Some("192.168.0.8"), &[]),
            r#"range_end "192.168.0.8" is outside 192.168.0.0/29; the usable addresses are 192.168.0.1 to 192.168.0.6"#,
        ),
        (
            "network_address",
            range("2001:db8:5422:0005::-2001:db8:5422:0005:7fff:ffff:ffff:ffff/64"),
            r#"range "2001:db8:5422:0005::-2001:db8:5422:0005:7fff:ffff:ffff:ffff/64" begins at 2001:db8:5422:5::, which is the subnet-router anycast address of 2001:db8:5422:5::/64; the first usable address is 2001:db8:5422:5::1"#,
        ),
        (
            "leading_zero",
            range("00192.00168.1.5-000000192.168.1.25/24"),
            r#"range "00192.00168.1.5-000000192.168.1.25/24" is not readable: "00192.00168.1.5" has a leading zero, which some programs read as octal; write 192.168.1.5 if decimal is meant"#,
        ),
        (
            "leading_zero",
            range("00192.00168.1.0/24"),
            r#"range "00192.00168.1.0/24" is not readable: "00192.00168.1.0" has a leading zero, which some programs read as octal; write 192.168.1.0 if decimal is meant"#,
        ),
        (
            "leading_zero",
            Row("192.168.1.0/24", Some("00192.00168.1.44"), None, &[]),
            r#"range_start "00192.00168.1.44" has a leading zero, which some programs read as octal; write 192.168.1.44 if decimal is meant"#,
        ),
        (
            "leading_zero",
            Row("192.168.1.0/24", None, Some("00192.00168.01.209"), &[]),
            r#"range_end "00192.00168.01.209" has a leading zero, which some programs read as octal; write 192.168.1.209 if decimal is meant"#,
        ),
        (
            "outside_range",
            Row(
                "192.168.2.0/24",
                Some("192.168.1.150"),
                Some("192.168.3.100"),
                &[],
            ),
            r#"range_start "192.168.1.150" is outside 192.168.2.0/24; the usable addresses are 192.168.2.1 to 192.168.2.254"#,
        ),
        (
            "inverted",
            Row(
                "192.168.2.0/24",
                Some("192.168.2.100"),
                Some("192.168.2.50"),
                &[],
            ),
            r#"range_end "192.168.2.50" is before range_start 192.168.2.100; swap the two or correct one"#,
        ),
        (
            "outside_range",
            Row(
                "2001:db8:abcd:12::/64",
                Some("2000::1"),
                Some("2003::1"),
                &[],
            ),
            r#"range_start "2000::1" is outside 2001:db8:abcd:12::/64; the usable addresses are 2001:db8:abcd:12::1 to 2001:db8:abcd:12:ffff:ffff:ffff:fffe"#,
        ),
        (
            "inverted",
            Row(
                "2001:db8:abcd:12::/64",
                Some("2001:db8:abcd:12::100"),
                Some("2001:db8:abcd:12::50"),
                &[],
            ),
            r#"range_end "2001:db8:abcd:12::50" is before range_start 2001:db8:abcd:12::100; swap the two or correct one"#,
        ),
        (
            "inverted",
            range("10.0.0.9-10.0.0.5/24"),
            r#"range "10.0.0.9-10.0.0.5/24" ends before it begins; write 10.0.0.5-10.0.0.9/24"#,
        ),
        (
            "broadcast_address",
            Row("10.0.0.0/24", None, Some("10.0.0.255"), &[]),
            r#"range_end "10.0.0.255" is the broadcast address of 10.0.0.0/24; the last usable address is 10.0.0.254"#,
        ),
        (
            "broadcast_address",
            Row(
                "2001:db8::/64",
                None,
                Some("2001:db8::FFFF:FFFF:FFFF:FFFF"),
                &[],
            ),
            r#"range_end "2001:db8::FFFF:FFFF:FFFF:FFFF" is the last address of 2001:db8::/64; the last usable address is 2001:db8::ffff:ffff:ffff:fffe"#,
        ),
        (
            "broadcast_address",
            range("10.0.0.9-10.0.0.255/24"),
            r#"range "10.0.0.9-10.0.0.255/24" ends at 10.0.0.255, which is the broadcast address of 10.0.0.0/24; the last usable address is 10.0.0.254"#,
        ),
        (
            "other_family",
            Row("10.0.0.0/24", Some("fd00::1"), None, &[]),
            r#"range_start "fd00::1" is IPv6, but range 10.0.0.0/24 is IPv4; it belongs with an IPv6 range"#,
        ),
        (
            "other_family",
            Row("fd00::/64", None, Some("10.0.0.1"), &[]),
            r#"range_end "10.0.0.1" is IPv4, but range fd00::/64 is IPv6; it belongs with an IPv4 range"#,
        ),
        (
            "other_family",
            Row("10.0.0.0/24", None, None, &["10.0.0.1", "fd00::/64"]),
            r#"exclude[1] "fd00::/64" is IPv6, but range 10.0.0.0/24 is IPv4; it belongs with an IPv6 range"#,
        ),
        (
            "prefix_length",
            Row("10.0.0.0/24", Some("10.0.0.5/24"), None, &[]),
            r#"range_start "10.0.0.5/24" has a prefix length where a bare address belongs; write 10.0.0.5"#,
        ),
        (
            "not_an_address",
            Row("10.0.0.0/24", Some("10.0.0"), None, &[]),
            r#"range_start "10.0.0" is not an IP address; write one such as 10.0.0.5 or 2001:db8::5"#,
        ),
        (
            "contradiction",
            Row(
                "10.0.0.5-10.0.0.9/24",
                Some("10.0.0.6"),
                Some("10.0.0.8"),
                &[],
            ),
            r#"range_start "10.0.0.6" contradicts range "10.0.0.5-10.0.0.9/24", which names start and end itself; leave range_start out"#,
        ),
        (
            "contradiction",
            Row("10.0.0.5-10.0.0.9/24", None, Some("10.0.0.8"), &[]),
            r#"range_end "10.0.0.8" contradicts range "10.0.0.5-10.0.0.9/24", which names start and end itself; leave range_end out"#,
        ),
        (
            "prefix_length",
            range("0.0.0.0/0"),
            r#"range "0.0.0.0/0" has the prefix length "0"; IPv4 takes the numbers 1 to 32 without leading zeros"#,
        ),
        (
            "prefix_length",
            range("::/0"),
            r#"range "::/0" has the prefix length "0"; IPv6 takes the numbers 1 to 128 without leading zeros"#,
        ),
        (
            "ipv4_mapped",
            range("::ffff:10.0.0.0/120"),
            r#"range "::ffff:10.0.0.0/120" is an IPv4-mapped IPv6 range; write 10.0.0.0/24"#,
        ),
        (
            "ipv4_mapped",
            range("::ffff:10.1.2.3/104"),
            r#"range "::ffff:10.1.2.3/104" is an IPv4-mapped IPv6 range; write 10.0.0.0/8"#,
        ),
    ]);
}

#[test]
fn what_nobody_takes() {
    check(&[
        (
            "outside_range",
            range("192.168.1.5-192.168.2.25/28"),
            r#"range "192.168.1.5-192.168.2.25/28" begins at 192.168.1.5, which is outside 192.168.2.16/28; the usable addresses are 192.168.2.17 to 192.168.2.30"#,
        ),
        (
            "other_family",
            range("fd00::5-10.0.0.9/24"),
            r#"range "fd00::5-10.0.0.9/24" begins at fd00::5, which is IPv6, but range 10.0.0.0/24 is IPv4; it belongs with an IPv6 range"#,
        ),
        (
            "not_a_cidr",
            range(""),
            r#"range "" is not a CIDR; write one such as 10.0.0.0/24, or 10.0.0.5-10.0.0.9/24"#,
        ),
        (
            "not_a_cidr",
            range("ten"),
            r#"range "ten" is not a CIDR; write one such as 10.0.0.0/24, or 10.0.0.5-10.0.0.9/24"#,
        ),
        (
            "not_a_cidr",
            range("10.0.0.5-"),
            r#"range "10.0.0.5-" is not a CIDR; write one such as 10.0.0.0/24, or 10.0.0.5-10.0.0.9/24"#,
        ),
        (
            "not_an_address",
            range("10.0.0/24"),
            r#"range "10.0.0/24" is not readable: "10.0.0" is not an IP address; write one such as 10.0.0.5 or 2001:db8::5"#,
        ),
        (
            "no_prefix_length",
            range("10.0.0.5"),
            r#"range "10.0.0.5" has no prefix length; write it behind the address, such as 10.0.0.5/24"#,
        ),
        (
            "no_prefix_length",
            range("fd00::"),
            r#"range "fd00::" has no prefix length; write it behind the address, such as fd00::/64"#,
        ),
        (
            "no_prefix_length",
            range("10.0.0.5-10.0.0.9"),
            r#"range "10.0.0.5-10.0.0.9" has no prefix length; write it behind the address, such as 10.0.0.9/24"#,
        ),
        (
            "prefix_length",
            range("10.0.0.5/24-10.0.0.9/24"),
            r#"range "10.0.0.5/24-10.0.0.9/24" is not readable: "10.0.0.5/24" has a prefix length where a bare address belongs; write 10.0.0.5"#,
        ),
        (
            "white_space",
            range("10.0.0.5 - 10.0.0.9/24"),
            r#"range "10.0.0.5 - 10.0.0.9/24" is not readable: "10.0.0.5 " has white space around the address; write 10.0.0.5"#,
        ),
        (
            "empty",
            range("-10.0.0.9/24"),
            r#"range "-10.0.0.9/24" is not readable: "" is empty; write an IP address such as 10.0.0.5 or 2001:db8::5"#,
        ),
        (
            "prefix_length",
            range("10.0.0.0/33"),
            r#"range "10.0.0.0/33" has the prefix length "33"; IPv4 takes the numbers 1 to 32 without leading zeros"#,
        ),
        (
            "prefix_length",
            range("fd00::/129"),
            r#"range "fd00::/129" has the prefix length "129"; IPv6 takes the numbers 1 to 128 without leading zeros"#,
        ),
        (
            "prefix_length",
            range("10.0.0.0/024"),
            r#"range "10.0.0.0/024" has the prefix length "024"; IPv4 takes the numbers 1 to 32 without leading zeros"#,
        ),
        (
            "prefix_length",
            range("10.0.0.0/+24"),
            r#"range "10.0.0.0/+24" has the prefix length "+24"; IPv4 takes the numbers 1 to 32 without leading zeros"#,
        ),
        (
            "prefix_length",
            range("10.0.0.0/255.255.255.0"),
            r#"range "10.0.0.0/255.255.255.0" has the prefix length "255.255.255.0"; IPv4 takes the numbers 1 to 32 without leading zeros"#,
        ),
        (
            "prefix_length",
            range("10.0.0.0/"),
            r#"range "10.0.0.0/" has the prefix length ""; IPv4 takes the numbers 1 to 32 without leading zeros"#,
        ),
        (
            "zone_id",
            range("fe80::%eth0/64"),
            r#"range "fe80::%eth0/64" is not readable: "fe80::%eth0" has a zone id, which means nothing on another node; write fe80::"#,
        ),
        (
            "zone_id",
            Row("fe80::/64", Some("fe80::5%2"), None, &[]),
            r#"range_start "fe80::5%2" has a zone id, which means nothing on another node; write fe80::5"#,
        ),
        (
            "ipv4_mapped",
            Row("10.0.0.0/24", Some("::ffff:10.0.0.5"), None, &[]),
            r#"range_start "::ffff:10.0.0.5" is an IPv4-mapped IPv6 address; write 10.0.0.5"#,
        ),
        (
            "ipv4_mapped",
            range("::ffff:10.0.0.0/64"),
            r#"range "::ffff:10.0.0.0/64" is an IPv4-mapped IPv6 address; write 10.0.0.0"#,
        ),
        (
            "empty",
            Row("10.0.0.0/24", None, Some(""), &[]),
            r#"range_end "" is empty; write an IP address such as 10.0.0.5 or 2001:db8::5"#,
        ),
        (
            "broadcast_address",
            Row("10.0.0.0/24", Some("10.0.0.255"), None, &[]),
            r#"range_start "10.0.0.255" is the broadcast address of 10.0.0.0/24; the last usable address is 10.0.0.254"#,
        ),
        (
            "network_address",
            Row("10.0.0.0/24", None, Some("10.0.0.0"), &[]),
            r#"range_end "10.0.0.0" is the network address of 10.0.0.0/24; the first usable address is 10.0.0.1"#,
        ),
        (
            "outside_range",
            Row("10.0.0.0/32", Some("10.0.0.1"), None, &[]),
            r#"range_start "10.0.0.1" is outside 10.0.0.0/32; the one usable address is 10.0.0.0"#,
        ),
    ]);
}

#[test]
fn exclusions_that_do_not_read() {
    check(&[
        (
            "prefix_length",
            Row("192.168.0.0/29", None, None, &["192.168.0.1/123"]),
            r#"exclude[0] "192.168.0.1/123" has the prefix length "123"; IPv4 takes the numbers 0 to 32 without leading zeros"#,
        ),
        (
            "not_an_address",
            Row("100::2:1/125", None, None, &["100::2::1"]),
            r#"exclude[0] "100::2::1" is not an IP address; write one such as 10.0.0.5 or 2001:db8::5"#,
        ),
        (
            "empty",
            Row("10.0.0.0/24", None, None, &["10.0.0.1", "10.0.0.2", ""]),
            r#"exclude[2] "" is empty; write an IP address such as 10.0.0.5 or 2001:db8::5"#,
        ),
        (
            "inverted",
            Row("10.0.0.0/24", None, None, &["10.0.0.9-10.0.0.5"]),
            r#"exclude[0] "10.0.0.9-10.0.0.5" ends before it begins; write 10.0.0.5-10.0.0.9"#,
        ),
        (
            "other_family",
            Row("10.0.0.0/24", None, None, &["10.0.0.9-fd00::5"]),
            r#"exclude[0] "10.0.0.9-fd00::5" is IPv4 at one end and IPv6 at the other; write one family"#,
        ),
        (
            "prefix_length",
            Row("10.0.0.0/24", None, None, &["10.0.0.5-10.0.0.9/24"]),
            r#"exclude[0] "10.0.0.5-10.0.0.9/24" is not readable: "10.0.0.9/24" has a prefix length where a bare address belongs; write 10.0.0.9"#,
        ),
        (
            "leading_zero",
            Row("10.0.0.0/24", None, None, &["10.0.0.005"]),
            r#"exclude[0] "10.0.0.005" has a leading zero, which some programs read as octal; write 10.0.0.5 if decimal is meant"#,
        ),
        (
            "ipv4_mapped",
            Row("10.0.0.0/24", None, None, &["::ffff:10.0.0.5"]),
            r#"exclude[0] "::ffff:10.0.0.5" is an IPv4-mapped IPv6 address; write 10.0.0.5"#,
        ),
        (
            "ipv4_mapped",
            Row("10.0.0.0/24", None, None, &["::ffff:10.0.0.4/126"]),
            r#"exclude[0] "::ffff:10.0.0.4/126" is an IPv4-mapped IPv6 range; write 10.0.0.4/30"#,
        ),
        (
            "zone_id",
            Row("fe80::/64", None, None, &["fe80::1%eth0"]),
            r#"exclude[0] "fe80::1%eth0" has a zone id, which means nothing on another node; write fe80::1"#,
        ),
    ]);
}

#[test]
fn exclusions_that_leave_nothing() {
    check(&[
        (
            "nothing_left",
            Row("10.0.0.0/24", None, None, &["10.0.0.0/25", "10.0.0.128/25"]),
            r#"exclude "10.0.0.0/25, 10.0.0.128/25" leaves no address of 10.0.0.1 to 10.0.0.254; exclude less or widen the range"#,
        ),
        (
            "nothing_left",
            Row(
                "10.0.0.0/24",
                Some("10.0.0.5"),
                Some("10.0.0.5"),
                &["10.0.0.5"],
            ),
            r#"exclude "10.0.0.5" leaves no address of 10.0.0.5 to 10.0.0.5; exclude less or widen the range"#,
        ),
        (
            "nothing_left",
            Row("fd00::/64", None, None, &["::/0"]),
            r#"exclude "::/0" leaves no address of fd00::1 to fd00::ffff:ffff:ffff:fffe; exclude less or widen the range"#,
        ),
    ]);
}
