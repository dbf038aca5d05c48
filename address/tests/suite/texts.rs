//! Spellings of single addresses, and addresses as numbers.

use address::{Family, canonical, family, from_number, parse_ip, to_number};
use proptest::prelude::*;

#[test]
fn one_spelling_per_address() {
    for (text, expected) in [
        ("10.0.0.5", "10.0.0.5"),
        ("0.0.0.0", "0.0.0.0"),
        ("2001:0DB8:0000:0000:0000:0000:0000:0005", "2001:db8::5"),
        ("2001:DB8::", "2001:db8::"),
        ("2001:db8:0:1:1:1:1:1", "2001:db8:0:1:1:1:1:1"),
        ("2001:0:0:1:0:0:0:1", "2001:0:0:1::1"),
        ("2001:db8:0:0:1:0:0:1", "2001:db8::1:0:0:1"),
        ("0:0:0:0:0:0:0:0", "::"),
        ("64:ff9b::10.0.0.5", "64:ff9b::a00:5"),
        ("::10.0.0.5", "::a00:5"),
    ] {
        assert_eq!(canonical(parse_ip(text).unwrap()), expected, "{text}");
    }
}

#[test]
fn refused_by_name() {
    for (kind, text, expected) in [
        (
            "empty",
            "",
            r#""" is empty; write an IP address such as 10.0.0.5 or 2001:db8::5"#,
        ),
        (
            "white_space",
            " 10.0.0.5\n",
            r#"" 10.0.0.5\n" has white space around the address; write 10.0.0.5"#,
        ),
        (
            "leading_zero",
            "10.00.0.010",
            r#""10.00.0.010" has a leading zero, which some programs read as octal; write 10.0.0.10 if decimal is meant"#,
        ),
        (
            "leading_zero",
            "64:ff9b::010.0.0.5",
            r#""64:ff9b::010.0.0.5" has a leading zero, which some programs read as octal; write 64:ff9b::a00:5 if decimal is meant"#,
        ),
        (
            "zone_id",
            "fe80::1%eth0",
            r#""fe80::1%eth0" has a zone id, which means nothing on another node; write fe80::1"#,
        ),
        (
            "ipv4_mapped",
            "::FFFF:a00:5",
            r#""::FFFF:a00:5" is an IPv4-mapped IPv6 address; write 10.0.0.5"#,
        ),
        (
            "ipv4_mapped",
            "0:0:0:0:0:ffff:10.0.0.5",
            r#""0:0:0:0:0:ffff:10.0.0.5" is an IPv4-mapped IPv6 address; write 10.0.0.5"#,
        ),
        (
            "prefix_length",
            "10.0.0.5/24",
            r#""10.0.0.5/24" has a prefix length where a bare address belongs; write 10.0.0.5"#,
        ),
        (
            "not_an_address",
            "10.0.0.256",
            r#""10.0.0.256" is not an IP address; write one such as 10.0.0.5 or 2001:db8::5"#,
        ),
    ] {
        let error = parse_ip(text).unwrap_err();
        assert_eq!(error.to_string(), expected);
        assert_eq!((error.kind(), error.value()), (kind, text));
    }
    for text in [
        "10.0.0",
        "10.0.0.0.0",
        "1",
        "0x0a.0.0.1",
        ":::",
        "1::2::3",
        "00001::5",
        "[::1]",
        "１.0.0.1",
    ] {
        assert_eq!(
            parse_ip(text).unwrap_err().kind(),
            "not_an_address",
            "{text}"
        );
    }
}

#[test]
fn a_number_beyond_ipv4_saturates() {
    for n in [1 << 32, (1 << 32) + 5, u128::MAX] {
        assert_eq!(from_number(Family::V4, n).to_string(), "255.255.255.255");
    }
}

proptest! {
    #[test]
    fn text_and_number_go_both_ways(n: u128, v6: bool) {
        let (family_of, n) = if v6 { (Family::V6, n) } else { (Family::V4, n >> 96) };
        let ip = from_number(family_of, n);
        prop_assert_eq!(family(ip), family_of);
        prop_assert_eq!(to_number(ip), n);
        prop_assert_eq!(parse_ip(&canonical(ip)), Ok(ip));
    }
}
