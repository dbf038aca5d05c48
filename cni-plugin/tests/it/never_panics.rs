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

/// Definitions with every key, to be damaged.
const WHOLE: [&str; 3] = [
    r#"{"cniVersion":"1.0.0","name":"n","ipam":{"type":"ipledger","cluster":"prod",
      "range":"10.0.0.5-10.0.0.9/24","exclude":["10.0.0.6","10.0.0.8/31","10.0.0.1-10.0.0.2"],
      "ipRanges":[{"range":"2001:db8::/64","range_start":"2001:db8::5"}],"gateway":"10.0.0.1",
      "routes":[{"dst":"0.0.0.0/0","gw":"10.0.0.1","mtu":1400}],"dns":{"search":["a"]}},
      "capabilities":{"ips":true},"runtimeConfig":{"ips":["10.0.0.7/24"]}}"#,
    r#"{"cniVersion":"0.3.1","name":"n","ipam":{"type":"whereabouts","cluster":"prod",
      "range":"010.000.000.000/24","range_start":"10.0.0.5","range_end":"010.0.0.9",
      "exclude":["10.0.0.6/30"],"Gateway":"10.0.0.1","gateway":"10.0.0.254",
      "addresses":[{"address":"010.0.1.5/24","gateway":"10.0.1.1"}],
      "enable_overlapping_ranges":false,"network_name":"blue","node_slice_size":"/26"}}"#,
    r#"{"cniVersion":"0.2.0","name":"n","ipam":{"type":"whereabouts","cluster":"prod",
      "range":"::ffff:10.0.0.0/104","RANGE":null,"ipRanges":[{"range":"fd00::/8"}]},
      "args":{"cni":{"ips":["10.0.0.7"]}}}"#,
];

/// What a fuzzer does to an input, bounded: cut, doubled, swapped and foreign bytes.
fn damaged() -> impl Strategy<Value = Vec<u8>> {
    let place = any::<proptest::sample::Index>();
    let byte = prop_oneof![
        any::<u8>(),
        proptest::sample::select(&br#"0123456789abcdef.:/-,[]{}" "#[..]),
    ];
    let slips = proptest::collection::vec((place, byte, 0..4u8), 1..6);
    (proptest::sample::select(&WHOLE[..]), slips).prop_map(|(text, slips)| {
        let mut bytes = text.as_bytes().to_vec();
        for (place, byte, kind) in slips {
            let at = place.index(bytes.len());
            match kind {
                0 => bytes[at] = byte,
                1 => bytes.insert(at, byte),
                2 if bytes.len() > 1 => drop(bytes.remove(at)),
                _ => bytes.truncate(at.max(1)),
            }
        }
        bytes
    })
}

#[test]
fn undamaged_they_are_understood() {
    for text in WHOLE {
        let request = Plugin::new("ADD", &nobody()).stdin(text).plan();
        request.unwrap().expect("each has a range");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4000, ..ProptestConfig::default() })]

    // The entry of fuzz/fuzz_targets/definition.rs.
    #[test]
    fn on_damaged_definitions(bytes in damaged()) {
        let plan = Plugin::new("ADD", &nobody()).stdin(bytes).plan();
        if let Err(error) = plan {
            prop_assert!(!error.message.is_empty());
        }
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
