//! Values that have the right type and cannot be meant.

use serde_json::{Value, json};

use super::{Case, change};
use crate::support::{allocate, allocate_from};

const DNS: &str = "is not a DNS subdomain; write at most 253 of a-z, 0-9, - and ., each part \
                   beginning and ending with a letter or digit";
const CNI: &str = "is not a CNI name; write 1 to 256 of a-z, A-Z, 0-9, _, . and -, beginning with \
                   a letter or digit";
const IFNAME: &str =
    "is not the name of an interface; write 1 to 15 bytes without /, : and white space";
const UID: &str = "is not a UID; write 1 to 64 visible ASCII characters";
const NETWORK_NAME: &str = "is not a network name; write 1 to 253 bytes without /, # and control \
                            characters, or leave the key out for the default space of the cluster";
const TIME: &str = "is not a time in RFC 3339; write one such as 2026-01-31T07:42:00Z";

pub(super) fn cases() -> Vec<Case> {
    let mut cases = parties();
    cases.extend(ranges());
    cases.extend(fixed_addresses());
    cases.extend(times_and_numbers());
    cases.extend(releases());
    cases.extend(others());
    cases
}

fn in_allocate(key: &'static str, value: &str, problem: &str) -> Case {
    let body = change(allocate("c1"), key, json!(value));
    Case::wrong("/v1/allocate", &body, key, value, problem)
}

fn parties() -> Vec<Case> {
    vec![
        in_allocate("attachment.cluster", "", DNS),
        in_allocate("attachment.cluster", "Prod", DNS),
        in_allocate("attachment.network", "my net", CNI),
        in_allocate("attachment.container_id", "-c1", CNI),
        in_allocate("attachment.container_id", "c1\0", CNI),
        in_allocate("attachment.ifname", "", IFNAME),
        in_allocate("attachment.ifname", "..", IFNAME),
        in_allocate("attachment.ifname", "sixteen-letters!", IFNAME),
        in_allocate("owner.namespace", "Default", DNS),
        in_allocate("owner.name", "pod_1", DNS),
        in_allocate("owner.uid", "", UID),
        in_allocate("owner.uid", "two words", UID),
        in_allocate("owner.node", "node 1", DNS),
        in_allocate("cluster_uid", "\t", UID),
        in_allocate("network_name", "", NETWORK_NAME),
        in_allocate("network_name", "blue/green", NETWORK_NAME),
        in_allocate("network_name", "blue#7", NETWORK_NAME),
    ]
}

fn in_range(range: &Value, key: &'static str, value: &str, problem: &str) -> Case {
    let body = allocate_from("c1", &json!([range]));
    Case::wrong("/v1/allocate", &body, key, value, problem)
}

fn ranges() -> Vec<Case> {
    let count = |count: usize| {
        let body = allocate_from("c1", &json!(vec![json!({"range": "10.10.3.0/24"}); count]));
        let detail = format!("ranges has {count} entries; 1 to 16 are taken");
        Case::post(
            "/v1/allocate",
            &body.to_string(),
            "ranges",
            &count.to_string(),
            &detail,
        )
    };
    let with = |key: &str, value: &str| change(json!({"range": "10.10.3.0/24"}), key, json!(value));
    let second = json!([{"range": "10.10.3.0/24"}, {"range": "10.10.4.9-10.10.4.5/24"}]);
    vec![
        count(0),
        count(17),
        in_range(
            &json!({"range": ""}),
            "ranges[0].range",
            "",
            "is not a CIDR; write one such as 10.0.0.0/24, or 10.0.0.5-10.0.0.9/24",
        ),
        in_range(
            &json!({"range": "10.10.3.0"}),
            "ranges[0].range",
            "10.10.3.0",
            "has no prefix length; write it behind the address, such as 10.10.3.0/24",
        ),
        in_range(
            &json!({"range": "10.10.3.0/33"}),
            "ranges[0].range",
            "10.10.3.0/33",
            "has the prefix length \"33\"; IPv4 takes the numbers 1 to 32 without leading zeros",
        ),
        in_range(
            &json!({"range": "0.0.0.0/0"}),
            "ranges[0].range",
            "0.0.0.0/0",
            "has the prefix length \"0\"; IPv4 takes the numbers 1 to 32 without leading zeros",
        ),
        in_range(
            &with("range_start", "10.10.4.1"),
            "ranges[0].range_start",
            "10.10.4.1",
            "is outside 10.10.3.0/24; the usable addresses are 10.10.3.1 to 10.10.3.254",
        ),
        in_range(
            &with("range_start", "10.10.3.0"),
            "ranges[0].range_start",
            "10.10.3.0",
            "is the network address of 10.10.3.0/24; the first usable address is 10.10.3.1",
        ),
        in_range(
            &with("range_end", "10.10.3.255"),
            "ranges[0].range_end",
            "10.10.3.255",
            "is the broadcast address of 10.10.3.0/24; the last usable address is 10.10.3.254",
        ),
        in_range(
            &with("range_end", "fd00::1"),
            "ranges[0].range_end",
            "fd00::1",
            "is IPv6, but range 10.10.3.0/24 is IPv4; it belongs with an IPv6 range",
        ),
        in_range(
            &json!({"range": "10.10.3.0/24", "range_start": "10.10.3.9", "range_end": "10.10.3.5"}),
            "ranges[0].range_end",
            "10.10.3.5",
            "is before range_start 10.10.3.9; swap the two or correct one",
        ),
        in_range(
            &json!({"range": "10.10.3.0/24", "exclude": ["10.10.3.7", "10.10.3.x"]}),
            "ranges[0].exclude[1]",
            "10.10.3.x",
            "is not an IP address; write one such as 10.0.0.5 or 2001:db8::5",
        ),
        in_range(
            &json!({"range": "10.10.3.0/24", "exclude": ["10.10.3.0/24"]}),
            "ranges[0].exclude",
            "10.10.3.0/24",
            "leaves no address of 10.10.3.1 to 10.10.3.254; exclude less or widen the range",
        ),
        Case::wrong(
            "/v1/allocate",
            &allocate_from("c1", &second),
            "ranges[1].range",
            "10.10.4.9-10.10.4.5/24",
            "ends before it begins; write 10.10.4.5-10.10.4.9/24",
        ),
    ]
}

