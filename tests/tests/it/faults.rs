//! What other address managers were reported to get wrong about ranges and about owners, and the
//! right value of each report, through plugin, API and PostgreSQL.

use anyhow::{Context as _, Result, ensure};
use e2e::binaries;
use e2e::differential::answer::{Answer, Class};
use e2e::differential::case::Case;
use e2e::differential::ours::Ours;
use serde_json::{Value, json};

/// A report, what happens, and what each step must answer: addresses, or the class of a refusal.
pub(super) struct Row(
    pub(super) &'static str,
    pub(super) Value,
    pub(super) &'static [&'static str],
);

fn short(answer: &Answer) -> String {
    if answer.class != Class::Ok {
        return format!("{:?}", answer.class).to_lowercase();
    }
    let ips = answer
        .result
        .as_ref()
        .and_then(|result| result["ips"].as_array());
    let text = |ip: &Value| ip["address"].as_str().unwrap_or_default().to_owned();
    ips.map_or_else(
        || "ok".to_owned(),
        |ips| ips.iter().map(text).collect::<Vec<_>>().join(" "),
    )
}

fn case(number: usize, keys: &Value) -> Result<Case> {
    let mut keys = keys.clone();
    keys["id"] = format!("row-{number}").into();
    if keys["ipam"]["type"].is_null() {
        keys["ipam"]["type"] = "ipledger".into();
    }
    Ok(serde_json::from_value(keys)?)
}

pub(super) fn check(rows: &[Row]) -> Result<()> {
    let ours = Ours::start(binaries::directory()?)?;
    let mut wrong = String::new();
    for (number, Row(report, keys, expected)) in rows.iter().enumerate() {
        let answers = ours.answers(&case(number, keys)?, false)?;
        let told: Vec<String> = answers.iter().map(short).collect();
        if told != *expected {
            wrong += &format!("{report}: {told:?}, not {expected:?}\n{answers:?}\n");
        }
    }
    ensure!(wrong.is_empty(), "{wrong}");
    Ok(())
}

#[test]
fn the_arithmetic_of_ranges_is_right_where_it_was_reported_wrong() -> Result<()> {
    check(&[
        Row(
            "the network's own address was the first grant of a /24",
            json!({"ipam": {"range": "10.0.0.0/24"}, "steps": ["ADD a"]}),
            &["10.0.0.1/24"],
        ),
        Row(
            "an IPv6 exclusion was ignored",
            json!({"ipam": {"range": "2001:db8::/112", "exclude": ["2001:db8::/113"]},
                   "steps": ["ADD a"]}),
            &["2001:db8::8000/112"],
        ),
        Row(
            "the same for a range that begins with zeros",
            json!({"ipam": {"range": "::/112", "exclude": ["::/113"]}, "steps": ["ADD a"]}),
            &["::8000/112"],
        ),
        Row(
            "leading zero hextets shifted the arithmetic",
            json!({"ipam": {"range": "::10/124"}, "steps": ["ADD a", "ADD b"]}),
            &["::11/124", "::12/124"],
        ),
        Row(
            "host-local's key gave \"invalid CIDR\"",
            json!({"ipam": {"subnet": "10.0.0.0/24"}, "steps": ["ADD a"]}),
            &["config"],
        ),
        Row(
            "a container got the broadcast address",
            json!({"ipam": {"range": "10.0.0.0/30"}, "steps": ["ADD a", "ADD b", "ADD c"]}),
            &["10.0.0.1/30", "10.0.0.2/30", "exhausted"],
        ),
        Row(
            "the gateway was handed out",
            json!({"ipam": {"range": "10.0.0.0/30", "gateway": "10.0.0.1"},
                   "steps": ["ADD a", "ADD b"]}),
            &["10.0.0.2/30", "exhausted"],
        ),
        Row(
            "an exclusion was ignored with node slices",
            json!({"ipam": {"range": "10.0.0.0/24", "exclude": ["10.0.0.1"],
                            "node_slice_size": "/28"}, "steps": ["ADD a"]}),
            &["10.0.0.2/24"],
        ),
    ])
}

#[test]
fn the_error_for_a_foreign_key_names_it_and_the_right_one() -> Result<()> {
    let ours = Ours::start(binaries::directory()?)?;
    let keys = json!({"ipam": {"subnet": "10.0.0.0/24"}, "steps": ["ADD a"]});
    let answers = ours.answers(&case(0, &keys)?, false)?;
    let expected =
        "subnet: \"10.0.0.0/24\" is the value of an unknown key; did you mean \"range\"?";
    ensure!(
        answers[0].message.as_deref() == Some(expected),
        "{answers:?}"
    );
    Ok(())
}

