//! Checklist section 4: CHECK.

use ipledger_client::types::ProblemCode;
use serde_json::{Value, json};

use crate::api::{Api, Reply, allocated, nobody, problem};
use crate::plugin::{Answer, Plugin, strict, with, with_ipam};

fn previous(addresses: &[&str]) -> Value {
    let ips: Vec<_> = addresses
        .iter()
        .map(|address| json!({ "address": address }))
        .collect();
    json!({ "prevResult": { "cniVersion": "1.0.0", "ips": ips } })
}

/// CHECK of a definition with this previous result, where the ledger holds these addresses.
fn check(definition: &Value, addresses: &[&str], held: &'static [&'static str]) -> Answer {
    let api = Api::start(move |_, _| {
        if held.is_empty() {
            problem(ProblemCode::NotFound)
        } else {
            allocated(held)
        }
    });
    let definition = with(definition.clone(), previous(addresses));
    let plugin = Plugin::new("CHECK", &api.url()).definition(&definition);
    let answer = plugin.run();
    let lines: Vec<_> = api
        .requests()
        .into_iter()
        .map(|request| request.line)
        .collect();
    let read = "GET /v1/attachments?cluster=prod&network=super%2Dnet&container_id=c0ffee&\
                ifname=net1";
    assert_eq!(lines, [read], "CHECK reads once and writes nothing");
    answer
}

#[test]
fn c1_c7_what_was_given_is_still_reserved() {
    check(&strict(), &["10.10.3.30/24"], &["10.10.3.30/24"]).assert_silent_success();
    let dual = with_ipam(
        strict(),
        json!({ "ipRanges": [{ "range": "2001:db8::/64" }] }),
    );
    let addresses = ["10.10.3.30/24", "2001:db8::1/64"];
    check(&dual, &addresses, &["10.10.3.30/24", "2001:db8::1/64"]).assert_silent_success();
}

#[test]
fn c2_what_is_not_reserved_is_code_104_and_named() {
    let none = check(&strict(), &["10.10.3.30/24"], &[]).failure();
    assert_eq!(
        none,
        (
            104,
            "the ledger holds no address for this attachment".to_owned()
        )
    );
    let other = check(&strict(), &["10.10.3.30/24"], &["10.10.3.31/24"]).failure();
    let message = "prevResult has 10.10.3.30, but the ledger holds 10.10.3.31 for this attachment";
    assert_eq!(other, (104, message.to_owned()));
    let more = check(&strict(), &[], &["10.10.3.31/24"]).failure();
    let message = "the ledger holds 10.10.3.31 for this attachment, which prevResult does not have";
    assert_eq!(more, (104, message.to_owned()));
}

/// Of an imported hold the ledger may not know the interface: it names all of the sandbox.
#[test]
fn c2_a_range_is_in_order_if_one_of_its_addresses_is() {
    let held = &["10.10.3.30/24", "10.10.3.31/24"];
    check(&strict(), &["10.10.3.30/24"], held).assert_silent_success();
    let dual = with_ipam(
        strict(),
        json!({ "ipRanges": [{ "range": "2001:db8::/64" }] }),
    );
    let held = &["10.10.3.30/24", "2001:db8::1/64"];
    let (code, message) = check(&dual, &["10.10.3.30/24"], held).failure();
    assert_eq!(code, 104);
    assert!(message.contains("2001:db8::1"), "{message}");
}

#[test]
fn c2_without_a_previous_result_the_hold_itself_counts() {
    let api = Api::start(|_, _| allocated(&["10.10.3.30/24"]));
    Plugin::new("CHECK", &api.url())
        .run()
        .assert_silent_success();
    let api = Api::start(|_, _| problem(ProblemCode::NotFound));
    assert_eq!(Plugin::new("CHECK", &api.url()).run().code(), 104);
}

#[test]
fn c4_addresses_of_others_are_not_judged() {
    let addresses = ["10.10.3.30/24", "192.168.7.7/24", "10.10.3.99/24"];
    let definition = with_ipam(
        strict(),
        json!({ "addresses": [{ "address": "10.10.3.99/24" }] }),
    );
    check(&definition, &addresses, &["10.10.3.30/24"]).assert_silent_success();
}

#[test]
fn c5_what_cannot_be_told_is_code_11() {
    let definition = with_ipam(strict(), json!({ "timeout_seconds": 1 }));
    let definition = with(definition, previous(&["10.10.3.30/24"]));
    let plugin = Plugin::new("CHECK", &nobody()).definition(&definition);
    assert_eq!(plugin.run().code(), 11);
    for reply in [ProblemCode::DatabaseUnavailable, ProblemCode::Internal] {
        let api = Api::start(move |_, _| problem(reply));
        let plugin = Plugin::new("CHECK", &api.url()).definition(&definition);
        assert_eq!(plugin.run().code(), 11);
    }
    let api = Api::start(|_, _| Reply::Raw("garbage".to_owned()));
    assert_eq!(
        Plugin::new("CHECK", &api.url())
            .definition(&definition)
            .run()
            .code(),
        11
    );
}

#[test]
fn c6_it_never_allocates_and_queues_nothing() {
    let definition = with_ipam(strict(), json!({ "timeout_seconds": 1 }));
    let plugin = Plugin::new("CHECK", &nobody()).definition(&definition);
    plugin.run();
    assert!(plugin.queued().is_empty());
}

#[test]
fn check_came_with_0_4_0() {
    for version in ["0.1.0", "0.2.0", "0.3.0", "0.3.1"] {
        let definition = with(strict(), json!({ "cniVersion": version }));
        let failure = Plugin::new("CHECK", &nobody())
            .definition(&definition)
            .run()
            .failure();
        let message =
            format!("cniVersion: \"{version}\" does not allow CHECK (it came with 0.4.0)");
        assert_eq!(failure, (1, message));
    }
    for version in ["0.4.0", "1.0.0", "1.1.0"] {
        let definition = with(strict(), json!({ "cniVersion": version }));
        check(&definition, &["10.10.3.30/24"], &["10.10.3.30/24"]).assert_silent_success();
    }
}
