//! Checklist P10: requested addresses, and the static ones.

use ipledger_client::types::ProblemCode;
use serde_json::{Value, json};

use crate::api::{Api, kind_api, nobody, problem_about};
use crate::plugin::{Plugin, strict, whereabouts, with, with_ipam};

/// The addresses that the API is asked for.
fn asked(definition: &Value, arguments: &str) -> (Value, String) {
    let api = kind_api();
    let plugin = Plugin::new("ADD", &api.url()).variable("CNI_ARGS", arguments);
    let answer = plugin.definition(definition).run();
    assert_eq!(answer.status, 0, "{answer:?}");
    (api.bodies("/v1/allocate")[0]["ips"].clone(), answer.stderr)
}

fn runtime(ips: Value) -> Value {
    json!({ "capabilities": { "ips": true }, "runtimeConfig": { "ips": ips } })
}

#[test]
fn p10_the_capability_the_convention_and_cni_args_are_understood() {
    let capability = with(strict(), runtime(json!(["10.10.3.7/24", "10.10.3.8"])));
    assert_eq!(asked(&capability, "").0, json!(["10.10.3.7", "10.10.3.8"]));
    let args = with(
        strict(),
        json!({ "args": { "cni": { "ips": ["10.10.3.9"] } } }),
    );
    assert_eq!(asked(&args, "").0, json!(["10.10.3.9"]));
    let arguments = "IgnoreUnknown=1;IP=10.10.3.11/24,10.10.3.12";
    assert_eq!(
        asked(&strict(), arguments).0,
        json!(["10.10.3.11", "10.10.3.12"])
    );
    assert_eq!(asked(&strict(), "").0, json!(null));
}

#[test]
fn p10_the_capability_wins_over_the_convention_and_that_over_cni_args() {
    let args = json!({ "args": { "cni": { "ips": ["10.10.3.9"] } } });
    let both = with(with(strict(), runtime(json!(["10.10.3.7"]))), args.clone());
    assert_eq!(asked(&both, "IP=10.10.3.11").0, json!(["10.10.3.7"]));
    assert_eq!(
        asked(&with(strict(), args), "IP=10.10.3.11").0,
        json!(["10.10.3.9"])
    );
}

#[test]
fn p10_the_runtime_configuration_counts_only_with_the_capability() {
    for capabilities in [json!(null), json!({}), json!({ "ips": false })] {
        let keys = json!({ "capabilities": capabilities,
                           "runtimeConfig": { "ips": ["10.10.3.7"] } });
        let (ips, stderr) = asked(&with(strict(), keys), "");
        assert_eq!(ips, json!(null));
        assert!(stderr.contains("runtimeConfig.ips is ignored"), "{stderr}");
    }
}

#[test]
fn p10_for_whereabouts_cni_args_mean_an_additional_static_address() {
    let api = kind_api();
    let arguments = "IgnoreUnknown=1;IP=192.168.9.9/24, 192.168.10.9/24;GATEWAY=192.168.9.1";
    let plugin = Plugin::new("ADD", &api.url()).variable("CNI_ARGS", arguments);
    let definition = with_ipam(whereabouts(), json!({ "cluster": "prod" }));
    let answer = plugin.definition(&definition).run();
    let ips = json!([
        { "version": "4", "address": "10.10.3.30/24" },
        { "version": "4", "address": "192.168.9.9/24", "gateway": "192.168.9.1" },
        { "version": "4", "address": "192.168.10.9/24" },
    ]);
    assert_eq!(answer.json()["ips"], ips);
    assert_eq!(api.bodies("/v1/allocate")[0]["ips"], json!(null));
}

#[test]
fn static_addresses_come_last_with_gateways_of_their_own() {
    let addresses = json!([{ "address": "192.168.9.9/24", "gateway": "192.168.9.1" },
                           { "address": "2001:db8::9/64" }]);
    let definition = with_ipam(
        strict(),
        json!({ "addresses": addresses, "gateway": "10.10.3.1" }),
    );
    let answer = Plugin::new("ADD", &kind_api().url())
        .definition(&definition)
        .run();
    let ips = json!([
        { "address": "10.10.3.30/24", "gateway": "10.10.3.1" },
        { "address": "192.168.9.9/24", "gateway": "192.168.9.1" },
        { "address": "2001:db8::9/64" },
    ]);
    assert_eq!(answer.json()["ips"], ips);
}

