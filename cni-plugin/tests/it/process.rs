//! Checklist section 1: process and input. Also what concerns the runtime's duties (section 9).

use std::os::unix::ffi::OsStringExt;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::api::{Api, Reply, allocated, kind_api, kindly, nobody};
use crate::plugin::{Plugin, strict, with, with_ipam};

#[test]
fn p1_the_result_is_on_stdout_and_messages_are_on_stderr() {
    let api = kind_api();
    let plugin = Plugin::new("ADD", &api.url());
    let definition = with_ipam(
        strict(),
        json!({ "type": "whereabouts", "range_start": "x" }),
    );
    let answer = plugin.definition(&definition).run();
    assert_eq!(answer.status, 0);
    assert_eq!(answer.json()["ips"][0]["address"], "10.10.3.30/24");
    assert_eq!(
        answer.stderr,
        "ipledger ADD c0ffee net1: warning: range_start: \"x\" is not an IP address; ignored\n"
    );
}

#[test]
fn p2_stdin_is_the_whole_configuration_of_the_upper_plugin() {
    let api = kind_api();
    let definition = with(
        strict(),
        json!({ "master": "eth1", "mode": "bridge", "mtu": 1400, "linkInContainer": false }),
    );
    let answer = Plugin::new("ADD", &api.url()).definition(&definition).run();
    assert_eq!(answer.status, 0, "{answer:?}");
    assert_eq!(
        api.bodies("/v1/allocate")[0]["attachment"]["network"],
        "super-net"
    );
}

#[test]
fn p3_container_id_is_validated() {
    let api = kind_api();
    for good in ["a", "0", "A_.-9", &"f".repeat(64)] {
        let answer = Plugin::new("ADD", &api.url())
            .variable("CNI_CONTAINERID", good)
            .run();
        assert_eq!(answer.status, 0, "{good}: {answer:?}");
    }
    for bad in [".a", "_a", "-a", "a/b", "a b", "a\n", "é", "a:b"] {
        for command in ["ADD", "DEL", "CHECK"] {
            let plugin = Plugin::new(command, &api.url()).variable("CNI_CONTAINERID", bad);
            let (code, message) = plugin.run().failure();
            assert_eq!(code, 4);
            let start = format!("CNI_CONTAINERID: {} has invalid characters", json!(bad));
            assert!(message.starts_with(&start), "{message}");
        }
    }
    let plugin = Plugin::new("ADD", &api.url());
    let plugin = plugin.variable(
        "CNI_CONTAINERID",
        std::ffi::OsString::from_vec(vec![b'a', 0xff]),
    );
    assert_eq!(plugin.run().code(), 4);
}

#[test]
fn p4_ifname_is_validated() {
    let api = kind_api();
    for good in ["e", "net1", "abcdefghijklmno", "a.b", "...", "a-b_c"] {
        let answer = Plugin::new("ADD", &api.url())
            .variable("CNI_IFNAME", good)
            .run();
        assert_eq!(answer.status, 0, "{good}: {answer:?}");
    }
    for (bad, why) in [
        (
            "abcdefghijklmnop",
            "is too long for an interface name (at most 15 characters)",
        ),
        (".", "is no interface name"),
        ("..", "is no interface name"),
        ("a/b", "contains \"/\" or \":\""),
        ("a:b", "contains \"/\" or \":\""),
        ("a b", "contains white space"),
        ("a\tb", "contains white space"),
        ("a\u{a0}b", "contains white space"),
    ] {
        for command in ["ADD", "DEL", "CHECK"] {
            let plugin = Plugin::new(command, &api.url()).variable("CNI_IFNAME", bad);
            let expected = (4, format!("CNI_IFNAME: {} {why}", json!(bad)));
            assert_eq!(plugin.run().failure(), expected);
        }
    }
}

#[test]
fn p5_a_netns_that_is_gone_is_never_looked_into() {
    let api = kind_api();
    for netns in ["/does/not/exist", "not a path"] {
        let plugin = Plugin::new("ADD", &api.url()).variable("CNI_NETNS", netns);
        assert_eq!(plugin.run().status, 0);
    }
    for command in ["ADD", "CHECK"] {
        let failure = Plugin::new(command, &api.url())
            .without("CNI_NETNS")
            .run()
            .failure();
        assert_eq!(
            failure,
            (4, "required env variables [CNI_NETNS] missing".to_owned())
        );
    }
    let empty = Plugin::new("DEL", &api.url()).variable("CNI_NETNS", "");
    empty.run().assert_silent_success();
    Plugin::new("DEL", &api.url())
        .without("CNI_NETNS")
        .run()
        .assert_silent_success();
}

