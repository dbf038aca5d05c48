//! The flat file: where it is looked for, and how it fills a definition. In process, on a host
//! that is a directory of the test.

use serde_json::{Value, json};

use crate::api::{Api, kind_api};
use crate::plugin::{Plugin, strict, whereabouts, with, with_ipam};

const OURS: &str = "/etc/cni/net.d/ipledger.d/ipledger.conf";
const WHEREABOUTS: [&str; 3] = [
    "/etc/kubernetes/cni/net.d/whereabouts.d/whereabouts.conf",
    "/etc/cni/net.d/whereabouts.d/whereabouts.conf",
    "/host/etc/cni/net.d/whereabouts.d/whereabouts.conf",
];

/// A definition that leaves cluster and API to the flat file.
fn bare() -> Value {
    with_ipam(strict(), json!({ "cluster": null }))
}

fn node(definition: &Value) -> Plugin {
    let plugin = Plugin::new("ADD", "").without("IPLEDGER_API_URL");
    plugin
        .definition(definition)
        .file("/proc/sys/kernel/random/boot_id", "boot-1")
}

fn flat(api: &Api, cluster: &str) -> String {
    json!({ "cluster": cluster, "api": api.url() }).to_string()
}

fn cluster_asked(api: &Api) -> String {
    let bodies = api.bodies("/v1/allocate");
    bodies.last().unwrap()["attachment"]["cluster"]
        .as_str()
        .unwrap()
        .to_owned()
}

#[test]
fn the_first_file_that_exists_is_taken_alone() {
    let api = kind_api();
    let mut paths = vec!["/custom.conf", OURS];
    paths.extend(WHEREABOUTS);
    let definition = with_ipam(bare(), json!({ "configuration_path": "/custom.conf" }));
    for first in 0..paths.len() {
        let definition = if first == 0 { &definition } else { &bare() };
        let mut plugin = node(definition);
        for (index, path) in paths.iter().enumerate().skip(first) {
            plugin = plugin.file(path, &flat(&api, &format!("cluster-{index}")));
        }
        assert_eq!(plugin.run_inside().status, 0);
        assert_eq!(cluster_asked(&api), format!("cluster-{first}"));
    }
}

#[test]
fn none_is_needed_when_the_cluster_is_known() {
    let api = kind_api();
    let plugin = node(&strict()).variable("IPLEDGER_API_URL", api.url());
    assert_eq!(plugin.run_inside().status, 0);
}

#[test]
fn the_definition_wins_key_by_key_and_zero_values_count_as_absent() {
    let api = kind_api();
    let file = json!({
        "api": api.url(), "cluster": "from-file", "range": "10.99.0.0/16", "network_name": "file",
        "exclude": ["10.10.3.0/28"], "gateway": "10.10.3.1", "cooldown": 7,
        "dns": { "nameservers": ["10.0.0.2"], "domain": "file.example" },
        "routes": [{ "dst": "172.16.0.0/12" }],
    });
    let definition = with_ipam(
        bare(),
        json!({ "range": "10.10.3.0/24", "network_name": "", "gateway": null, "cooldown": 0,
                "exclude": [], "dns": { "domain": "mine.example" } }),
    );
    let answer = node(&definition).file(OURS, &file.to_string()).run_inside();
    assert_eq!(answer.status, 0, "{answer:?}");
    let body = &api.bodies("/v1/allocate")[0];
    assert_eq!(body["network_name"], "file");
    assert_eq!(body["cooldown_seconds"], 7);
    let range = json!([{ "range": "10.10.3.0/24", "exclude": ["10.10.3.0/28"] }]);
    assert_eq!(body["ranges"], range, "the gateway is excluded already");
    let result = answer.json();
    assert_eq!(result["ips"][0]["gateway"], "10.10.3.1");
    let dns = json!({ "nameservers": ["10.0.0.2"], "domain": "mine.example" });
    assert_eq!(result["dns"], dns);
    assert_eq!(result["routes"][0]["dst"], "172.16.0.0/12");
}

#[test]
fn overlapping_ranges_are_the_definitions_business_alone() {
    let api = kind_api();
    let file = json!({ "api": api.url(), "cluster": "c", "enable_overlapping_ranges": false });
    let answer = node(&bare()).file(OURS, &file.to_string()).run_inside();
    assert!(
        answer
            .stderr
            .contains("counts only in the definition itself; ignored")
    );
    let own = with_ipam(bare(), json!({ "enable_overlapping_ranges": false }));
    node(&own).file(OURS, &file.to_string()).run_inside();
    let flags: Vec<_> = api
        .bodies("/v1/allocate")
        .iter()
        .map(|body| body["enable_overlapping_ranges"].clone())
        .collect();
    assert_eq!(flags, [json!(true), json!(false)]);
}

#[test]
fn the_environment_wins_over_both() {
    let (api, other) = (kind_api(), kind_api());
    let definition = with_ipam(strict(), json!({ "api": other.url(), "node": "from-key" }));
    let plugin = node(&definition).file(OURS, &flat(&other, "from-file"));
    let plugin = plugin.variable("IPLEDGER_API_URL", api.url());
    let plugin = plugin.variable("IPLEDGER_CLUSTER", "from-env");
    assert_eq!(plugin.run_inside().status, 0);
    assert_eq!(cluster_asked(&api), "from-env");
    assert!(other.requests().is_empty());
    assert_eq!(api.bodies("/v1/allocate")[0]["owner"]["node"], "node-1");
}

