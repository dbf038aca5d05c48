//! Checklist section 2: ADD.

use std::process::{Command, Stdio};

use ipledger_client::types::{OrderToken, ProblemCode};
use serde_json::{Value, json};

use crate::api::{Api, Reply, allocated, kind_api, kindly, problem, problem_about, released};
use crate::plugin::{Plugin, strict, with, with_ipam};

#[test]
fn a1_a3_the_result_has_addresses_routes_and_dns_and_no_interface() {
    let api = kind_api();
    let definition = with_ipam(
        strict(),
        json!({ "gateway": "10.10.3.1", "routes": [{ "dst": "192.168.0.0/16" }],
                "dns": { "nameservers": ["10.10.3.2"] } }),
    );
    let answer = Plugin::new("ADD", &api.url()).definition(&definition).run();
    assert_eq!(
        answer.json(),
        json!({
            "cniVersion": "1.0.0",
            "dns": { "nameservers": ["10.10.3.2"] },
            "ips": [{ "address": "10.10.3.30/24", "gateway": "10.10.3.1" }],
            "routes": [{ "dst": "192.168.0.0/16" }],
        })
    );
}

#[test]
fn a2_success_is_exit_0_and_exactly_one_object() {
    let answer = Plugin::new("ADD", &kind_api().url()).run();
    assert_eq!((answer.status, answer.stderr.as_str()), (0, ""));
    assert_eq!(
        answer.stdout,
        "{\n    \"cniVersion\": \"1.0.0\",\n    \"ips\": [\n        {\n            \
         \"address\": \"10.10.3.30/24\"\n        }\n    ]\n}"
    );
}

#[test]
fn a4_the_gateway_is_a_bare_address_of_the_same_family_or_left_out() {
    let api = Api::start(|_, _| allocated(&["10.10.3.30/24", "2001:db8::1/64"]));
    let definition = with_ipam(
        strict(),
        json!({ "ipRanges": [{ "range": "2001:db8::/64" }], "gateway": "10.10.3.1" }),
    );
    let answer = Plugin::new("ADD", &api.url()).definition(&definition).run();
    let expected = json!([
        { "address": "10.10.3.30/24", "gateway": "10.10.3.1" },
        { "address": "2001:db8::1/64" },
    ]);
    assert_eq!(answer.json()["ips"], expected);
    // A gateway that a range contains is never handed out.
    let ranges = &api.bodies("/v1/allocate")[0]["ranges"];
    assert_eq!(
        *ranges,
        json!([{ "range": "10.10.3.0/24", "exclude": ["10.10.3.1"] },
               { "range": "2001:db8::/64" }])
    );
}

#[test]
fn a7_a_definition_that_could_give_no_address_is_refused() {
    let definition = with_ipam(strict(), json!({ "range": null }));
    let failure = Plugin::new("ADD", &kind_api().url())
        .definition(&definition)
        .run()
        .failure();
    let message = "range: is missing, and so are ipRanges and addresses: there is nothing to \
                   hand out";
    assert_eq!(failure, (7, message.to_owned()));
}

/// The API gives each attachment an address of its own. (That it is the same one for the same
/// attachment is tested end to end.)
#[test]
fn a8_a_repeat_is_the_same_attachment() {
    let seen: std::sync::Mutex<Vec<Value>> = std::sync::Mutex::default();
    let api = Api::start(move |_, request| {
        let mut seen = seen.lock().unwrap();
        let attachment = &request.body["attachment"];
        let place = seen.iter().position(|known| known == attachment);
        let place = place.unwrap_or_else(|| {
            seen.push(attachment.clone());
            seen.len() - 1
        });
        allocated(&[&format!("10.10.3.{}/24", place + 1)])
    });
    let plugin = Plugin::new("ADD", &api.url());
    let first = plugin.run();
    let again = plugin.run();
    assert_eq!(again.stdout, first.stdout);
    let other = plugin.variable("CNI_IFNAME", "net2").run();
    assert_ne!(other.stdout, first.stdout);
}

#[test]
fn a9_the_key_is_cluster_network_container_and_interface_with_the_node_beside_it() {
    let api = kind_api();
    Plugin::new("ADD", &api.url()).run();
    let body = &api.bodies("/v1/allocate")[0];
    let attachment = json!({ "cluster": "prod", "network": "super-net", "container_id": "c0ffee",
                             "ifname": "net1" });
    assert_eq!(body["attachment"], attachment);
    assert_eq!(body["owner"]["node"], "node-1");
}

#[test]
fn a10_calls_beside_each_other_do_not_disturb_each_other() {
    let api = Api::start(|_, request| {
        let number = request.body["attachment"]["container_id"].as_str().unwrap()[1..].to_owned();
        allocated(&[&format!("10.10.3.{number}/24")])
    });
    std::thread::scope(|scope| {
        for number in 1..=16 {
            let url = api.url();
            scope.spawn(move || {
                let id = format!("c{number}");
                let answer = Plugin::new("ADD", &url)
                    .variable("CNI_CONTAINERID", id)
                    .run();
                let expected = format!("10.10.3.{number}/24");
                assert_eq!(answer.json()["ips"][0]["address"], expected);
            });
        }
    });
}

