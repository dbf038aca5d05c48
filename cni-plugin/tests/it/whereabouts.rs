//! `type: whereabouts`: what whereabouts accepts is served, and what it ignores is left out of
//! the request with a warning.

use serde_json::{Value, json};

use crate::api::{Api, allocated, kind_api, nobody};
use crate::plugin::{Plugin, whereabouts, with, with_ipam};

/// The ranges that the API is asked for, and the warnings.
fn ranges(keys: Value) -> (Value, String) {
    let definition = with_ipam(whereabouts(), json!({ "range": null, "cluster": "prod" }));
    let definition = with_ipam(definition, keys);
    let api = Api::start(|_, request| {
        let count = request.body["ranges"].as_array().unwrap().len();
        allocated(&vec!["10.10.3.30/24"; count])
    });
    let answer = Plugin::new("ADD", &api.url()).definition(&definition).run();
    assert_eq!(answer.status, 0, "{definition}: {answer:?}");
    (
        api.bodies("/v1/allocate")[0]["ranges"].clone(),
        answer.stderr,
    )
}

/// The one range that these keys become.
fn range(keys: Value) -> Value {
    ranges(keys).0[0].clone()
}

#[test]
fn the_definition_of_the_first_report_is_served_unchanged() {
    let definition = json!({
        "cniVersion": "0.3.0", "name": "super-net", "type": "macvlan", "master": "eth1",
        "mode": "bridge",
        "ipam": { "range": "10.10.3.0/24", "range_end": "10.10.3.30",
                  "range_start": "10.10.3.30", "type": "whereabouts" },
    });
    let api = kind_api();
    let plugin = Plugin::new("ADD", &api.url()).variable("IPLEDGER_CLUSTER", "prod");
    let answer = plugin.definition(&definition).run();
    assert_eq!(answer.stderr, "");
    let result = json!({ "cniVersion": "0.3.0", "dns": {},
                         "ips": [{ "version": "4", "address": "10.10.3.30/24" }] });
    assert_eq!(answer.json(), result);
    let asked = json!([{ "range": "10.10.3.0/24", "range_start": "10.10.3.30",
                         "range_end": "10.10.3.30" }]);
    assert_eq!(api.bodies("/v1/allocate")[0]["ranges"], asked);
}

#[test]
fn ranges_are_made_canonical() {
    for (written, network) in [
        ("10.0.0.77/24", "10.0.0.0/24"),
        ("192.168.2.225/28", "192.168.2.224/28"),
        ("010.000.000.000/024", "10.0.0.0/24"),
        ("2001:DB8:0:0::/64", "2001:db8::/64"),
        ("::ffff:10.0.0.0/120", "10.0.0.0/24"),
        ("::1/126", "::/126"),
    ] {
        assert_eq!(
            range(json!({ "range": written })),
            json!({ "range": network })
        );
    }
}

#[test]
fn first_last_length_becomes_a_network_with_ends() {
    let dash = |first: &str, last: &str, net: &str| json!({ "range": net, "range_start": first, "range_end": last });
    let start_only = |first: &str, net: &str| json!({ "range": net, "range_start": first });
    for (written, expected) in [
        (
            "192.168.1.11-192.168.1.23/24",
            dash("192.168.1.11", "192.168.1.23", "192.168.1.0/24"),
        ),
        (
            "192.168.001.011-192.168.1.23/24",
            dash("192.168.1.11", "192.168.1.23", "192.168.1.0/24"),
        ),
        // The last address lies before the first: ignored, up to the end of the network.
        (
            "10.0.0.9-10.0.0.5/24",
            start_only("10.0.0.9", "10.0.0.0/24"),
        ),
        (
            "fd00:0:0:10:0:0:3:1-fd00:0:0:10:0:0:3:6/64",
            dash("fd00::10:0:0:3:1", "fd00::10:0:0:3:6", "fd00:0:0:10::/64"),
        ),
        // The network's own address is never given, so as a first address it is ignored.
        (
            "2001:db8:5422:0005::-2001:db8:5422:0005:7fff:ffff:ffff:ffff/64",
            json!({ "range": "2001:db8:5422:5::/64",
                    "range_end": "2001:db8:5422:5:7fff:ffff:ffff:ffff" }),
        ),
    ] {
        assert_eq!(range(json!({ "range": written })), expected, "{written}");
    }
    let overridden = json!({ "range": "10.0.0.5-10.0.0.9/24", "range_start": "10.0.0.7" });
    assert_eq!(
        range(overridden),
        dash("10.0.0.5", "10.0.0.9", "10.0.0.0/24")
    );
}

