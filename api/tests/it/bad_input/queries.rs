//! Wrong query parameters.

use super::Case;

pub(super) fn cases() -> Vec<Case> {
    let number = "is not an integer from 0 on";
    let limit = "is not an integer from 1 to 5000";
    let dns = "is not a DNS subdomain; write at most 253 of a-z, 0-9, - and ., each part \
               beginning and ending with a letter or digit";
    let wrong = |path: &str, key: &'static str, value: &str, problem: &str| {
        Case::get(path, key, value, &format!("{key} {value:?} {problem}"))
    };
    let missing =
        |path: &str, key: &'static str| Case::get(path, key, "-", &format!("{key} is missing"));
    vec![
        missing("/v1/attachments", "cluster"),
        missing(
            "/v1/attachments?cluster=prod&network=n&container_id=c",
            "ifname",
        ),
        wrong(
            "/v1/attachments?cluster=prod&network=n&container_id=c&ifname=a%2Fb",
            "ifname",
            "a/b",
            "is not the name of an interface; write 1 to 15 bytes without /, : and white space",
        ),
        wrong(
            "/v1/attachments?cluster=prod&network=n&container_id=c&ifname=net1&node=n1",
            "node",
            "n1",
            "is not a parameter here; there are cluster, network, container_id, ifname",
        ),
        wrong("/v1/holds?cluster=Prod", "cluster", "Prod", dns),
        wrong("/v1/holds?pod=", "pod", "", dns),
        wrong(
            "/v1/holds?space=prod&space=dev",
            "space",
            "dev",
            "appears twice",
        ),
        wrong("/v1/holds?limit=0", "limit", "0", limit),
        wrong("/v1/holds?limit=5001", "limit", "5001", limit),
        wrong("/v1/holds?limit=ten", "limit", "ten", limit),
        wrong("/v1/holds?space=prod&as_of=-1", "as_of", "-1", number),
        wrong("/v1/holds?space=prod&as_of=now", "as_of", "now", number),
        missing("/v1/holds?as_of=7", "space"),
        wrong(
            "/v1/holds?address=10.0.0.256",
            "address",
            "10.0.0.256",
            "is not an IP address; write one such as 10.0.0.5 or 2001:db8::5",
        ),
        wrong(
            "/v1/holds?address=%3A%3Affff%3A10.0.0.1",
            "address",
            "::ffff:10.0.0.1",
            "is an IPv4-mapped IPv6 address; write 10.0.0.1",
        ),
        wrong(
            "/v1/holds?node=%FF",
            "node",
            "%FF",
            "is not UTF-8 in percent encoding",
        ),
        wrong(
            "/v1/holds?cursor=nope",
            "cursor",
            "nope",
            "is not a cursor of this service",
        ),
        wrong(
            "/v1/spaces?cursor=",
            "cursor",
            "",
            "is not a cursor of this service",
        ),
        missing("/v1/events", "space"),
        wrong(
            "/v1/events?space=",
            "space",
            "",
            "is not the name of a space; write 1 to 600 bytes without control characters",
        ),
        wrong("/v1/events?space=prod&limit=1e3", "limit", "1e3", limit),
        Case::get(
            "/v1/events?space=nowhere",
            "space",
            "nowhere",
            "space \"nowhere\" does not exist",
        )
        .is(404, "not_found"),
        Case::get(
            "/v1/holds?space=nowhere",
            "space",
            "nowhere",
            "space \"nowhere\" does not exist",
        )
        .is(404, "not_found"),
        Case::get(
            "/v1/pools?space=nowhere",
            "space",
            "nowhere",
            "space \"nowhere\" does not exist",
        )
        .is(404, "not_found"),
        Case::get(
            "/v1/windows?space=nowhere",
            "space",
            "nowhere",
            "space \"nowhere\" does not exist",
        )
        .is(404, "not_found"),
        wrong(
            "/v1/pools?cidr=10.0.0.0/24",
            "cidr",
            "10.0.0.0/24",
            "is not a parameter here; there are space, limit, cursor",
        ),
    ]
}