fn fixed_addresses() -> Vec<Case> {
    let ips = |ips: &[&str]| change(allocate("c1"), "ips", json!(ips));
    let two = allocate_from(
        "c1",
        &json!([{"range": "10.10.3.0/24"}, {"range": "10.10.4.0/24"}]),
    );
    let twice = change(two, "ips", json!(["10.10.3.7", "10.10.3.7"]));
    vec![
        Case::wrong(
            "/v1/allocate",
            &ips(&["10.10.3.7/24"]),
            "ips[0]",
            "10.10.3.7/24",
            "has a prefix length where a bare address belongs; write 10.10.3.7",
        ),
        Case::wrong(
            "/v1/allocate",
            &ips(&["10.10.03.7"]),
            "ips[0]",
            "10.10.03.7",
            "has a leading zero, which some programs read as octal; write 10.10.3.7 if decimal is meant",
        ),
        Case::wrong(
            "/v1/allocate",
            &twice,
            "ips[1]",
            "10.10.3.7",
            "appears twice",
        ),
        Case::post(
            "/v1/allocate",
            &ips(&["10.10.3.7", "10.10.3.8"]).to_string(),
            "ips",
            "2",
            "ips has 2 entries, more than the 1 of ranges",
        ),
    ]
}

fn times_and_numbers() -> Vec<Case> {
    let token = |boot_id: &str, boottime_ns: u64| {
        let token = json!({"boot_id": boot_id, "boottime_ns": boottime_ns});
        change(allocate("c1"), "token", token)
    };
    let uuid = "is not a UUID; write it as /proc/sys/kernel/random/boot_id does";
    let boot = "8f5c1f0e-6a53-4f0e-9d0b-0123456789ab";
    let packed = boot.replace('-', "");
    vec![
        in_allocate("claimed_at", "yesterday", TIME),
        in_allocate("claimed_at", "2026-02-30T00:00:00Z", TIME),
        in_allocate("claimed_at", "2026-01-31 07:42:00Z", TIME),
        Case::wrong(
            "/v1/allocate",
            &token("boot-7", 1),
            "token.boot_id",
            "boot-7",
            uuid,
        ),
        Case::wrong(
            "/v1/allocate",
            &token(&packed, 1),
            "token.boot_id",
            &packed,
            uuid,
        ),
        Case::wrong(
            "/v1/allocate",
            &token(boot, u64::MAX),
            "token.boottime_ns",
            "18446744073709551615",
            "is not an integer from 0 to 9223372036854775807",
        ),
        Case::wrong(
            "/v1/allocate",
            &change(allocate("c1"), "cooldown_seconds", json!(2_678_401)),
            "cooldown_seconds",
            "2678401",
            "is longer than 31 days (2678400 s)",
        ),
    ]
}