#[test]
fn gateway_routes_and_dns_stand_in_the_result_as_they_were_written() -> Result<()> {
    let ours = Ours::start(binaries::directory()?)?;
    let routes = json!([{"dst": "0.0.0.0/0"}]);
    let dns = json!({"nameservers": ["192.0.2.53"], "search": ["example.net"]});
    let keys = json!({"ipam": {"range": "10.0.0.0/24", "gateway": "10.0.0.254",
                               "routes": routes, "dns": dns}, "steps": ["ADD a"]});
    let answers = ours.answers(&case(0, &keys)?, false)?;
    let result = json!({"cniVersion": "1.0.0", "routes": routes, "dns": dns,
                        "ips": [{"address": "10.0.0.1/24", "gateway": "10.0.0.254"}]});
    ensure!(answers[0].result == Some(result), "{answers:?}");
    Ok(())
}

#[test]
fn owners_keep_and_give_back_addresses_where_it_was_reported_wrong() -> Result<()> {
    check(&[
        Row(
            "one key for all interfaces of a pod",
            json!({"ipam": {"range": "10.0.0.0/24"},
                   "steps": ["ADD a", "ADD a@net2", "DEL a", "ADD a@net2", "ADD b"]}),
            &[
                "10.0.0.1/24",
                "10.0.0.2/24",
                "ok",
                "10.0.0.2/24",
                "10.0.0.1/24",
            ],
        ),
        Row(
            "a repeated call drew a second address",
            json!({"ipam": {"range": "10.0.0.0/24"}, "steps": ["ADD a", "ADD a", "ADD a"]}),
            &["10.0.0.1/24", "10.0.0.1/24", "10.0.0.1/24"],
        ),
        Row(
            "a pod that restarts used up addresses",
            json!({"ipam": {"range": "10.0.0.0/30"},
                   "steps": ["ADD a", "ADD a#2", "ADD a#3", "ADD a#4", "ADD b", "ADD c"]}),
            &[
                "10.0.0.1/30",
                "10.0.0.1/30",
                "10.0.0.1/30",
                "10.0.0.1/30",
                "10.0.0.2/30",
                "exhausted",
            ],
        ),
        Row(
            "the retained range won over the definition's new one",
            json!({"ipam": {"range": "10.0.0.0/24"},
                   "others": [{"type": "ipledger", "range": "10.1.0.0/24"}],
                   "steps": ["ADD a", "ADD a#2 1", "ADD b"]}),
            &["10.0.0.1/24", "10.1.0.1/24", "10.0.0.1/24"],
        ),
        Row(
            "another pod of the same name inherited or freed the address",
            json!({"ipam": {"range": "10.0.0.0/24"},
                   "steps": ["ADD a", "ADD a#2!2", "DEL a#2!2", "ADD a", "ADD b"]}),
            &[
                "10.0.0.1/24",
                "10.0.0.2/24",
                "ok",
                "10.0.0.1/24",
                "10.0.0.2/24",
            ],
        ),
        Row(
            "a requested address stayed taken after its pod",
            json!({"ipam": {"range": "10.0.0.0/24", "range_start": "10.0.0.100",
                            "ips_outside_window": true},
                   "net": {"args": {"cni": {"ips": ["10.0.0.50"]}}},
                   "steps": ["ADD a", "ADD b", "DEL a", "ADD b"]}),
            &["10.0.0.50/24", "conflict", "ok", "10.0.0.50/24"],
        ),
    ])
}

#[test]
fn an_old_fixed_address_is_given_back_when_the_pod_asks_for_another() -> Result<()> {
    let ours = Ours::start(binaries::directory()?)?;
    let asking = |ip: &str, step: &str| {
        json!({"ipam": {"range": "10.0.0.0/24"}, "net": {"args": {"cni": {"ips": [ip]}}},
               "steps": [step]})
    };
    for (ip, step, expected) in [
        ("10.0.0.50", "ADD a", "10.0.0.50/24"),
        ("10.0.0.60", "ADD a#2", "10.0.0.60/24"),
        ("10.0.0.50", "ADD b", "10.0.0.50/24"),
    ] {
        let answers = ours.answers(&case(0, &asking(ip, step))?, false)?;
        ensure!(short(&answers[0]) == expected, "{step} {ip}: {answers:?}");
    }
    Ok(())
}

#[test]
fn a_hold_tells_everything_about_its_owner_and_a_conflict_names_it() -> Result<()> {
    let ours = Ours::start(binaries::directory()?)?;
    let keys = json!({"ipam": {"range": "10.0.0.0/24"},
                      "net": {"args": {"cni": {"ips": ["10.0.0.50"]}}},
                      "steps": ["ADD a", "ADD b"]});
    let answers = ours.answers(&case(0, &keys)?, false)?;
    let message = answers[1].message.as_deref().context("a refusal")?;
    for part in ["10.0.0.50", "default/a", "since"] {
        ensure!(message.contains(part), "{part} is not in {message}");
    }
    let holds = ours.service().get("/v1/holds")?;
    let hold = &holds["holds"][0];
    let text = hold.to_string();
    for part in [
        "\"10.0.0.50\"",
        "\"default\"",
        "\"uid-a-1\"",
        "\"node-1\"",
        "\"net1\"",
        "\"a-1-1\"",
        "\"recorded_at\":\"",
    ] {
        ensure!(text.contains(part), "{part} is not in {hold:#}");
    }
    Ok(())
}
