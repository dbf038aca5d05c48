//! Whatever stands in the input, the answer is nothing or one JSON object, and never a panic.

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use crate::api::nobody;
use crate::plugin::{Answer, Plugin};

const KEYS: [&str; 24] = [
    "type",
    "range",
    "range_start",
    "range_end",
    "exclude",
    "ipRanges",
    "gateway",
    "Gateway",
    "routes",
    "dst",
    "gw",
    "dns",
    "nameservers",
    "addresses",
    "address",
    "network_name",
    "cluster",
    "api",
    "queue_dir",
    "timeout_seconds",
    "cooldown",
    "node",
    "token_file",
    "configuration_path",
];

const TEXTS: [&str; 20] = [
    "",
    "ipledger",
    "whereabouts",
    "prod",
    "10.0.0.0/24",
    "10.0.0.5-10.0.0.9/24",
    "10.0.0.255",
    "0.0.0.0/0",
    "255.255.255.255/32",
    "::/0",
    "2001:db8::/64",
    "::ffff:10.0.0.0/95",
    "010.0.0.1",
    "-",
    "/",
    "a-b/c",
    "ffff::-::/128",
    "1.0.0",
    "/dev/null",
    "é\u{0}",
];

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        proptest::sample::select(&TEXTS[..]).prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 24, 6, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            object(inner),
        ]
    })
}

fn object(inner: impl Strategy<Value = Value>) -> impl Strategy<Value = Value> {
    let key = proptest::sample::select(&KEYS[..]);
    proptest::collection::vec((key, inner), 0..8).prop_map(|entries| {
        let entries = entries
            .into_iter()
            .map(|(key, value)| (key.to_owned(), value));
        Value::Object(entries.collect::<Map<_, _>>())
    })
}

fn check(answer: &Answer) {
    assert!(answer.status <= 1);
    if answer.status == 1 || !answer.stdout.is_empty() {
        assert!(answer.json().is_object());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, ..ProptestConfig::default() })]

    // STATUS reads a definition in full and asks once; with nobody there it never waits.
    #[test]
    fn on_any_definition(ipam in object(value()), lenient: bool, other in value()) {
        let mut ipam = ipam;
        ipam["type"] = json!(if lenient { "whereabouts" } else { "ipledger" });
        ipam["cluster"] = json!("prod");
        let definition = json!({ "cniVersion": "1.1.0", "name": "n", "ipam": ipam,
                                 "args": other, "runtimeConfig": { "ips": other } });
        check(&Plugin::new("STATUS", &nobody()).definition(&definition).run_inside());
    }

    #[test]
    fn on_any_bytes(bytes: Vec<u8>, command in "ADD|DEL|CHECK|GC|STATUS|VERSION|[a-zA-Z]{0,4}") {
        let command = if command.is_empty() { "X" } else { &command };
        check(&Plugin::new(command, &nobody()).stdin(bytes).run_inside());
    }

    #[test]
    fn on_any_environment(id: String, ifname: String, arguments: String) {
        let definition = json!({ "cniVersion": "1.0.0", "name": "n",
            "ipam": { "type": "ipledger", "cluster": "prod", "range": 5 } });
        let plugin = Plugin::new("ADD", &nobody()).definition(&definition);
        let plugin = plugin.variable("CNI_CONTAINERID", id).variable("CNI_IFNAME", ifname);
        let answer = plugin.variable("CNI_ARGS", arguments).run_inside();
        prop_assert_eq!(answer.status, 1);
        check(&answer);
    }
}
