//! The `ipam` object.

use serde_json::json;

use super::{ipam, table};

#[test]
fn the_definition() {
    table(vec![
        (
            ipam(json!({ "range": 5 })),
            7,
            "range: 5 is a number, not a string",
        ),
        (
            ipam(json!({ "range_start": ["x"] })),
            7,
            "range_start: [\"x\"] is a list, not a string",
        ),
        (
            ipam(json!({ "exclude": "10.10.3.1" })),
            7,
            "exclude: \"10.10.3.1\" is a string, not a list",
        ),
        (
            ipam(json!({ "exclude": [7] })),
            7,
            "exclude[0]: 7 is a number, not a string",
        ),
        (
            ipam(json!({ "exclude": [null] })),
            7,
            "exclude[0]: null is null, not a string",
        ),
        (
            ipam(json!({ "range": null, "range_end": "10.0.0.9" })),
            7,
            "range_end: \"10.0.0.9\" belongs to \"range\", which is missing",
        ),
        (
            ipam(json!({ "range": null, "exclude": ["10.0.0.9"] })),
            7,
            "exclude: [\"10.0.0.9\"] belongs to \"range\", which is missing",
        ),
        (
            ipam(json!({ "ipRanges": {"range": "x"} })),
            7,
            "ipRanges: {\"range\":\"x\"} is an object, not a list",
        ),
        (
            ipam(json!({ "ipRanges": ["x"] })),
            7,
            "ipRanges[0]: \"x\" is a string, not an object",
        ),
        (
            ipam(json!({ "ipRanges": [{}] })),
            7,
            "ipRanges[0].range: is missing",
        ),
        (
            ipam(json!({ "ipRanges": [{ "range": "10.0.0.0/24", "rangeStart": "x" }] })),
            2,
            "ipRanges[0].rangeStart: \"x\" is the value of an unknown key; did you mean \
             \"range_start\"?",
        ),
        (
            ipam(json!({ "ranges": [] })),
            2,
            "ranges: [] is the value of an unknown key; did you mean \"range\"?",
        ),
        (
            ipam(json!({ "exclued": [] })),
            2,
            "exclued: [] is the value of an unknown key; did you mean \"exclude\"?",
        ),
        (
            ipam(json!({ "gateway": "10.10.3.0/24" })),
            7,
            "gateway: \"10.10.3.0/24\" is not an IP address",
        ),
        (
            ipam(json!({ "gateway": "010.10.3.1" })),
            7,
            "gateway: \"010.10.3.1\" is not an IP address",
        ),
        (
            ipam(json!({ "gateway": "2001:db8::1" })),
            7,
            "gateway: \"2001:db8::1\" is of a family that no range has",
        ),
        (
            ipam(json!({ "network_name": 5 })),
            7,
            "network_name: 5 is a number, not a string",
        ),
        (
            ipam(json!({ "enable_overlapping_ranges": "no" })),
            7,
            "enable_overlapping_ranges: \"no\" is a string, not true or false",
        ),
        (
            ipam(json!({ "cooldown": "soon" })),
            7,
            "cooldown: \"soon\" is no duration such as \"60s\" or \"1h30m\"",
        ),
        (
            ipam(json!({ "cooldown": 2_678_401 })),
            7,
            "cooldown: 2678401 is not between 0 and 2678400",
        ),
        (
            ipam(json!({ "status_when_exhausted": "maybe" })),
            7,
            "status_when_exhausted: \"maybe\" is none of \"all\", \"any\" and \"never\"",
        ),
        (
            ipam(json!({ "routes": [{ "gw": "x" }] })),
            7,
            "routes[0].dst: is missing",
        ),
        (
            ipam(json!({ "routes": [{ "dst": "x" }] })),
            7,
            "routes[0].dst: \"x\" is not a CIDR",
        ),
        (
            ipam(json!({ "routes": [{ "dst": "0.0.0.0/0", "gw": "x" }] })),
            7,
            "routes[0].gw: \"x\" is not an IP address",
        ),
        (
            ipam(json!({ "routes": [{ "dst": "0.0.0.0/0", "mtu": "x" }] })),
            7,
            "routes[0].mtu: \"x\" is a string, not a whole number",
        ),
        (
            ipam(json!({ "dns": [1] })),
            7,
            "dns: [1] is a list, not an object",
        ),
        (
            ipam(json!({ "dns": { "search": "a" } })),
            7,
            "dns.search: \"a\" is a string, not a list",
        ),
        (
            ipam(json!({ "addresses": [{ "address": "10.0.0.1" }] })),
            7,
            "addresses[0].address: \"10.0.0.1\" is not an address with its /length",
        ),
        (
            ipam(json!({ "addresses": [{ "gateway": "x" }] })),
            7,
            "addresses[0].address: is missing",
        ),
        (
            ipam(json!({ "addresses": [{ "address": "10.0.0.1/8", "gateway": "x" }] })),
            7,
            "addresses[0].gateway: \"x\" is not an IP address",
        ),
    ]);
}

#[test]
fn a_long_value_is_cut() {
    let message = ipam(json!({ "gateway": "x".repeat(5000) }))
        .run()
        .failure()
        .1;
    assert_eq!(
        message,
        format!("gateway: \"{}... is not an IP address", "x".repeat(199))
    );
}
