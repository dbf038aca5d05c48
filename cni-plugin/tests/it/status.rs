//! Checklist section 5: STATUS.

use ipledger_client::types::ProblemCode;
use serde_json::{Value, json};

use crate::api::{Api, Reply, kind_api, nobody, problem, problem_about};
use crate::plugin::{Answer, Plugin, strict, with, with_ipam};

fn definition(keys: Value) -> Value {
    with(with_ipam(strict(), keys), json!({ "cniVersion": "1.1.0" }))
}

fn plugin(api: &str, keys: Value) -> Plugin {
    let plugin = Plugin::new("STATUS", api).definition(&definition(keys));
    plugin
        .without("CNI_CONTAINERID")
        .without("CNI_IFNAME")
        .without("CNI_NETNS")
        .without("CNI_ARGS")
}

/// STATUS of two ranges with so many free addresses.
fn with_free(free: [&'static str; 2], keys: Value) -> Answer {
    let api = Api::start(move |_, request| {
        if request.line == "GET /readyz" {
            return Reply::Json(200, json!({}));
        }
        let window = |pool: &str, free: &str| {
            json!({ "space": "prod", "pool": pool, "start": "a", "end": "b", "exclude": [],
                    "counts": { "capacity": "9", "held": "7", "cooling": "2", "reserved": "0",
                                "free": free } })
        };
        let windows = [
            window("10.10.3.0/24", free[0]),
            window("10.20.0.0/16", free[1]),
        ];
        Reply::Json(
            200,
            json!({ "windows": windows, "servable": !free.contains(&"0") }),
        )
    });
    let ranges = json!({ "ipRanges": [{ "range": "10.20.0.0/16" }] });
    let mut keys = keys;
    keys["ipRanges"] = ranges["ipRanges"].clone();
    plugin(&api.url(), keys).run()
}

#[test]
fn t1_it_succeeds_when_an_add_would_be_served() {
    let api = kind_api();
    plugin(&api.url(), json!({ "network_name": "blue" }))
        .run()
        .assert_silent_success();
    let lines: Vec<_> = api
        .requests()
        .into_iter()
        .map(|request| request.line)
        .collect();
    assert_eq!(lines, ["GET /readyz", "POST /v1/ranges/check"]);
    let asked = json!({ "cluster": "prod", "network_name": "blue",
        "enable_overlapping_ranges": true, "ranges": [{ "range": "10.10.3.0/24" }] });
    assert_eq!(api.bodies("/v1/ranges/check")[0], asked);
}

#[test]
fn t2_t3_a_service_that_cannot_serve_is_code_50() {
    let (code, message) = plugin(&nobody(), json!({})).run().failure();
    assert_eq!(code, 50);
    assert!(message.starts_with("cannot reach the API: "), "{message}");
    for reply in [
        ProblemCode::DatabaseUnavailable,
        ProblemCode::Overloaded,
        ProblemCode::Internal,
    ] {
        let api = Api::start(move |_, _| problem(reply));
        assert_eq!(plugin(&api.url(), json!({})).run().code(), 50);
        assert_eq!(api.requests().len(), 1, "one round is enough");
    }
}

#[test]
fn t3_t6_exhaustion_counts_only_if_no_range_can_serve_unless_switched() {
    let with_switch = |switch: &str| json!({ "status_when_exhausted": switch });
    with_free(["0", "5"], json!({})).assert_silent_success();
    with_free(["3", "5"], with_switch("any")).assert_silent_success();
    with_free(["0", "0"], with_switch("never")).assert_silent_success();
    let full = "no address is free in 10.10.3.0/24 (held 7, cooling 2), 10.20.0.0/16 (held 7, \
                cooling 2)";
    assert_eq!(
        with_free(["0", "0"], json!({})).failure(),
        (50, full.to_owned())
    );
    assert_eq!(
        with_free(["0", "0"], with_switch("all")).failure(),
        (50, full.to_owned())
    );
    let one = "no address is free in 10.10.3.0/24 (held 7, cooling 2)";
    assert_eq!(
        with_free(["0", "5"], with_switch("any")).failure(),
        (50, one.to_owned())
    );
}

#[test]
fn t4_t5_a_definition_that_cannot_be_meant_keeps_its_code() {
    let wrong = plugin(&nobody(), json!({ "gateway": "x" })).run().failure();
    assert_eq!(wrong, (7, "gateway: \"x\" is not an IP address".to_owned()));
    let api = Api::start(|number, _| {
        if number == 0 {
            return Reply::Json(200, json!({}));
        }
        let detail = "ranges[0].range: \"10.10.3.0/24\" is wrong";
        problem_about(ProblemCode::InvalidRequest, Some("ranges[0].range"), detail)
    });
    let refused = plugin(&api.url(), json!({})).run().failure();
    assert_eq!(refused, (7, "range: \"10.10.3.0/24\" is wrong".to_owned()));
}

#[test]
fn gc_and_status_came_with_1_1_0() {
    for (command, version) in [("STATUS", "1.0.0"), ("GC", "1.0.0"), ("GC", "0.4.0")] {
        let definition = with(strict(), json!({ "cniVersion": version }));
        let failure = Plugin::new(command, &nobody())
            .definition(&definition)
            .run()
            .failure();
        let message =
            format!("cniVersion: \"{version}\" does not allow {command} (it came with 1.1.0)");
        assert_eq!(failure, (1, message));
    }
}