#[test]
fn a11_several_ranges_are_one_request() {
    let api = Api::start(|_, _| allocated(&["10.10.3.30/24", "10.20.0.1/16"]));
    let definition = with_ipam(
        strict(),
        json!({ "range_start": "10.10.3.30", "range_end": "10.10.3.40", "exclude": ["10.10.3.31"],
                "network_name": "blue", "enable_overlapping_ranges": false, "cooldown": 60,
                "ipRanges": [{ "range": "10.20.0.1-10.20.0.9/16", "exclude": ["10.20.0.8/29"] }] }),
    );
    let answer = Plugin::new("ADD", &api.url()).definition(&definition).run();
    assert_eq!(answer.json()["ips"].as_array().unwrap().len(), 2);
    let bodies = api.bodies("/v1/allocate");
    assert_eq!(bodies.len(), 1);
    assert_eq!(
        bodies[0]["ranges"],
        json!([
            { "range": "10.10.3.0/24", "range_start": "10.10.3.30", "range_end": "10.10.3.40",
              "exclude": ["10.10.3.31"] },
            { "range": "10.20.0.1-10.20.0.9/16", "exclude": ["10.20.0.8/29"] },
        ])
    );
    assert_eq!(bodies[0]["network_name"], "blue");
    assert_eq!(bodies[0]["enable_overlapping_ranges"], false);
    assert_eq!(bodies[0]["cooldown_seconds"], 60);
}

#[test]
fn a12_an_add_that_may_have_been_applied_queues_its_own_release() {
    let api = Api::start(|_, _| Reply::Hang);
    let definition = with_ipam(strict(), json!({ "timeout_seconds": 1 }));
    let plugin = Plugin::new("ADD", &api.url()).definition(&definition);
    let (code, message) = plugin.run().failure();
    assert_eq!(code, 11);
    assert!(
        message.contains("and whether it was applied is unknown"),
        "{message}"
    );
    assert!(
        message.ends_with("; a release was queued in case it was applied"),
        "{message}"
    );
    let queued = plugin.queued();
    assert_eq!(queued.len(), 1);
    let text = std::fs::read_to_string(plugin.queue().join(&queued[0])).unwrap();
    let release: Value = serde_json::from_str(&text).unwrap();
    let add = &api.bodies("/v1/allocate")[0];
    assert_eq!(release["request"]["attachment"], add["attachment"]);
    let token =
        |value: &Value| serde_json::from_value::<OrderToken>(value["token"].clone()).unwrap();
    assert!(token(&release["request"]).boottime_ns > token(add).boottime_ns);
}

#[test]
fn a12_an_answer_that_makes_no_sense_is_given_back() {
    for addresses in [vec![], vec!["10.10.3.30/24"; 2]] {
        let api = Api::start(move |_, _| allocated(&addresses));
        let plugin = Plugin::new("ADD", &api.url());
        let (code, message) = plugin.run().failure();
        assert_eq!(code, 11);
        assert_eq!(
            message,
            "the API's answer does not have one address for each range; a release was queued in \
             case it was applied"
        );
        assert_eq!(plugin.queued().len(), 1);
    }
}

#[test]
fn a12_addresses_that_nobody_learned_of_are_given_back() {
    let api = kind_api();
    let plugin = Plugin::new("ADD", &api.url());
    let full = std::fs::OpenOptions::new()
        .write(true)
        .open("/dev/full")
        .unwrap();
    let mut child = Command::new(env!("CARGO_BIN_EXE_ipledger"))
        .env_clear()
        .envs(&plugin.variables)
        .stdin(Stdio::piped())
        .stdout(full)
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), &plugin.stdin).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(1));
    assert_eq!(api.bodies("/v1/release").len(), 1);
    assert!(plugin.queued().is_empty());
}

#[test]
fn a12_a_definite_refusal_leaves_nothing_to_clean_up() {
    for code in [
        ProblemCode::Exhausted,
        ProblemCode::AddressTaken,
        ProblemCode::InvalidRequest,
    ] {
        let api = Api::start(move |_, _| problem(code));
        let plugin = Plugin::new("ADD", &api.url());
        assert_eq!(plugin.run().status, 1);
        assert!(plugin.queued().is_empty());
    }
}

#[test]
fn a13_a_later_failure_of_the_upper_plugin_is_undone_by_del() {
    let api = kind_api();
    assert_eq!(Plugin::new("ADD", &api.url()).run().status, 0);
    Plugin::new("DEL", &api.url())
        .variable("CNI_NETNS", "")
        .run()
        .assert_silent_success();
    let attachment = |path: &str| api.bodies(path)[0]["attachment"].clone();
    assert_eq!(attachment("/v1/allocate"), attachment("/v1/release"));
}

