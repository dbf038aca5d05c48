//! Checklist A5 and A6: the shape of the result in every version.

use serde_json::{Value, json};

use crate::api::{Api, allocated};
use crate::plugin::{Plugin, strict, with, with_ipam};

fn definition(version: &str) -> Value {
    let routes = json!([
        { "dst": "192.168.0.0/16", "gw": "10.10.3.9", "mtu": 1400, "advmss": 1360, "priority": 5,
          "table": 100, "scope": 0 },
        { "dst": "2001:DB8:1::/48" },
    ]);
    let dns = json!({ "nameservers": ["10.10.3.2"], "domain": "example.org", "search": ["a", "b"],
                      "options": ["ndots:2"] });
    let keys = json!({
        "ipRanges": [{ "range": "2001:db8::/64" }], "gateway": "10.10.3.1", "routes": routes,
        "dns": dns });
    with(with_ipam(strict(), keys), json!({ "cniVersion": version }))
}

fn result(version: &str) -> String {
    let api = Api::start(|_, _| allocated(&["10.10.3.30/24", "2001:db8::1/64"]));
    let answer = Plugin::new("ADD", &api.url())
        .definition(&definition(version))
        .run();
    assert_eq!(answer.status, 0, "{answer:?}");
    answer.stdout
}

#[test]
fn a5_a6_the_current_versions_sort_their_keys_and_have_no_version_per_address() {
    for version in ["1.0.0", "1.1.0"] {
        let expected = r#"{
    "cniVersion": "VERSION",
    "dns": {
        "domain": "example.org",
        "nameservers": [
            "10.10.3.2"
        ],
        "options": [
            "ndots:2"
        ],
        "search": [
            "a",
            "b"
        ]
    },
    "ips": [
        {
            "address": "10.10.3.30/24",
            "gateway": "10.10.3.1"
        },
        {
            "address": "2001:db8::1/64"
        }
    ],
    "routes": [
        {
            "advmss": 1360,
            "dst": "192.168.0.0/16",
            "gw": "10.10.3.9",
            "mtu": 1400,
            "priority": 5,
            "scope": 0,
            "table": 100
        },
        {
            "dst": "2001:db8:1::/48"
        }
    ]
}"#;
        assert_eq!(result(version), expected.replace("VERSION", version));
    }
}

#[test]
fn a5_a6_the_middle_versions_name_the_family_of_each_address() {
    for version in ["0.3.0", "0.3.1", "0.4.0"] {
        let expected = r#"{
    "cniVersion": "VERSION",
    "ips": [
        {
            "version": "4",
            "address": "10.10.3.30/24",
            "gateway": "10.10.3.1"
        },
        {
            "version": "6",
            "address": "2001:db8::1/64"
        }
    ],
    "routes": [
        {
            "dst": "192.168.0.0/16",
            "gw": "10.10.3.9",
            "mtu": 1400,
            "advmss": 1360,
            "priority": 5,
            "table": 100,
            "scope": 0
        },
        {
            "dst": "2001:db8:1::/48"
        }
    ],
    "dns": {
        "nameservers": [
            "10.10.3.2"
        ],
        "domain": "example.org",
        "search": [
            "a",
            "b"
        ],
        "options": [
            "ndots:2"
        ]
    }
}"#;
        assert_eq!(result(version), expected.replace("VERSION", version));
    }
}

#[test]
fn a6_the_oldest_versions_have_one_address_per_family_with_its_routes() {
    for version in ["0.1.0", "0.2.0"] {
        let expected = r#"{
    "cniVersion": "VERSION",
    "ip4": {
        "ip": "10.10.3.30/24",
        "gateway": "10.10.3.1",
        "routes": [
            {
                "dst": "192.168.0.0/16",
                "gw": "10.10.3.9"
            }
        ]
    },
    "ip6": {
        "ip": "2001:db8::1/64",
        "routes": [
            {
                "dst": "2001:db8:1::/48"
            }
        ]
    },
    "dns": {
        "nameservers": [
            "10.10.3.2"
        ],
        "domain": "example.org",
        "search": [
            "a",
            "b"
        ],
        "options": [
            "ndots:2"
        ]
    }
}"#;
        assert_eq!(result(version), expected.replace("VERSION", version));
    }
}

#[test]
fn a6_an_empty_dns_is_kept_only_where_the_reference_keeps_it() {
    let api = Api::start(|_, _| allocated(&["10.10.3.30/24"]));
    for (version, expected) in [
        (
            "0.2.0",
            json!({ "ip4": { "ip": "10.10.3.30/24" }, "dns": {} }),
        ),
        (
            "0.4.0",
            json!({ "ips": [{ "version": "4", "address": "10.10.3.30/24" }], "dns": {} }),
        ),
        ("1.1.0", json!({ "ips": [{ "address": "10.10.3.30/24" }] })),
    ] {
        let definition = with(strict(), json!({ "cniVersion": version }));
        let answer = Plugin::new("ADD", &api.url()).definition(&definition).run();
        assert_eq!(
            answer.json(),
            with(expected, json!({ "cniVersion": version }))
        );
    }
}

#[test]
fn a6_two_addresses_of_a_family_do_not_fit_the_oldest_versions() {
    let keys = json!({ "ipRanges": [{ "range": "10.20.0.0/16" }] });
    let definition = with(with_ipam(strict(), keys), json!({ "cniVersion": "0.2.0" }));
    let api = Api::start(|_, _| allocated(&["10.10.3.30/24", "10.20.0.1/16"]));
    let failure = Plugin::new("ADD", &api.url())
        .definition(&definition)
        .run()
        .failure();
    let message = "cniVersion: CNI version 0.2.0 does not support more than 1 address per family";
    assert_eq!(failure, (7, message.to_owned()));
    assert!(api.requests().is_empty());
}
