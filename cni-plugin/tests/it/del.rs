//! Checklist section 3: DEL.

use ipledger_client::types::ProblemCode;
use serde_json::{Value, json};

use crate::api::{Api, Reply, kind_api, nobody, problem, problem_about, released};
use crate::plugin::{Plugin, strict, with, with_ipam};

/// A DEL that does not wait long for an API that is away.
fn hasty(api: &str) -> Plugin {
    let definition = with_ipam(strict(), json!({ "timeout_seconds": 1 }));
    Plugin::new("DEL", api).definition(&definition)
}

#[test]
fn d1_it_releases_by_key_and_succeeds_however_often() {
    let api = kind_api();
    let plugin = Plugin::new("DEL", &api.url());
    for _ in 0..3 {
        plugin.run().assert_silent_success();
    }
    let body = &api.bodies("/v1/release")[2];
    let attachment = json!({ "cluster": "prod", "network": "super-net", "container_id": "c0ffee",
                             "ifname": "net1" });
    assert_eq!(body["attachment"], attachment);
    let owner = json!({ "namespace": "default", "name": "pod", "uid": "u-1", "node": "node-1" });
    assert_eq!(body["owner"], owner);
    assert!(body["token"]["boottime_ns"].is_u64());
    assert!(plugin.queued().is_empty());
}

#[test]
fn d2_d3_it_works_with_anything_missing_or_broken() {
    let api = kind_api();
    let broken = [
        json!({ "range": null }),
        json!({ "range": 5, "range_start": {}, "ipRanges": "x", "exclude": 1, "routes": "x" }),
        json!({ "type": "host-local" }),
        json!({ "type": null }),
        json!({ "rangeStart": "x", "gateway": "x", "dns": 7 }),
        json!({ "queue_dir": 5, "timeout_seconds": "soon", "node": [] }),
        json!({ "configuration_path": "/does/not/exist" }),
        json!({ "configuration_path": 5 }),
    ];
    for keys in broken {
        let plugin = Plugin::new("DEL", &api.url()).definition(&with_ipam(strict(), keys.clone()));
        let answer = plugin.variable("CNI_NETNS", "").run();
        assert_eq!(
            (answer.status, answer.stdout.as_str()),
            (0, ""),
            "{keys}: {answer:?}"
        );
    }
    for (command, value) in [
        ("CNI_ARGS", "garbage"),
        ("CNI_ARGS", "IP=x"),
        ("NODENAME", ""),
    ] {
        Plugin::new("DEL", &api.url())
            .variable(command, value)
            .run()
            .assert_silent_success();
    }
    let previous = with(strict(), json!({ "prevResult": "broken" }));
    Plugin::new("DEL", &api.url())
        .definition(&previous)
        .run()
        .assert_silent_success();
    let ipam = with(strict(), json!({ "ipam": 7 }));
    let plugin = Plugin::new("DEL", &api.url()).variable("IPLEDGER_CLUSTER", "prod");
    plugin.definition(&ipam).run().assert_silent_success();
    assert!(
        api.bodies("/v1/release")
            .iter()
            .all(|body| body["attachment"]["ifname"] == "net1")
    );
}

#[test]
fn d4_with_the_api_away_a_durable_file_is_written_before_success() {
    let plugin = hasty(&nobody());
    let answer = plugin.run();
    answer.assert_silent_success();
    assert!(
        answer.stderr.contains("the release waits in"),
        "{}",
        answer.stderr
    );
    let queued = plugin.queued();
    assert_eq!(queued.len(), 1);
    let text = std::fs::read_to_string(plugin.queue().join(&queued[0])).unwrap();
    let file: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(file["version"], 1);
    assert_eq!(file["request"]["attachment"]["container_id"], "c0ffee");
    assert!(file["request"]["token"]["boottime_ns"].is_u64());
    assert!(
        file["request"]["claimed_at"]
            .as_str()
            .unwrap()
            .ends_with('Z')
    );
    let left: Vec<_> = std::fs::read_dir(plugin.queue()).unwrap().collect();
    assert_eq!(left.len(), 1, "no half-written file stays behind");
}

