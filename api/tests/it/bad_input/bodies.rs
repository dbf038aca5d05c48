//! Bodies that are no request at all.

use serde_json::json;

use super::{Case, change};
use crate::support::allocate;

const ALLOCATE: &str = "/v1/allocate";

pub(super) fn cases() -> Vec<Case> {
    let huge = " ".repeat(1024 * 1024 + 1);
    let deep = "[".repeat(1000);
    let shown_deep = format!("{}…", "[".repeat(199));
    let mut cases = vec![
        Case::post(ALLOCATE, "", "body", "-", "body is missing"),
        Case::post(ALLOCATE, " \r\n", "body", "-", "body is missing"),
        not_json("{", "EOF while parsing an object at line 1 column 1"),
        not_json("{\"a\" 1}", "expected `:` at line 1 column 6"),
        not_json("{'a': 1}", "key must be a string at line 1 column 2"),
        not_json("{} {}", "trailing characters at line 1 column 4"),
        Case::post(
            ALLOCATE,
            &deep,
            "body",
            &shown_deep,
            &format!(
                "body {shown_deep:?} is not JSON: recursion limit exceeded at line 1 column 128"
            ),
        ),
        Case::post(ALLOCATE, "[]", "body", "[]", "body \"[]\" is not an object"),
        Case::post(
            ALLOCATE,
            "null",
            "body",
            "null",
            "body \"null\" is not an object",
        ),
        Case::post(
            ALLOCATE,
            "\"x\"",
            "body",
            "x",
            "body \"x\" is not an object",
        ),
        Case::post(
            ALLOCATE,
            &huge,
            "body",
            "1048577 bytes",
            "body of 1048577 bytes is longer than the limit of 1048576 bytes",
        )
        .is(413, "body_too_large"),
    ];
    cases.extend(types());
    cases.extend(keys());
    cases
}

fn not_json(body: &str, reason: &str) -> Case {
    Case::post(
        ALLOCATE,
        body,
        "body",
        body,
        &format!("body {body:?} is not JSON: {reason}"),
    )
}

/// Values of a foreign type.
fn types() -> Vec<Case> {
    let wrong = |key: &'static str, value, shown: &str, problem: &str| {
        let path = key
            .replace("ranges[0]", "ranges.0")
            .replace("exclude[0]", "exclude.0");
        let mut body = allocate("c1");
        body["ranges"][0]["exclude"] = json!(["10.10.3.7"]);
        body["token"] = json!({"boot_id": BOOT, "boottime_ns": 1});
        Case::wrong(ALLOCATE, &change(body, &path, value), key, shown, problem)
    };
    vec![
        wrong("attachment", json!("c1"), "c1", "is not an object"),
        wrong("attachment.cluster", json!(7), "7", "is not a text"),
        wrong("attachment.ifname", json!(null), "null", "is not a text"),
        wrong("owner", json!([]), "[]", "is not an object"),
        wrong("owner.name", json!({}), "{}", "is not a text"),
        wrong(
            "ranges",
            json!({"range": "10.10.3.0/24"}),
            "{\"range\":\"10.10.3.0/24\"}",
            "is not an array",
        ),
        wrong(
            "ranges[0]",
            json!("10.10.3.0/24"),
            "10.10.3.0/24",
            "is not an object",
        ),
        wrong(
            "ranges[0].exclude",
            json!("10.10.3.7"),
            "10.10.3.7",
            "is not an array",
        ),
        wrong("ranges[0].exclude[0]", json!(7), "7", "is not a text"),
        wrong("ips", json!("10.10.3.7"), "10.10.3.7", "is not an array"),
        wrong("dry_run", json!("yes"), "yes", "is not a boolean"),
        wrong(
            "enable_overlapping_ranges",
            json!(0),
            "0",
            "is not a boolean",
        ),
        wrong(
            "deadline_ms",
            json!("soon"),
            "soon",
            "is not an integer from 0 to 18446744073709551615",
        ),
        wrong(
            "deadline_ms",
            json!(-1),
            "-1",
            "is not an integer from 0 to 18446744073709551615",
        ),
        wrong(
            "deadline_ms",
            json!(1.5),
            "1.5",
            "is not an integer from 0 to 18446744073709551615",
        ),
        wrong(
            "cooldown_seconds",
            json!(4_294_967_296_u64),
            "4294967296",
            "is not an integer from 0 to 4294967295",
        ),
        wrong(
            "token.boottime_ns",
            json!(true),
            "true",
            "is not an integer from 0 to 18446744073709551615",
        ),
    ]
}

const BOOT: &str = "8f5c1f0e-6a53-4f0e-9d0b-0123456789ab";

/// Keys that are missing, unknown or there twice.
fn keys() -> Vec<Case> {
    let mut without_cluster = allocate("c1");
    without_cluster["attachment"]
        .as_object_mut()
        .unwrap()
        .remove("cluster");
    let mut without_ranges = allocate("c1");
    without_ranges.as_object_mut().unwrap().remove("ranges");
    let missing = |path: &str, body: &str, key: &'static str| {
        Case::post(path, body, key, "-", &format!("{key} is missing"))
    };
    let unknown = change(allocate("c1"), "range", json!("10.10.3.0/24"));
    let unknown_inside = change(allocate("c1"), "owner.labels", json!({}));
    let known_of_allocate = "is not a key here; there are `attachment`, `owner`, `cluster_uid`, \
        `token`, `network_name`, `enable_overlapping_ranges`, `ranges`, `ips`, \
        `order`, `cooldown_seconds`, `sticky_seconds`, `dry_run`, `deadline_ms`, `claimed_at`";
    vec![
        missing(ALLOCATE, "{}", "attachment"),
        missing(ALLOCATE, &without_cluster.to_string(), "attachment.cluster"),
        missing(ALLOCATE, &without_ranges.to_string(), "ranges"),
        missing("/v1/release", "{}", "attachment"),
        missing("/v1/holds/release", r#"{"space": "prod"}"#, "address"),
        missing("/v1/holds/import", r#"{"cluster": "prod"}"#, "range"),
        missing(
            "/v1/gc",
            r#"{"cluster": "prod", "node": "n1", "network": "n"}"#,
            "token",
        ),
        missing("/v1/spaces", r#"{"name": "vlan7"}"#, "members"),
        missing("/v1/clusters/prod/bind", "{}", "uid"),
        missing("/v1/ranges/check", r#"{"cluster": "prod"}"#, "ranges"),
        Case::wrong(
            ALLOCATE,
            &unknown,
            "range",
            "10.10.3.0/24",
            known_of_allocate,
        ),
        Case::wrong(
            ALLOCATE,
            &unknown_inside,
            "owner.labels",
            "{}",
            "is not a key here; there are `namespace`, `name`, `uid`, `node`",
        ),
        Case::post(
            "/v1/release",
            r#"{"deadline_ms": 1, "deadline_ms": 2}"#,
            "deadline_ms",
            "2",
            "deadline_ms \"2\" appears twice",
        ),
        not_json("attachment=c1", "expected value at line 1 column 1"),
    ]
}