#[test]
fn ends_that_whereabouts_ignores_are_left_out_with_a_warning() {
    for (keys, warning) in [
        (
            json!({ "range_start": "x" }),
            "range_start: \"x\" is not an IP address; ignored",
        ),
        (
            json!({ "range_end": "10.0.0.5/24" }),
            "range_end: \"10.0.0.5/24\" is not an IP address; ignored",
        ),
        (
            json!({ "range_start": "10.0.0.0" }),
            "range_start: \"10.0.0.0\" says 10.0.0.0, which is not between 10.0.0.1 and \
             10.0.0.6; ignored",
        ),
        (
            json!({ "range_end": "10.0.0.8" }),
            "range_end: \"10.0.0.8\" says 10.0.0.8, which is not between 10.0.0.1 and 10.0.0.6; \
             ignored",
        ),
        (
            json!({ "range_start": "2001:db8::1" }),
            "range_start: \"2001:db8::1\" says 2001:db8::1, which is not between 10.0.0.1 and \
             10.0.0.6; ignored",
        ),
    ] {
        let keys = with(json!({ "range": "10.0.0.0/29" }), keys);
        let (ranges, stderr) = ranges(keys);
        assert_eq!(ranges, json!([{ "range": "10.0.0.0/29" }]));
        assert_eq!(
            stderr,
            format!("ipledger ADD c0ffee net1: warning: {warning}\n")
        );
    }
    let inverted = json!({ "range": "10.0.0.0/29", "range_start": "10.0.0.4",
                           "range_end": "10.0.0.2" });
    let (ranges, stderr) = ranges(inverted);
    assert_eq!(
        ranges,
        json!([{ "range": "10.0.0.0/29", "range_start": "10.0.0.4" }])
    );
    assert!(
        stderr.contains("range_end: \"10.0.0.2\" says 10.0.0.2, which is not between 10.0.0.4")
    );
}

#[test]
fn ends_in_ip_ranges_are_read_strictly() {
    let zeros = json!({ "range": "10.0.0.0/24", "range_start": "010.000.000.005" });
    let expected = json!({ "range": "10.0.0.0/24", "range_start": "10.0.0.5" });
    assert_eq!(range(zeros.clone()), expected);
    let definition = with_ipam(
        whereabouts(),
        json!({ "cluster": "c", "ipRanges": [zeros] }),
    );
    let failure = Plugin::new("ADD", &nobody())
        .definition(&definition)
        .run()
        .failure();
    let message = "ipRanges[0].range_start: \"010.000.000.005\" is not an IP address";
    assert_eq!(failure, (7, message.to_owned()));
}

#[test]
fn excluded_parts_are_cut_to_the_network() {
    let keys = json!({ "range": "10.0.0.0/28", "exclude":
        ["10.0.0.5/30", "10.0.0.1", "10.0.0.0/8", "10.1.0.0/16", "2001:db8::/64"] });
    let (ranges, stderr) = ranges(keys);
    let exclude = json!(["10.0.0.4/30", "10.0.0.1", "10.0.0.0/28"]);
    assert_eq!(
        ranges,
        json!([{ "range": "10.0.0.0/28", "exclude": exclude }])
    );
    assert!(stderr.contains("exclude[3]: \"10.1.0.0/16\" lies outside 10.0.0.0/28; ignored"));
    assert!(stderr.contains("exclude[4]: \"2001:db8::/64\" lies outside 10.0.0.0/28; ignored"));
    for bad in [
        "192.168.0.1/123",
        "100::2::1",
        "010.0.0.1",
        "10.0.0.1-10.0.0.2",
    ] {
        let keys = json!({ "cluster": "c", "exclude": [bad] });
        let plugin = Plugin::new("ADD", &nobody()).definition(&with_ipam(whereabouts(), keys));
        let message = format!("exclude[0]: \"{bad}\" is neither an IP address nor a CIDR");
        assert_eq!(plugin.run().failure(), (7, message));
    }
}