#[test]
fn a14_every_call_says_where_it_stands_in_the_order_of_calls() {
    let api = kind_api();
    let plugin = Plugin::new("ADD", &api.url());
    plugin.run();
    plugin.run();
    let tokens: Vec<OrderToken> = api
        .bodies("/v1/allocate")
        .iter()
        .map(|body| serde_json::from_value(body["token"].clone()).unwrap())
        .collect();
    let boot_id = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
    assert_eq!(tokens[0].boot_id, boot_id.trim());
    assert_eq!(tokens[0].boot_id, tokens[1].boot_id);
    assert!(tokens[0].boottime_ns < tokens[1].boottime_ns);
    let claimed = api.bodies("/v1/allocate")[0]["claimed_at"]
        .as_str()
        .unwrap()
        .to_owned();
    assert!(claimed.len() == "2026-01-01T00:00:00.000000Z".len() && claimed.ends_with('Z'));
}

#[test]
fn a15_a_previous_result_belongs_to_the_upper_plugin() {
    let previous = json!({ "cniVersion": "1.0.0", "ips": [{ "address": "192.168.9.9/24" }] });
    let definition = with(strict(), json!({ "prevResult": previous }));
    let answer = Plugin::new("ADD", &kind_api().url())
        .definition(&definition)
        .run();
    assert_eq!(
        answer.json()["ips"],
        json!([{ "address": "10.10.3.30/24" }])
    );
}

#[test]
fn a_refusal_names_the_key_as_the_user_wrote_it() {
    for (ipam, api_key, user_key) in [
        (
            json!({ "range_start": "x" }),
            "ranges[0].range_start",
            "range_start",
        ),
        (
            json!({ "RANGE_START": "x" }),
            "ranges[0].range_start",
            "RANGE_START",
        ),
        (
            json!({ "exclude": ["x"] }),
            "ranges[0].exclude[0]",
            "exclude[0]",
        ),
        (
            json!({ "ipRanges": [{ "range": "x" }] }),
            "ranges[1].range",
            "ipRanges[0].range",
        ),
        (
            json!({ "range": null, "ipRanges": [{ "range": "x" }] }),
            "ranges[0].range",
            "ipRanges[0].range",
        ),
        (
            json!({ "ipRanges": [{ "range": "y", "range_end": "x" }] }),
            "ranges[1].range_end",
            "ipRanges[0].range_end",
        ),
        (
            json!({ "gateway": "10.10.3.1" }),
            "ranges[0].exclude[0]",
            "gateway",
        ),
        (json!({ "cooldown": 5 }), "cooldown_seconds", "cooldown"),
        (json!({}), "attachment.cluster", "cluster"),
        (json!({}), "owner.name", "CNI_ARGS K8S_POD_NAME"),
    ] {
        let api = Api::start(move |_, _| {
            let detail = format!("{api_key}: \"x\" is wrong");
            problem_about(ProblemCode::InvalidRequest, Some(api_key), &detail)
        });
        let definition = with_ipam(strict(), ipam);
        let answer = Plugin::new("ADD", &api.url()).definition(&definition).run();
        assert_eq!(answer.failure(), (7, format!("{user_key}: \"x\" is wrong")));
        let details = answer.json()["details"].as_str().unwrap().to_owned();
        assert!(details.contains(&format!("key={user_key} ")), "{details}");
    }
}

#[test]
fn what_a_waiting_release_frees_can_be_had_at_once() {
    let away = Plugin::new("DEL", &crate::api::nobody());
    let definition = with_ipam(strict(), json!({ "timeout_seconds": 1 }));
    let away = away.definition(&definition);
    away.run().assert_silent_success();
    assert_eq!(away.queued().len(), 1);
    // The DEL of the pod that is gone goes before the ADD of the next pod.
    let api = kind_api();
    let mut add = Plugin::new("ADD", &api.url());
    add = add.variable("IPLEDGER_QUEUE_DIR", away.queue());
    assert_eq!(add.run().status, 0);
    let lines: Vec<_> = api
        .requests()
        .into_iter()
        .map(|request| request.line)
        .collect();
    assert_eq!(lines, ["POST /v1/release", "POST /v1/allocate"]);
    assert!(away.queued().is_empty());
}

#[test]
fn a_full_pool_delivers_the_whole_queue_and_asks_once_more() {
    let away = Plugin::new("DEL", &crate::api::nobody());
    let definition = with_ipam(strict(), json!({ "timeout_seconds": 1 }));
    let away = away.definition(&definition);
    std::thread::scope(|scope| {
        for _ in 0..12 {
            scope.spawn(|| away.run().assert_silent_success());
        }
    });
    assert_eq!(away.queued().len(), 12);
    // Full until every release has come.
    let releases = std::sync::atomic::AtomicUsize::new(0);
    let api = Api::start(move |_, request| {
        use std::sync::atomic::Ordering::SeqCst;
        if request.line == "POST /v1/release" {
            releases.fetch_add(1, SeqCst);
            return released();
        }
        if releases.load(SeqCst) < 12 {
            return problem(ProblemCode::Exhausted);
        }
        kindly(request)
    });
    let add = Plugin::new("ADD", &api.url()).variable("IPLEDGER_QUEUE_DIR", away.queue());
    let add = add.variable("CNI_CONTAINERID", "another");
    assert_eq!(add.run().status, 0);
    assert_eq!(api.bodies("/v1/allocate").len(), 2);
    assert!(away.queued().is_empty());
}
