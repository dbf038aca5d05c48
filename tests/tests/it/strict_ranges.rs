//! What a strict definition may say about ranges, through plugin, API and PostgreSQL: prefix
//! lengths to their ends, spellings, spaces, and several ranges at once.

use anyhow::Result;
use serde_json::json;

use super::faults::{Row, check};

#[test]
fn every_size_of_network_is_used_as_its_family_has_it() -> Result<()> {
    let one = |range: &str| json!({"ipam": {"range": range}, "steps": ["ADD a"]});
    let three =
        |range: &str| json!({"ipam": {"range": range}, "steps": ["ADD a", "ADD b", "ADD c"]});
    check(&[
        Row("/1", one("128.0.0.0/1"), &["128.0.0.1/1"]),
        Row(
            "/30",
            three("10.0.0.0/30"),
            &["10.0.0.1/30", "10.0.0.2/30", "exhausted"],
        ),
        Row(
            "/31",
            three("10.0.0.0/31"),
            &["10.0.0.0/31", "10.0.0.1/31", "exhausted"],
        ),
        Row(
            "/32",
            three("10.0.0.5/32"),
            &["10.0.0.5/32", "exhausted", "exhausted"],
        ),
        Row("/1 of IPv6", one("8000::/1"), &["8000::1/1"]),
        Row(
            "/126",
            three("2001:db8::/126"),
            &["2001:db8::1/126", "2001:db8::2/126", "exhausted"],
        ),
        Row(
            "/127",
            three("2001:db8::/127"),
            &["2001:db8::/127", "2001:db8::1/127", "exhausted"],
        ),
        Row(
            "/128",
            three("2001:db8::5/128"),
            &["2001:db8::5/128", "exhausted", "exhausted"],
        ),
        Row(
            "the far end of a /64",
            json!({"ipam": {"range": "2001:db8::/64",
                            "range_start": "2001:db8::ffff:ffff:ffff:fffd"},
                   "steps": ["ADD a", "ADD b", "ADD c"]}),
            &[
                "2001:db8::ffff:ffff:ffff:fffd/64",
                "2001:db8::ffff:ffff:ffff:fffe/64",
                "exhausted",
            ],
        ),
        Row(
            "excluded: a CIDR, an address, first-last",
            json!({"ipam": {"range": "10.0.0.0/28",
                            "exclude": ["10.0.0.0/30", "10.0.0.4", "10.0.0.6-10.0.0.12"]},
                   "steps": ["ADD a", "ADD b", "ADD c", "ADD d"]}),
            &["10.0.0.5/28", "10.0.0.13/28", "10.0.0.14/28", "exhausted"],
        ),
        Row(
            "the gateway is kept out of the window",
            json!({"ipam": {"range": "10.0.0.1-10.0.0.2/24", "gateway": "10.0.0.1"},
                   "steps": ["ADD a", "ADD b"]}),
            &["10.0.0.2/24", "exhausted"],
        ),
    ])
}

#[test]
fn one_range_has_one_pool_however_it_is_spelled() -> Result<()> {
    let strict = |range: &str| json!({"type": "ipledger", "range": range});
    check(&[
        Row(
            "IPv4",
            json!({"ipam": {"range": "10.0.0.0/24"},
                   "others": [strict("10.0.0.77/24"), strict("10.0.0.1-10.0.0.254/24")],
                   "steps": ["ADD a", "ADD b 1", "ADD c 2"]}),
            &["10.0.0.1/24", "10.0.0.2/24", "10.0.0.3/24"],
        ),
        Row(
            "IPv6",
            json!({"ipam": {"range": "2001:db8::/64"},
                   "others": [strict("2001:DB8:0:0::/64"), strict("2001:0db8:0:0:0:0:0:9/64")],
                   "steps": ["ADD a", "ADD b 1", "ADD c 2"]}),
            &["2001:db8::1/64", "2001:db8::2/64", "2001:db8::3/64"],
        ),
        Row(
            "the two languages",
            json!({"ipam": {"range": "10.0.0.0/24"},
                   "others": [{"type": "whereabouts", "range": "010.000.000.000/24"}],
                   "steps": ["ADD a", "ADD b 1", "ADD c"]}),
            &["10.0.0.1/24", "10.0.0.2/24", "10.0.0.3/24"],
        ),
        Row(
            "overlapping networks in one space",
            json!({"ipam": {"range": "10.0.0.0/24"}, "others": [strict("10.0.0.0/28")],
                   "steps": ["ADD a", "ADD b 1", "ADD c", "DEL b 1", "ADD d"]}),
            &[
                "10.0.0.1/24",
                "10.0.0.2/28",
                "10.0.0.3/24",
                "ok",
                "10.0.0.2/24",
            ],
        ),
        Row(
            "another network name is another space",
            json!({"ipam": {"range": "10.0.0.0/24"},
                   "others": [{"type": "ipledger", "range": "10.0.0.0/24", "network_name": "blue"}],
                   "steps": ["ADD a", "ADD b 1"]}),
            &["10.0.0.1/24", "10.0.0.1/24"],
        ),
    ])
}

#[test]
fn a_private_range_and_a_shared_one_do_not_mix() -> Result<()> {
    let private = |range: &str| {
        json!({"type": "ipledger", "range": range,
                                       "enable_overlapping_ranges": false})
    };
    let shared = |range: &str| json!({"type": "ipledger", "range": range});
    check(&[
        Row(
            "private first: a shared request is refused",
            json!({"ipam": private("10.0.0.0/24"), "others": [shared("10.0.0.0/24")],
                   "steps": ["ADD a", "ADD b 1", "ADD c"]}),
            &["10.0.0.1/24", "conflict", "10.0.0.2/24"],
        ),
        Row(
            "shared first: a private request is served there",
            json!({"ipam": shared("10.0.0.0/24"), "others": [private("10.0.0.0/24")],
                   "steps": ["ADD a", "ADD b 1", "ADD c"]}),
            &["10.0.0.1/24", "10.0.0.2/24", "10.0.0.3/24"],
        ),
        Row(
            "private on both sides of an overlap",
            json!({"ipam": private("10.0.0.0/24"), "others": [private("10.0.0.0/25")],
                   "steps": ["ADD a", "ADD b 1"]}),
            &["10.0.0.1/24", "10.0.0.1/25"],
        ),
    ])
}

#[test]
fn several_ranges_are_served_together_or_not_at_all() -> Result<()> {
    let dual = json!({"range": "10.0.0.0/24", "ipRanges": [{"range": "2001:db8::/127"}]});
    check(&[
        Row(
            "dual stack, and nothing is held when one of the two is full",
            json!({"ipam": dual, "others": [{"type": "ipledger", "range": "10.0.0.0/24"}],
                   "steps": ["ADD a", "ADD b", "ADD c", "ADD d 1"]}),
            &[
                "10.0.0.1/24 2001:db8::/127",
                "10.0.0.2/24 2001:db8::1/127",
                "exhausted",
                "10.0.0.3/24",
            ],
        ),
        Row(
            "two overlapping ranges never give one address twice",
            json!({"ipam": {"range": "10.0.0.0/30", "ipRanges": [{"range": "10.0.0.0/29"}]},
                   "steps": ["ADD a", "ADD b", "ADD c"]}),
            &["10.0.0.1/30 10.0.0.2/29", "exhausted", "exhausted"],
        ),
    ])
}