#[test]
fn parts_without_a_range_are_dropped_with_a_warning() {
    let keys = json!({ "exclude": ["10.0.0.1"], "range_start": "10.0.0.5",
                       "ipRanges": [{ "range": "10.0.0.0/24" }] });
    let (ranges, stderr) = ranges(keys);
    assert_eq!(ranges, json!([{ "range": "10.0.0.0/24" }]));
    let warning = "exclude: [\"10.0.0.1\"] belongs to \"range\", which is missing; ignored";
    assert!(stderr.contains(warning), "{stderr}");
}

#[test]
fn the_top_range_comes_first_and_families_mix() {
    let keys = json!({ "range": "10.0.0.0/24", "ipRanges": [
        { "range": "2001:db8::/64", "exclude": ["2001:db8::/80"] }, { "range": "10.1.0.0/24" }] });
    let expected = json!([
        { "range": "10.0.0.0/24" },
        { "range": "2001:db8::/64", "exclude": ["2001:db8::/80"] },
        { "range": "10.1.0.0/24" },
    ]);
    assert_eq!(ranges(keys).0, expected);
}

#[test]
fn a_gateway_is_kept_out_of_new_hands_where_it_could_be_given() {
    for (keys, exclude) in [
        (
            json!({ "range": "10.0.0.0/24", "gateway": "010.0.0.1" }),
            json!(["10.0.0.1"]),
        ),
        (
            json!({ "range": "10.0.0.0/24", "gateway": "192.168.10.1" }),
            json!(null),
        ),
        (
            json!({ "range": "10.0.0.0/24", "gateway": "2001:db8::1" }),
            json!(null),
        ),
        (
            json!({ "range": "10.0.0.0/24", "range_start": "10.0.0.10", "gateway": "10.0.0.1" }),
            json!(null),
        ),
        (
            json!({ "range": "10.0.0.0/24", "exclude": ["10.0.0.0/28"], "gateway": "10.0.0.1" }),
            json!(["10.0.0.0/28"]),
        ),
    ] {
        assert_eq!(range(keys.clone())["exclude"], exclude, "{keys}");
    }
}

#[test]
fn keys_are_found_in_any_case_and_null_is_absent() {
    let keys = json!({ "RANGE": "10.0.0.0/24", "Range_Start": "10.0.0.9", "range_end": null,
                       "EXCLUDE": ["10.0.0.10"] });
    let expected = json!({ "range": "10.0.0.0/24", "range_start": "10.0.0.9",
                           "exclude": ["10.0.0.10"] });
    assert_eq!(range(keys), expected);
    let (_, stderr) = ranges(json!({ "range": "10.0.0.0/24", "Gateway": "x" }));
    assert!(
        stderr.contains("Gateway: \"x\" is not an IP address; ignored"),
        "{stderr}"
    );
}

#[test]
fn keys_without_effect_and_slips_are_accepted() {
    let keys = json!({ "range": "10.0.0.0/24", "etcd_host": "x", "datastore": "kubernetes",
        "kubernetes": { "kubeconfig": "/x" }, "log_file": "/tmp/x", "log_level": "debug",
        "sleep_for_race": 2, "node_slice_size": "/26", "leader_lease_duration": 1500,
        "reconciler_cron_expression": "30 4 * * *", "rangeStart": "10.0.0.5" });
    assert_eq!(range(keys), json!({ "range": "10.0.0.0/24" }));
}

#[test]
fn without_ranges_only_the_static_addresses_are_given() {
    let definition = with_ipam(whereabouts(), json!({ "range": null, "cluster": "c" }));
    let answer = Plugin::new("ADD", &nobody()).definition(&definition).run();
    assert_eq!(answer.json(), json!({ "cniVersion": "0.3.0", "dns": {} }));
    let keys = json!({ "addresses": [{ "address": "010.0.0.9/24" }] });
    let answer = Plugin::new("ADD", &nobody())
        .definition(&with_ipam(definition.clone(), keys))
        .run();
    assert_eq!(
        answer.json()["ips"],
        json!([{ "version": "4", "address": "10.0.0.9/24" }])
    );
    let oldest = with(definition, json!({ "cniVersion": "0.2.0" }));
    let failure = Plugin::new("ADD", &nobody())
        .definition(&oldest)
        .run()
        .failure();
    let message = "cannot convert to cniVersion 0.2.0: no valid IP addresses";
    assert_eq!(failure, (7, message.to_owned()));
}