#[test]
fn static_addresses_alone_need_no_api() {
    let definition = with_ipam(
        strict(),
        json!({ "range": null, "addresses": [{ "address": "192.168.9.9/24" }] }),
    );
    for command in ["ADD", "CHECK"] {
        let answer = Plugin::new(command, &nobody())
            .definition(&definition)
            .run();
        assert_eq!(answer.status, 0, "{answer:?}");
    }
}

#[test]
fn a_refusal_names_where_the_address_was_requested() {
    let api = Api::start(|_, _| {
        let detail = "ips[0]: 10.10.3.7 is held by default/other since 2026-01-01";
        problem_about(ProblemCode::AddressTaken, Some("ips[0]"), detail)
    });
    let plugin =
        Plugin::new("ADD", &api.url()).definition(&with(strict(), runtime(json!(["10.10.3.7"]))));
    let message = "runtimeConfig.ips[0]: 10.10.3.7 is held by default/other since 2026-01-01";
    assert_eq!(plugin.run().failure(), (102, message.to_owned()));
    let plugin = Plugin::new("ADD", &api.url()).variable("CNI_ARGS", "IP=10.10.3.7");
    let message = "CNI_ARGS IP: 10.10.3.7 is held by default/other since 2026-01-01";
    assert_eq!(plugin.run().failure(), (102, message.to_owned()));
}

#[test]
fn ranges_of_the_runtime_are_refused_and_not_passed_over() {
    let ranges = json!([[{ "subnet": "10.10.4.0/24", "rangeStart": "10.10.4.9" }]]);
    let keys = json!({ "capabilities": { "ipRanges": true },
                       "runtimeConfig": { "ipRanges": ranges } });
    let api = kind_api();
    for command in ["ADD", "CHECK"] {
        let definition = with(strict(), keys.clone());
        let call = Plugin::new(command, &api.url()).definition(&definition);
        let (code, message) = call.run().failure();
        assert_eq!(code, 2, "{message}");
        assert!(
            message.starts_with("runtimeConfig.ipRanges: [[{\"rangeStart\":\"10.10.4.9\""),
            "{message}"
        );
    }
    assert!(api.requests().is_empty());
    // A DEL must work whatever became of the definition.
    let definition = with(strict(), keys.clone());
    let del = Plugin::new("DEL", &api.url()).definition(&definition);
    del.run().assert_silent_success();
    // As whereabouts does, and with a warning.
    let definition = with(whereabouts(), keys);
    let add = Plugin::new("ADD", &api.url()).definition(&definition);
    let answer = add.variable("IPLEDGER_CLUSTER", "prod").run();
    assert_eq!(answer.status, 0, "{answer:?}");
    assert!(
        answer.stderr.contains("warning: runtimeConfig.ipRanges: "),
        "{answer:?}"
    );
    let nothing = json!({ "runtimeConfig": { "ipRanges": [] } });
    let definition = with(strict(), nothing);
    let add = Plugin::new("ADD", &api.url()).definition(&definition);
    assert_eq!(add.run().status, 0);
}

/// The range that is asked for when this address is requested.
fn range_asked(keys: Value, ip: &str) -> Value {
    let definition = with_ipam(strict(), keys);
    let definition = with(definition, json!({ "args": { "cni": { "ips": [ip] } } }));
    let api = kind_api();
    let answer = Plugin::new("ADD", &api.url()).definition(&definition).run();
    assert_eq!(answer.status, 0, "{answer:?}");
    api.bodies("/v1/allocate")[0]["ranges"][0].clone()
}

#[test]
fn a_definition_can_allow_fixed_addresses_outside_its_window() {
    let window = json!({ "range_start": "10.10.3.100", "exclude": ["10.10.3.5"],
                         "gateway": "10.10.3.1" });
    let allowed = json!({ "range_start": "10.10.3.100", "exclude": ["10.10.3.5"],
                          "gateway": "10.10.3.1", "ips_outside_window": true });
    let narrow = json!({ "range": "10.10.3.0/24", "range_start": "10.10.3.100",
                         "exclude": ["10.10.3.5"] });
    // The gateway stays what it is, whoever asks.
    let wide = json!({ "range": "10.10.3.0/24", "exclude": ["10.10.3.1"] });
    assert_eq!(range_asked(window, "10.10.3.5"), narrow);
    assert_eq!(range_asked(allowed.clone(), "10.10.3.5"), wide);
    // Another network is no matter of the window.
    assert_eq!(range_asked(allowed, "10.10.4.5"), narrow);
}
