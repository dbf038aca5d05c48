//! Environment, standard input, the top level, and how to reach the ledger.

use serde_json::{Value, json};

use super::{add, ipam, lenient, table, top};

#[test]
fn the_environment() {
    let command = "is no CNI command (ADD, DEL, CHECK, GC, STATUS, VERSION)";
    table(vec![
        (
            add().variable("CNI_COMMAND", "add"),
            4,
            &format!("CNI_COMMAND: \"add\" {command}"),
        ),
        (
            add().variable("CNI_COMMAND", "ADD "),
            4,
            &format!("CNI_COMMAND: \"ADD \" {command}"),
        ),
        (
            add().without("CNI_PATH"),
            4,
            "required env variables [CNI_PATH] missing",
        ),
        (
            add().variable("CNI_IFNAME", ""),
            4,
            "required env variables [CNI_IFNAME] missing",
        ),
        (
            add().variable("CNI_IFNAME", "a/b"),
            4,
            "CNI_IFNAME: \"a/b\" contains \"/\" or \":\"",
        ),
        (
            add().variable("CNI_ARGS", "K8S_POD_NAME"),
            4,
            "CNI_ARGS: \"K8S_POD_NAME\" is no pair of the form KEY=VALUE",
        ),
        (
            add().variable("CNI_ARGS", "A=b;K8S_POD_NAME=a=b"),
            4,
            "CNI_ARGS: \"K8S_POD_NAME=a=b\" is no pair of the form KEY=VALUE",
        ),
        (
            add().variable("CNI_ARGS", "IgnoreUnknown=maybe"),
            4,
            "CNI_ARGS: \"IgnoreUnknown=maybe\" is neither true nor false",
        ),
        (
            add().variable("CNI_ARGS", "IP=10.10.3.7,x"),
            4,
            "CNI_ARGS IP: \"x\" is neither an IP address nor one with its /length",
        ),
        (
            lenient(json!({})).variable("CNI_ARGS", "FOO=a;BAR=b"),
            4,
            "CNI_ARGS: [\"FOO=a\",\"BAR=b\"] are unknown keys, and IgnoreUnknown=1 is not set",
        ),
        (
            lenient(json!({})).variable("CNI_ARGS", "IgnoreUnknown=1;"),
            4,
            "CNI_ARGS: \"\" is no pair of the form KEY=VALUE",
        ),
        (
            lenient(json!({})).variable("CNI_ARGS", "IP=10.0.0.1"),
            4,
            "CNI_ARGS IP: \"10.0.0.1\" is not an address with its /length",
        ),
        (
            lenient(json!({})).variable("CNI_ARGS", "GATEWAY=x"),
            4,
            "CNI_ARGS GATEWAY: \"x\" is not an IP address",
        ),
        (
            add().variable("IPLEDGER_API_URL", "http://ledger.example:80"),
            7,
            "IPLEDGER_API_URL: \"http://ledger.example:80\" names a host or no port; write a \
             literal address, for example http://127.0.0.1:8311, http://[::1]:8311 or \
             unix:/run/ipledger/api.sock",
        ),
        (
            add().variable("IPLEDGER_API_URL", "http://127.0.0.1:1,https://127.0.0.1:2"),
            7,
            "IPLEDGER_API_URL: \"https://127.0.0.1:2\" asks for TLS, which is not spoken; use \
             http or unix",
        ),
        (
            add().variable("IPLEDGER_CLUSTER", "Prod"),
            7,
            "IPLEDGER_CLUSTER: \"Prod\" is not a DNS subdomain (lower-case letters, digits, \
             \"-\" and \".\", at most 253)",
        ),
        (
            add().variable("IPLEDGER_CLUSTER_UID", "kube system"),
            7,
            "IPLEDGER_CLUSTER_UID: \"kube system\" is not a UID (1 to 64 visible ASCII characters)",
        ),
        (
            ipam(json!({ "cluster_uid": ["u"] })),
            7,
            "cluster_uid: [\"u\"] is a list, not a string",
        ),
        (
            add().variable("IPLEDGER_TOKEN_FILE", "/does/not/exist"),
            7,
            "token_file: \"/does/not/exist\" cannot be read: No such file or directory",
        ),
    ]);
}

#[test]
fn standard_input() {
    let deep = "[".repeat(500);
    table(vec![
        (add().stdin(""), 6, "stdin: is empty, not a JSON object"),
        (add().stdin(" \n"), 6, "stdin: is empty, not a JSON object"),
        (
            add().stdin("hello"),
            6,
            "stdin: is not JSON: expected value at line 1 column 1",
        ),
        (
            add().stdin("{\"a\":"),
            6,
            "stdin: is not JSON: EOF while parsing a value at line 1 column 5",
        ),
        (
            add().stdin("{} x"),
            6,
            "stdin: is not JSON: trailing characters at line 1 column 4",
        ),
        (add().stdin("[1]"), 6, "stdin: [1] is no JSON object"),
        (add().stdin("null"), 6, "stdin: null is no JSON object"),
        (
            add().stdin([b'{', b'"', 0xff, b'"']),
            6,
            "stdin: is not JSON: invalid unicode code point at line 1 column 3",
        ),
        (
            add().stdin(deep),
            6,
            "stdin: is not JSON: recursion limit exceeded at line 1 column 128",
        ),
        (
            add().stdin(vec![b' '; 5 << 20]),
            6,
            "stdin: the configuration is larger than 4 MiB",
        ),
    ]);
}