#[test]
fn the_oldest_versions_refuse_two_static_addresses_but_serve_two_ranges() {
    let two = json!({ "cluster": "c", "addresses":
        [{ "address": "10.0.0.9/24" }, { "address": "10.0.0.8/24" }] });
    let definition = with(
        with_ipam(whereabouts(), two),
        json!({ "cniVersion": "0.2.0" }),
    );
    let failure = Plugin::new("ADD", &nobody())
        .definition(&definition)
        .run()
        .failure();
    let message = "cniVersion: CNI version 0.2.0 does not support more than 1 address per family";
    assert_eq!(failure, (7, message.to_owned()));

    let ranges = json!({ "cluster": "c", "ipRanges": [{ "range": "10.1.0.0/24" }] });
    let definition = with(
        with_ipam(whereabouts(), ranges),
        json!({ "cniVersion": "0.2.0" }),
    );
    let api = Api::start(|_, _| allocated(&["10.10.3.30/24", "10.1.0.1/24"]));
    let answer = Plugin::new("ADD", &api.url()).definition(&definition).run();
    assert_eq!(answer.json()["ip4"]["ip"], "10.10.3.30/24");
    assert!(
        answer
            .stderr
            .contains("only the first of each is in the result")
    );
}

#[test]
fn ranges_that_whereabouts_refuses_are_refused() {
    for (range, why) in [
        ("10.0.0.0", "is not a CIDR"),
        ("10.0.0.0/33", "is not a CIDR"),
        ("x-10.0.0.9/24", "has a first address that is none"),
        (
            "10.0.0.5/24-10.0.0.9/24",
            "has a first address that is none",
        ),
        (" 10.0.0.5-10.0.0.9/24", "has a first address that is none"),
        (
            "10.0.0.5-10.0.0.9",
            "has a last address without its /length",
        ),
        (
            "10.0.1.5-10.0.0.9/24",
            "has a first address outside its network",
        ),
        (
            "2001:db8::1-10.0.0.9/24",
            "has a first address outside its network",
        ),
    ] {
        let definition = with_ipam(whereabouts(), json!({ "cluster": "c", "range": range }));
        let failure = Plugin::new("ADD", &nobody())
            .definition(&definition)
            .run()
            .failure();
        assert_eq!(failure, (7, format!("range: \"{range}\" {why}")));
    }
    let empty = with_ipam(
        whereabouts(),
        json!({ "cluster": "c", "ipRanges": [{ "range": "" }] }),
    );
    let failure = Plugin::new("ADD", &nobody())
        .definition(&empty)
        .run()
        .failure();
    assert_eq!(
        failure,
        (7, "ipRanges[0].range: \"\" is not a CIDR".to_owned())
    );
}

#[test]
fn of_two_spellings_the_last_counts_and_slips_are_told() {
    let api = kind_api();
    let text = r#"{ "cniVersion": "0.3.0", "name": "super-net", "type": "macvlan", "ipam": {
        "type": "whereabouts", "cluster": "prod", "range": "10.0.0.0/24",
        "RANGE": "10.9.0.0/24", "rangeStart": "10.9.0.5" } }"#;
    let answer = Plugin::new("ADD", &api.url()).stdin(text).run();
    let asked = json!([{ "range": "10.9.0.0/24" }]);
    assert_eq!(api.bodies("/v1/allocate")[0]["ranges"], asked);
    let lines: Vec<_> = answer.stderr.lines().collect();
    assert_eq!(
        lines,
        [
            "ipledger ADD c0ffee net1: warning: ipam.RANGE: \"10.9.0.0/24\" is a second value of \
             one key, which stands before as \"range\"; the last one counts",
            "ipledger ADD c0ffee net1: warning: rangeStart: \"10.9.0.5\" is the value of an unknown \
             key; did you mean \"range_start\"? It is ignored",
        ]
    );
}