#[test]
fn p6_all_missing_variables_are_named_at_once() {
    let all = "CNI_CONTAINERID,CNI_NETNS,CNI_IFNAME,CNI_PATH";
    for (command, missing) in [
        ("ADD", all),
        ("CHECK", all),
        ("DEL", "CNI_CONTAINERID,CNI_IFNAME,CNI_PATH"),
        ("GC", "CNI_PATH"),
        ("STATUS", "CNI_PATH"),
    ] {
        let mut plugin = Plugin::new(command, &nobody());
        for name in all.split(',') {
            plugin = plugin.without(name);
        }
        let expected = (4, format!("required env variables [{missing}] missing"));
        assert_eq!(plugin.run().failure(), expected);
    }
}

#[test]
fn p6_gc_and_status_need_no_attachment() {
    let api = kind_api();
    let definition = with(strict(), json!({ "cniVersion": "1.1.0" }));
    for command in ["GC", "STATUS"] {
        let plugin = Plugin::new(command, &api.url()).definition(&definition);
        let plugin = plugin
            .without("CNI_CONTAINERID")
            .without("CNI_IFNAME")
            .without("CNI_NETNS");
        plugin.run().assert_silent_success();
    }
}

#[test]
fn p7_the_network_name_is_validated() {
    for command in ["ADD", "DEL", "CHECK", "GC", "STATUS"] {
        for name in [json!(null), json!("")] {
            let definition = with(strict(), json!({ "name": name }));
            let failure = Plugin::new(command, &nobody())
                .definition(&definition)
                .run()
                .failure();
            assert_eq!(failure, (7, "name: missing network name".to_owned()));
        }
        for name in ["a b", ".a", "a/b", "né"] {
            let definition = with(strict(), json!({ "name": name }));
            let answer = Plugin::new(command, &nobody())
                .definition(&definition)
                .run();
            let (code, message) = answer.failure();
            assert_eq!(code, 7);
            assert!(message.starts_with(&format!("name: {} has invalid", json!(name))));
        }
    }
}

#[test]
fn p8_an_absent_version_means_0_1_0() {
    let api = kind_api();
    let definition = with(strict(), json!({ "cniVersion": null }));
    let answer = Plugin::new("ADD", &api.url()).definition(&definition).run();
    assert_eq!(answer.json()["cniVersion"], "0.1.0");
    assert_eq!(answer.json()["ip4"]["ip"], "10.10.3.30/24");
}

#[test]
fn p8_a_version_that_is_not_spoken_is_code_1() {
    let definition = with(strict(), json!({ "cniVersion": "2.0.0" }));
    for command in ["ADD", "DEL", "CHECK", "GC", "STATUS"] {
        let failure = Plugin::new(command, &nobody())
            .definition(&definition)
            .run()
            .failure();
        let message = "cniVersion: \"2.0.0\" is not supported; this plugin speaks 0.1.0, 0.2.0, \
                       0.3.0, 0.3.1, 0.4.0, 1.0.0, 1.1.0";
        assert_eq!(failure, (1, message.to_owned()));
    }
}

#[test]
fn p9_unknown_keys_are_accepted_unless_they_look_like_a_slip() {
    let api = kind_api();
    let definition = with(
        with_ipam(
            strict(),
            json!({ "comment": "mine", "vlan": 7, "etcd_host": "x" }),
        ),
        json!({ "cni.dev/x": 1, "runtimeConfig": {}, "args": {}, "anything": [] }),
    );
    let answer = Plugin::new("ADD", &api.url()).definition(&definition).run();
    assert_eq!(
        (answer.status, answer.stderr.as_str()),
        (0, ""),
        "{answer:?}"
    );

    let slip = with_ipam(strict(), json!({ "rangeStart": "10.10.3.5" }));
    let message = "rangeStart: \"10.10.3.5\" is the value of an unknown key; did you mean \
                   \"range_start\"?";
    let failure = Plugin::new("ADD", &api.url())
        .definition(&slip)
        .run()
        .failure();
    assert_eq!(failure, (2, message.to_owned()));
    assert_eq!(api.requests().len(), 1, "a refusal asks nothing");
}