fn releases() -> Vec<Case> {
    let hold = json!({"space": "prod", "address": "10.10.3.1", "step": 0, "reason": "node gone",
        "evidence": {"node": "node-1"}});
    let wrong = |key: &'static str, value: Value, shown: &str, problem: &str| {
        Case::wrong(
            "/v1/holds/release",
            &change(hold.clone(), key, value),
            key,
            shown,
            problem,
        )
    };
    let evidence = |key: &'static str, evidence: Value, shown: &str, problem: &str| {
        let body = change(hold.clone(), "evidence", evidence);
        Case::wrong("/v1/holds/release", &body, key, shown, problem)
    };
    let reason = "is not a reason; write 1 to 256 characters without control characters";
    let integer = "holds a number that is not an integer of 64 bits; write it as a text";
    let long = change(hold.clone(), "evidence", json!({"log": "x".repeat(70_000)}));
    vec![
        wrong(
            "space",
            json!(""),
            "",
            "is not the name of a space; write 1 to 600 bytes without control characters",
        ),
        wrong(
            "address",
            json!("10.10.3"),
            "10.10.3",
            "is not an IP address; write one such as 10.0.0.5 or 2001:db8::5",
        ),
        wrong(
            "step",
            json!(1),
            "1",
            "is not the step of a hold, which is even",
        ),
        wrong("reason", json!(" "), " ", reason),
        wrong("reason", json!("a\nb"), "a\nb", reason),
        wrong("evidence", json!([1]), "[1]", "is not an object"),
        evidence("evidence.age", json!({"age": 1.5}), "1.5", integer),
        evidence(
            "evidence.list[1]",
            json!({"list": [1, 1e40]}),
            "1e+40",
            integer,
        ),
        evidence(
            "evidence.text",
            json!({"text": "a\0"}),
            "\0",
            "holds a NUL character, which PostgreSQL cannot read back as JSON",
        ),
        Case::post(
            "/v1/holds/release",
            &long.to_string(),
            "evidence",
            "70010 bytes",
            "evidence has 70010 bytes; at most 65536 are taken",
        ),
        Case::post(
            "/v1/holds/release",
            &hold.to_string(),
            "space",
            "prod",
            "space \"prod\" does not exist",
        )
        .is(404, "not_found"),
    ]
}

fn others() -> Vec<Case> {
    let import = json!({"cluster": "prod", "range": "10.10.3.0/24", "address": "10.10.3.1",
        "container_id": "c1", "evidence": {}});
    let member = |cluster: &str| json!({"name": "vlan7", "members": [{"cluster": cluster}]});
    let garbage = json!({"cluster": "prod", "node": "node-1", "network": "n",
        "token": {"boot_id": "8f5c1f0e-6a53-4f0e-9d0b-0123456789ab", "boottime_ns": 1},
        "valid": [{"container_id": "c1", "ifname": "net 1"}]});
    let label = "is not a DNS label; write at most 63 of a-z, 0-9 and -, beginning and ending \
                 with a letter or digit";
    vec![
        Case::wrong(
            "/v1/holds/import",
            &change(import.clone(), "range", json!("10.10.3.1-10.10.3.9/24")),
            "range",
            "10.10.3.1-10.10.3.9/24",
            "is not a CIDR; write one such as 10.0.0.0/24",
        ),
        Case::wrong(
            "/v1/holds/import",
            &change(import.clone(), "address", json!("10.10.4.1")),
            "address",
            "10.10.4.1",
            "is not in the range 10.10.3.0/24",
        ),
        Case::wrong(
            "/v1/holds/import",
            &change(import, "container_id", json!("")),
            "container_id",
            "",
            CNI,
        ),
        Case::wrong(
            "/v1/spaces",
            &change(member("prod"), "name", json!("vlan.7")),
            "name",
            "vlan.7",
            label,
        ),
        Case::post(
            "/v1/spaces",
            r#"{"name": "vlan7", "members": []}"#,
            "members",
            "0",
            "members has 0 entries; 1 to 256 are taken",
        ),
        Case::wrong(
            "/v1/spaces",
            &member("PROD"),
            "members[0].cluster",
            "PROD",
            DNS,
        ),
        Case::wrong(
            "/v1/spaces",
            &json!({"name": "vlan7", "members": [{"cluster": "a", "network_name": "b"}, {"cluster": "a", "network_name": "b"}]}),
            "members[1]",
            "a/b",
            "appears twice",
        ),
        Case::wrong(
            "/v1/clusters/Prod/bind",
            &json!({"uid": "u"}),
            "cluster",
            "Prod",
            DNS,
        ),
        Case::wrong(
            "/v1/clusters/prod/bind",
            &json!({"uid": ""}),
            "uid",
            "",
            UID,
        ),
        Case::wrong("/v1/gc", &garbage, "valid[0].ifname", "net 1", IFNAME),
        Case::post(
            "/v1/ranges/check",
            r#"{"cluster": "prod", "ranges": []}"#,
            "ranges",
            "0",
            "ranges has 0 entries; 1 to 16 are taken",
        ),
    ]
}