#[test]
fn d4_every_fault_that_may_pass_goes_to_the_queue() {
    let later = [
        ProblemCode::Overloaded,
        ProblemCode::DatabaseUnavailable,
        ProblemCode::OutcomeUnknown,
        ProblemCode::Internal,
        ProblemCode::NotFound,
    ];
    for code in later {
        let api = Api::start(move |_, _| problem(code));
        let plugin = hasty(&api.url());
        plugin.run().assert_silent_success();
        assert_eq!(plugin.queued().len(), 1, "{code:?}");
    }
    for status in [401, 403] {
        let api = Api::start(move |_, _| {
            let Reply::Json(_, body) = problem(ProblemCode::InvalidRequest) else {
                unreachable!("problem() answers JSON")
            };
            let code = json!({ "code": "from_the_future", "status": status });
            Reply::Json(status, with(body, code))
        });
        let plugin = hasty(&api.url());
        plugin.run().assert_silent_success();
        assert_eq!(plugin.queued().len(), 1, "a token can be mended");
    }
    for fault in [
        "garbage",
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}",
        "HTTP/1.1 502 X\r\n\r\n",
    ] {
        let api = Api::start(move |_, _| Reply::Raw(fault.to_owned()));
        let plugin = hasty(&api.url());
        plugin.run().assert_silent_success();
        assert_eq!(plugin.queued().len(), 1, "{fault}");
    }
    for wrong in [
        json!({ "api": "https://x" }),
        json!({ "api": 5 }),
        json!({ "token_file": "/x" }),
    ] {
        let plugin = hasty("").without("IPLEDGER_API_URL");
        let plugin = plugin.definition(&with_ipam(strict(), wrong.clone()));
        plugin.run().assert_silent_success();
        assert_eq!(plugin.queued().len(), 1, "{wrong}");
    }
}

#[test]
fn d4_when_nothing_durable_can_be_recorded_the_runtime_has_to_retry() {
    let plugin = hasty(&nobody()).variable("IPLEDGER_QUEUE_DIR", "/dev/null/queue");
    let (code, message) = plugin.run().failure();
    assert_eq!(code, 5);
    let expected = "queue_dir: cannot write to /dev/null/queue: not a directory; and the release \
                    cannot be delivered: cannot reach the API: http://127.255.0.1:1: Connection \
                    refused";
    assert_eq!(message, expected);
}

#[test]
fn d4_a_refusal_for_good_is_reported() {
    let api = Api::start(|_, _| {
        let detail = "attachment.cluster: \"prod\" is bound to another cluster";
        problem_about(
            ProblemCode::ClusterMismatch,
            Some("attachment.cluster"),
            detail,
        )
    });
    let plugin = hasty(&api.url());
    let failure = plugin.run().failure();
    assert_eq!(
        failure,
        (
            108,
            "cluster: \"prod\" is bound to another cluster".to_owned()
        )
    );
    assert!(plugin.queued().is_empty());
}

#[test]
fn d5_the_ledger_decides_and_stale_is_success() {
    let api = Api::start(|number, _| match number {
        0 => Reply::Json(200, json!({ "released": [], "stale": true, "epoch": 1 })),
        1 => problem(ProblemCode::Stale),
        2 => problem(ProblemCode::Deleted),
        _ => released(),
    });
    let plugin = hasty(&api.url());
    for said in [
        "a later call was applied before",
        "says stale",
        "says deleted",
    ] {
        let answer = plugin.run();
        answer.assert_silent_success();
        assert!(
            answer
                .stderr
                .contains(&format!("{said}; nothing was released")),
            "{answer:?}"
        );
    }
    // What it decides on, and nothing else.
    let body = &api.bodies("/v1/release")[0];
    let mut keys: Vec<_> = body.as_object().unwrap().keys().collect();
    keys.sort();
    assert_eq!(
        keys,
        ["attachment", "claimed_at", "deadline_ms", "owner", "token"]
    );
}

#[test]
fn d6_it_does_not_hold_up_the_removal_of_a_pod() {
    let api = Api::start(|_, _| Reply::Hang);
    let started = std::time::Instant::now();
    Plugin::new("DEL", &api.url()).run().assert_silent_success();
    assert!(
        started.elapsed() < std::time::Duration::from_secs(8),
        "{:?}",
        started.elapsed()
    );
}

#[test]
fn d7_a_previous_result_changes_nothing() {
    let api = kind_api();
    for previous in [
        json!(null),
        json!({}),
        json!({ "ips": [{ "address": "10.10.3.30/24" }] }),
    ] {
        let definition = with(strict(), json!({ "prevResult": previous }));
        Plugin::new("DEL", &api.url())
            .definition(&definition)
            .run()
            .assert_silent_success();
    }
    let bodies = api.bodies("/v1/release");
    let attachment = |body: &Value| body["attachment"].clone();
    assert_eq!(bodies.len(), 3);
    assert!(
        bodies
            .iter()
            .all(|body| attachment(body) == attachment(&bodies[0]))
    );
}

#[test]
fn d8_success_prints_nothing() {
    let answer = Plugin::new("DEL", &kind_api().url()).run();
    assert_eq!(
        (
            answer.status,
            answer.stdout.as_str(),
            answer.stderr.as_str()
        ),
        (0, "", "")
    );
}

#[test]
fn without_a_cluster_there_is_no_key() {
    let definition = with_ipam(strict(), json!({ "cluster": null }));
    let (code, message) = hasty(&nobody()).definition(&definition).run().failure();
    assert_eq!(code, 7);
    assert!(message.starts_with("cluster: the name of the Kubernetes cluster is missing"));
}