#[test]
fn p11_the_pod_comes_from_cni_args() {
    let api = kind_api();
    assert_eq!(Plugin::new("ADD", &api.url()).run().status, 0);
    let sparse = "IgnoreUnknown=true;K8S_POD_NAMESPACE=default;K8S_POD_NAME=pod;SOMETHING=else";
    let plugin = Plugin::new("ADD", &api.url()).variable("CNI_ARGS", sparse);
    assert_eq!(plugin.run().status, 0);
    assert_eq!(
        Plugin::new("ADD", &api.url())
            .without("CNI_ARGS")
            .run()
            .status,
        0
    );
    let unknown = "SOMETHING=else;;K8S_POD_NAMESPACE=default;K8S_POD_NAME=pod;";
    let plugin = Plugin::new("ADD", &api.url()).variable("CNI_ARGS", unknown);
    assert_eq!(plugin.run().status, 0);
    let owners: Vec<_> = api
        .bodies("/v1/allocate")
        .iter()
        .map(|body| body["owner"].clone())
        .collect();
    let owner = json!({ "namespace": "default", "name": "pod", "node": "node-1" });
    assert_eq!(
        owners,
        [
            with(owner.clone(), json!({ "uid": "u-1" })),
            owner.clone(),
            json!(null),
            owner
        ]
    );
}

#[test]
fn p12_tracing_headers_are_sent_on() {
    let api = kind_api();
    let plugin = Plugin::new("ADD", &api.url())
        .variable(
            "TRACEPARENT",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
        )
        .variable("TRACESTATE", "a=1")
        .variable("BAGGAGE", "x=\ny");
    let answer = plugin.run();
    assert_eq!(answer.status, 0);
    let head = &api.requests()[0].head;
    assert!(head.contains("Traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"));
    assert!(
        head.contains("Tracestate: a=1") && !head.contains("Baggage"),
        "{head}"
    );
    assert!(
        answer.stderr.contains("warning: BAGGAGE is not sent on"),
        "{}",
        answer.stderr
    );
}

#[test]
fn p13_an_add_whose_answer_was_lost_is_repeated_with_the_same_key() {
    let api = Api::start(|number, _| {
        if number == 0 {
            Reply::Cut
        } else {
            allocated(&["10.10.3.30/24"])
        }
    });
    let answer = Plugin::new("ADD", &api.url()).run();
    assert_eq!(answer.json()["ips"][0]["address"], "10.10.3.30/24");
    let bodies = api.bodies("/v1/allocate");
    assert_eq!(bodies.len(), 2);
    assert_eq!(bodies[0]["attachment"], bodies[1]["attachment"]);
    assert_eq!(bodies[0]["token"], bodies[1]["token"]);
}

#[test]
fn p14_nothing_hangs() {
    let api = Api::start(|_, _| Reply::Hang);
    let definition = with_ipam(strict(), json!({ "timeout_seconds": 1 }));
    let definition = with(
        definition,
        json!({ "cniVersion": "1.1.0", "cni.dev/attachments": [] }),
    );
    for (command, code) in [("ADD", 11), ("CHECK", 11), ("STATUS", 50), ("GC", 11)] {
        let started = Instant::now();
        let answer = Plugin::new(command, &api.url())
            .definition(&definition)
            .run();
        assert_eq!(answer.code(), code, "{answer:?}");
        assert!(started.elapsed() < Duration::from_secs(4), "{command}");
    }
    let started = Instant::now();
    Plugin::new("DEL", &api.url())
        .definition(&definition)
        .run()
        .assert_silent_success();
    assert!(started.elapsed() < Duration::from_secs(4));
}

#[test]
fn several_addresses_and_a_token_file_are_used() {
    let api = kind_api();
    let plugin = Plugin::new("ADD", "").without("IPLEDGER_API_URL");
    let token = plugin.directory.path().join("token");
    std::fs::write(&token, "s3cret\n").unwrap();
    let keys = json!({ "api": [nobody(), api.url()], "token_file": token });
    let answer = plugin.definition(&with_ipam(strict(), keys)).run();
    assert_eq!(answer.status, 0, "{answer:?}");
    assert!(
        api.requests()[0]
            .head
            .contains("Authorization: Bearer s3cret\r\n")
    );
}

#[test]
fn r2_a_del_needs_nothing_of_the_definition_but_the_key() {
    let api = kind_api();
    let definition = json!({ "name": "super-net", "cniVersion": "1.0.0" });
    let plugin = Plugin::new("DEL", &api.url()).variable("IPLEDGER_CLUSTER", "prod");
    plugin.definition(&definition).run().assert_silent_success();
    let attachment = json!({ "cluster": "prod", "network": "super-net", "container_id": "c0ffee",
                             "ifname": "net1" });
    assert_eq!(api.bodies("/v1/release")[0]["attachment"], attachment);
}

#[test]
fn r3_no_earlier_result_is_needed() {
    let api = Api::start(|_, request| kindly(request));
    for command in ["DEL", "CHECK"] {
        Plugin::new(command, &api.url())
            .run()
            .assert_silent_success();
    }
}