#[test]
fn the_uid_of_the_cluster_goes_with_every_call_that_writes() {
    let api = kind_api();
    let file = json!({ "cluster": "prod", "api": api.url(), "cluster_uid": "from-file" });
    let with_uid = with_ipam(strict(), json!({ "cluster_uid": "from-key" }));
    let list = json!({ "cniVersion": "1.1.0", "cni.dev/valid-attachments": [] });
    for (definition, uid) in [(strict(), "from-file"), (with_uid, "from-key")] {
        for (command, path) in [("ADD", "allocate"), ("DEL", "release"), ("GC", "gc")] {
            let definition = with(definition.clone(), list.clone());
            let call = node(&definition).file(OURS, &file.to_string());
            let call = call.variable("CNI_COMMAND", command);
            assert_eq!(call.run_inside().status, 0, "{command}");
            let bodies = api.bodies(&format!("/v1/{path}"));
            assert_eq!(bodies.last().unwrap()["cluster_uid"], uid, "{command}");
        }
    }
    let call = node(&strict()).file(OURS, &file.to_string());
    let call = call.variable("IPLEDGER_CLUSTER_UID", "from-env");
    assert_eq!(call.run_inside().status, 0);
    assert_eq!(
        api.bodies("/v1/allocate").last().unwrap()["cluster_uid"],
        "from-env"
    );
}

#[test]
fn the_node_is_named_by_the_first_that_says_something() {
    let sources: [(&str, &str); 5] = [
        ("/dir/nodename", "from-configuration-path"),
        ("/etc/cni/net.d/ipledger.d/nodename", "from-beside-the-file"),
        ("/etc/cni/net.d/whereabouts.d/nodename", "from-whereabouts"),
        ("/etc/hostname", "from-hostname"),
        ("", ""),
    ];
    let api = kind_api();
    for first in 0..sources.len() {
        let file = json!({ "api": api.url(), "cluster": "c", "configuration_path": "/dir" });
        let mut plugin = node(&bare())
            .without("NODENAME")
            .file(OURS, &file.to_string());
        for (path, name) in sources
            .iter()
            .skip(first)
            .filter(|(path, _)| !path.is_empty())
        {
            plugin = plugin.file(path, &format!(" {name}\n"));
        }
        assert_eq!(plugin.run_inside().status, 0);
        let node = api.bodies("/v1/allocate").last().unwrap()["owner"]["node"].clone();
        let expected = sources[first].1;
        let expected = if expected.is_empty() {
            json!(null)
        } else {
            json!(expected)
        };
        assert_eq!(node, expected);
    }
}

#[test]
fn a_file_that_is_wrong_is_named_with_the_key() {
    let api = kind_api();
    let good = json!({ "api": api.url(), "cluster": "c" });
    for (text, message) in [
        (
            "".to_owned(),
            format!("{OURS}: is empty, not a JSON object"),
        ),
        ("[]".to_owned(), format!("{OURS}: [] is no JSON object")),
        (
            "{".to_owned(),
            format!("{OURS}: is not JSON: EOF while parsing an object at line 1 column 1"),
        ),
        (
            "{\"cluster\":5}".to_owned(),
            format!("cluster (in {OURS}): 5 is a number, not a string"),
        ),
        (
            with_ipam(json!({ "ipam": good }), json!({ "gateway": "x" }))["ipam"].to_string(),
            format!("gateway (in {OURS}): \"x\" is not an IP address"),
        ),
        (
            with_ipam(json!({ "ipam": good }), json!({ "clutser": "x" }))["ipam"].to_string(),
            format!(
                "clutser (in {OURS}): \"x\" is the value of an unknown key; did you mean \"cluster\"?"
            ),
        ),
        (
            with_ipam(
                json!({ "ipam": good }),
                json!({ "ipRanges": [{ "range": 5 }] }),
            )["ipam"]
                .to_string(),
            format!("ipRanges[0].range (in {OURS}): 5 is a number, not a string"),
        ),
    ] {
        let answer = node(&bare()).file(OURS, &text).run_inside();
        assert_eq!(answer.failure().1, message);
    }
    let directory = with_ipam(strict(), json!({ "configuration_path": "/etc/cni" }));
    let plugin = node(&directory).file("/etc/cni/x", "");
    let failure = plugin.run_inside().failure();
    assert_eq!(
        failure,
        (7, "/etc/cni: cannot be read: Is a directory".to_owned())
    );
}

#[test]
fn a_configuration_path_that_is_not_there_falls_through_only_for_whereabouts() {
    let api = kind_api();
    let path = json!({ "configuration_path": "/nowhere.conf" });
    let plugin = node(&with_ipam(bare(), path.clone())).file(OURS, &flat(&api, "c"));
    let message = "configuration_path: \"/nowhere.conf\" does not exist";
    assert_eq!(plugin.run_inside().failure(), (7, message.to_owned()));
    let plugin = node(&with_ipam(whereabouts(), path)).file(OURS, &flat(&api, "c"));
    assert_eq!(plugin.run_inside().status, 0);
}

#[test]
fn a_wiped_or_broken_file_does_not_stop_a_del() {
    let api = kind_api();
    for text in ["garbage", "{\"gateway\":5}"] {
        let plugin = node(&bare())
            .variable("CNI_COMMAND", "DEL")
            .file(OURS, text);
        let plugin = plugin.variable("IPLEDGER_CLUSTER", "c");
        let plugin = plugin.variable("IPLEDGER_API_URL", api.url());
        plugin.run_inside().assert_silent_success();
    }
}

#[test]
fn a_host_that_hides_its_boot_id_is_served_without_an_order() {
    let api = kind_api();
    let plugin = Plugin::new("ADD", &api.url());
    let answer = plugin.run_inside();
    assert_eq!(answer.status, 0);
    assert!(
        answer.stderr.contains("the boot id cannot be read"),
        "{}",
        answer.stderr
    );
    assert_eq!(api.bodies("/v1/allocate")[0]["token"], json!(null));
}