#[test]
fn the_top_level() {
    table(vec![
        (
            top(json!({ "name": 5 })),
            7,
            "name: 5 is a number, not a string",
        ),
        (
            top(json!({ "cniVersion": 1.0 })),
            7,
            "cniVersion: 1.0 is a number, not a string",
        ),
        (
            top(json!({ "cniVersion": "1.2.0" })),
            1,
            "cniVersion: \"1.2.0\" is not supported; this plugin speaks 0.1.0, 0.2.0, 0.3.0, \
             0.3.1, 0.4.0, 1.0.0, 1.1.0",
        ),
        (
            top(json!({ "ipam": null })),
            7,
            "ipam: is missing (IPAM config missing 'ipam' key)",
        ),
        (
            top(json!({ "ipam": [] })),
            7,
            "ipam: [] is a list, not an object",
        ),
        (ipam(json!({ "type": null })), 7, "ipam.type: is missing"),
        (
            ipam(json!({ "type": "host-local" })),
            7,
            "ipam.type: \"host-local\" is another plugin; this one serves ipledger and \
             whereabouts",
        ),
        (
            top(json!({ "args": { "cni": { "ips": ["x"] } } })),
            7,
            "args.cni.ips[0]: \"x\" is neither an IP address nor one with its /length",
        ),
        (
            top(json!({ "args": { "cni": 5 } })),
            7,
            "args.cni: 5 is a number, not an object",
        ),
        (
            top(json!({ "capabilities": { "ips": true }, "runtimeConfig": { "ips": "x" } })),
            7,
            "runtimeConfig.ips: \"x\" is a string, not a list",
        ),
        (
            top(json!({ "capabilities": { "ips": 1 }, "runtimeConfig": { "ips": ["10.10.3.7"] } })),
            7,
            "capabilities.ips: 1 is a number, not true or false",
        ),
    ]);
}

#[test]
fn how_to_reach_the_ledger() {
    let away = |keys: Value| ipam(keys).without("IPLEDGER_API_URL");
    let missing = "cluster: the name of the Kubernetes cluster is missing and has no default; set \
                   it in the ipam block, in /etc/cni/net.d/ipledger.d/ipledger.conf, or as \
                   IPLEDGER_CLUSTER";
    table(vec![
        (ipam(json!({ "cluster": null })), 7, missing),
        (ipam(json!({ "cluster": "" })), 7, missing),
        (
            ipam(json!({ "cluster": 7 })),
            7,
            "cluster: 7 is a number, not a string",
        ),
        (
            ipam(json!({ "cluster": "a b" })),
            7,
            "cluster: \"a b\" is not a DNS subdomain (lower-case letters, digits, \"-\" and \
             \".\", at most 253)",
        ),
        (
            ipam(json!({ "queue_dir": "queue" })).without("IPLEDGER_QUEUE_DIR"),
            7,
            "queue_dir: \"queue\" is not an absolute path",
        ),
        (
            ipam(json!({ "token_file": "t" })),
            7,
            "token_file: \"t\" is not an absolute path",
        ),
        (
            ipam(json!({ "token_file": "/dev/null" })),
            7,
            "token_file: the token in the file is empty or not printable ASCII",
        ),
        (
            ipam(json!({ "timeout_seconds": 0.5 })),
            7,
            "timeout_seconds: 0.5 is a number, not a whole number",
        ),
        (
            ipam(json!({ "timeout_seconds": 91 })),
            7,
            "timeout_seconds: 91 is not between 1 and 90",
        ),
        (
            ipam(json!({ "timeout_seconds": -1 })),
            7,
            "timeout_seconds: -1 is not between 1 and 90",
        ),
        (
            ipam(json!({ "node": 1 })).without("NODENAME"),
            7,
            "node: 1 is a number, not a string",
        ),
        (
            ipam(json!({ "configuration_path": "/does/not/exist" })),
            7,
            "configuration_path: \"/does/not/exist\" does not exist",
        ),
        (
            ipam(json!({ "configuration_path": 5 })),
            7,
            "configuration_path: 5 is a number, not a string",
        ),
    ]);
    for (api, message) in [
        (json!(5), "api: 5 is neither a string nor a list of strings"),
        (json!([5]), "api[0]: 5 is a number, not a string"),
        (
            json!(["unix:a"]),
            "api[0]: \"unix:a\" needs the absolute path of a socket",
        ),
        (
            json!("tcp://127.0.0.1:1"),
            "api: \"tcp://127.0.0.1:1\" has an unknown scheme; use http or unix",
        ),
    ] {
        assert_eq!(
            away(json!({ "api": api })).run().failure(),
            (7, message.to_owned())
        );
    }
}
