//! Allocate and look-up: every outcome.

use serde_json::{Value, json};

use crate::support::{Api, allocate, allocate_from, attachment, release, wait_until};

const ONE: &str = "10.10.3.30";

/// A range of exactly one address.
fn one_address() -> Value {
    json!([{"range": "10.10.3.0/24", "range_start": ONE, "range_end": ONE}])
}

fn with(mut request: Value, key: &str, value: Value) -> Value {
    request[key] = value;
    request
}

fn token(boottime_ns: u64) -> Value {
    json!({"boot_id": "8f5c1f0e-6a53-4f0e-9d0b-0123456789ab", "boottime_ns": boottime_ns})
}

#[tokio::test]
async fn a_repeat_gets_the_same_answer_and_a_look_up_too() {
    let api = Api::start().await;
    let first = api.must_post("/v1/allocate", &allocate("c1")).await;
    assert_eq!(first["repeated"], false);
    assert_eq!(first["epoch"], 1);
    let address = &first["addresses"][0];
    assert_eq!(address["address"], "10.10.3.1");
    assert_eq!(address["prefix_length"], 24);
    assert_eq!(address["space"], "prod");
    assert_eq!(address["pool"], "10.10.3.0/24");
    assert_eq!((&address["step"], &address["seq"]), (&json!(0), &json!(1)));
    let recorded_at = address["recorded_at"].as_str().unwrap();
    assert!(
        recorded_at.ends_with('Z') && recorded_at.len() == 27,
        "{recorded_at}"
    );

    let repeat = api.must_post("/v1/allocate", &allocate("c1")).await;
    assert_eq!(repeat, with(first.clone(), "repeated", json!(true)));
    let found = api
        .must_get("/v1/attachments?cluster=prod&network=super-net&container_id=c1&ifname=net1")
        .await;
    assert_eq!(found, repeat);
}

#[tokio::test]
async fn an_attachment_without_addresses_is_not_found() {
    let api = Api::start().await;
    let path = "/v1/attachments?cluster=prod&network=super-net&container_id=c9&ifname=net1";
    let answer = api.get(path).await;
    assert_eq!(answer.problem(), (404, "not_found".to_owned()));
    assert_eq!(
        answer.detail(),
        "container_id \"c9\" holds no address with ifname \"net1\" on network \"super-net\" of \
         cluster \"prod\""
    );
}

#[tokio::test]
async fn several_ranges_get_an_address_each_or_none() {
    let api = Api::start().await;
    let both =
        json!([{"range": "10.10.3.0/24"}, {"range": "fd00:3::/64"}, {"range": "10.10.3.0/24"}]);
    let addresses = api.addresses(&allocate_from("c1", &both)).await;
    assert_eq!(addresses, ["10.10.3.1", "fd00:3::1", "10.10.3.2"]);

    let second_is_full = json!([
        {"range": "10.10.5.0/24"}, {"range": "10.10.3.0/30", "range_end": "10.10.3.2"}]);
    let answer = api
        .post("/v1/allocate", &allocate_from("c3", &second_is_full))
        .await;
    assert_eq!(answer.problem(), (507, "exhausted".to_owned()));
    let holds = api.must_get("/v1/holds?container_id=c3").await;
    assert_eq!(
        holds["holds"],
        json!([]),
        "nothing of the other range either"
    );
}

#[tokio::test]
async fn other_content_for_the_same_attachment_is_a_conflict_that_names_the_field() {
    let api = Api::start().await;
    api.addresses(&allocate("c1")).await;
    let mut other_pod = allocate("c1");
    other_pod["owner"]["name"] = json!("another");
    for (request, key, value) in [
        (other_pod, "owner", "another"),
        (
            allocate_from("c1", &json!([{"range": "10.10.4.0/24"}])),
            "ranges[0]",
            "10.10.4.0/24",
        ),
        (
            with(allocate("c1"), "ips", json!(["10.10.3.9"])),
            "ips",
            "10.10.3.9",
        ),
        (
            with(allocate("c1"), "network_name", json!("blue")),
            "network_name",
            "blue",
        ),
    ] {
        let answer = api.post("/v1/allocate", &request).await;
        assert_eq!(answer.problem(), (409, "attachment_conflict".to_owned()));
        assert_eq!(answer.json()["key"], key, "{}", answer.text);
        let shown = answer.json()["value"].as_str().unwrap().to_owned();
        assert!(shown.contains(value), "{}", answer.text);
        assert!(answer.detail().contains("10.10.3.1"), "{}", answer.text);
    }
}

#[tokio::test]
async fn a_held_fixed_address_is_refused_naming_the_holder() {
    let api = Api::start().await;
    let fixed = |container| with(allocate(container), "ips", json!([ONE]));
    assert_eq!(api.addresses(&fixed("c1")).await, [ONE]);
    let answer = api.post("/v1/allocate", &fixed("c2")).await;
    assert_eq!(answer.problem(), (409, "address_taken".to_owned()));
    let body = answer.json();
    let holder = &body["holder"];
    assert_eq!(holder["address"], ONE);
    assert_eq!(holder["pod"], "default/pod-c1");
    assert_eq!(holder["uid"], "uid-c1");
    assert_eq!(holder["node"], "node-1");
    assert_eq!(holder["container_id"], "c1");
    assert_eq!(holder["ifname"], "net1");
    assert_eq!(holder["step"], 0);
    let since = holder["since"].as_str().unwrap();
    assert_eq!(
        answer.detail(),
        format!(
            "ips \"{ONE}\" is held (step 0 of space prod, event 1) by default/pod-c1 net1 on node-1 \
             (cluster prod, container c1) since {since}"
        )
    );
    assert_eq!((&body["key"], &body["value"]), (&json!("ips"), &json!(ONE)));
}

/// The holder is looked up as well as may be; where it stands in the ledger is known without.
#[tokio::test]
async fn a_held_address_is_placed_even_if_its_holder_cannot_be_looked_up() {
    let api = Api::start().await;
    let fixed = |container| with(allocate(container), "ips", json!([ONE]));
    api.addresses(&fixed("c1")).await;
    let sql = api.sql().await;
    sql.run("begin; lock table ipledger.addresses in access exclusive mode")
        .await;
    let asked = std::time::Instant::now();
    let answer = api.post("/v1/allocate", &fixed("c2")).await;
    assert_eq!(answer.problem(), (409, "address_taken".to_owned()));
    let placed = format!("ips \"{ONE}\" is held (step 0 of space prod, event 1)");
    assert_eq!(answer.detail(), placed);
    assert_eq!(answer.json()["holder"], json!(null));
    // The database does not go on looking for nobody.
    let looking = "select count(*) from pg_stat_activity where datname = current_database() \
         and query like '%payloads%' and wait_event_type = 'Lock'";
    wait_until("nobody looks", async || sql.number(looking).await == 0).await;
    assert!(asked.elapsed() < std::time::Duration::from_secs(5));
    sql.let_go().await;
}

#[tokio::test]
async fn a_fixed_address_outside_of_every_range_is_refused() {
    let api = Api::start().await;
    api.addresses(&allocate("c1")).await;
    let answer = api
        .post(
            "/v1/allocate",
            &with(allocate("c2"), "ips", json!(["10.10.4.7"])),
        )
        .await;
    assert_eq!(answer.problem(), (422, "address_outside_window".to_owned()));
    let body = answer.json();
    assert_eq!(
        (&body["key"], &body["value"]),
        (&json!("ips"), &json!("10.10.4.7"))
    );
}

#[tokio::test]
async fn a_full_range_is_refused_naming_the_oldest_hold() {
    let api = Api::start().await;
    api.addresses(&allocate_from("c1", &one_address())).await;
    let answer = api
        .post("/v1/allocate", &allocate_from("c2", &one_address()))
        .await;
    assert_eq!(answer.problem(), (507, "exhausted".to_owned()));
    let body = answer.json();
    let named = (&body["key"], &body["value"]);
    assert_eq!(named, (&json!("ranges[0].range"), &json!("10.10.3.0/24")));
    let detail = answer.detail();
    assert!(
        detail.starts_with(
            "ranges[0].range: no address is free in 10.10.3.0/24 (10.10.3.30 - 10.10.3.30): capacity 1, held 1, \
             cooling 0; the oldest hold is 10.10.3.30 of default/pod-c1 net1 on node-1 (cluster \
             prod, container c1) since "
        ),
        "{detail}"
    );
}

#[tokio::test]
async fn a_resting_address_is_refused_until_it_has_rested() {
    let api = Api::start().await;
    let request = with(
        allocate_from("c1", &one_address()),
        "cooldown_seconds",
        json!(3000),
    );
    api.addresses(&request).await;
    api.must_post("/v1/release", &release("c1")).await;

    let answer = api
        .post("/v1/allocate", &allocate_from("c2", &one_address()))
        .await;
    assert_eq!(answer.problem(), (507, "cooling".to_owned()));
    let seconds: u64 = answer.header("retry-after").unwrap().parse().unwrap();
    assert!((2900..=3001).contains(&seconds), "{seconds}");

    let fixed = with(allocate("c2"), "ips", json!([ONE]));
    let answer = api.post("/v1/allocate", &fixed).await;
    assert_eq!(answer.problem(), (409, "address_cooling".to_owned()));
    assert!(
        answer
            .detail()
            .starts_with(&format!("ips \"{ONE}\" rests after its release until "))
    );

    let same_pod = allocate_from("c1", &one_address());
    let mut newer = with(same_pod, "attachment", attachment("c1b"));
    newer["owner"]["name"] = json!("pod-c1");
    assert_eq!(
        api.addresses(&newer).await,
        [ONE],
        "waived for the same owner"
    );
}

#[tokio::test]
async fn a_dry_run_answers_and_writes_nothing() {
    let api = Api::start().await;
    api.addresses(&allocate("c1")).await;
    let answer = api
        .must_post(
            "/v1/allocate",
            &with(allocate("c2"), "dry_run", json!(true)),
        )
        .await;
    assert_eq!(answer["dry_run"], true);
    assert_eq!(
        answer["addresses"],
        json!([{"address": "10.10.3.2", "prefix_length": 24, "space": "prod",
            "pool": "10.10.3.0/24"}])
    );
    assert_eq!(
        api.must_get("/v1/events?space=prod").await["events"]
            .as_array()
            .unwrap()
            .len(),
        1
    );
}

#[tokio::test]
async fn a_newer_sandbox_takes_over_and_the_older_is_stale() {
    let api = Api::start().await;
    let older = with(allocate("c1"), "token", token(100));
    let mut newer = with(older.clone(), "token", token(200));
    newer["attachment"] = attachment("c1-reborn");
    assert_eq!(api.addresses(&older).await, ["10.10.3.1"]);
    assert_eq!(api.addresses(&newer).await, ["10.10.3.1"]);

    let late = with(older, "token", token(150));
    let answer = api.post("/v1/allocate", &late).await;
    assert_eq!(answer.problem(), (409, "stale".to_owned()));
    assert_eq!(answer.json()["key"], "token");
}

#[tokio::test]
async fn an_allocate_behind_its_own_release_is_refused() {
    let api = Api::start().await;
    let empty = api.must_post("/v1/release", &release("c1")).await;
    assert_eq!(empty["released"], json!([]));
    let answer = api.post("/v1/allocate", &allocate("c1")).await;
    assert_eq!(answer.problem(), (409, "deleted".to_owned()));
}

#[tokio::test]
async fn another_cluster_under_the_same_name_is_refused() {
    let api = Api::start().await;
    api.addresses(&with(allocate("c1"), "cluster_uid", json!("uid-of-prod")))
        .await;
    let other = with(allocate("c2"), "cluster_uid", json!("uid-of-another"));
    // The first contact made the space; the name is bound by the next request that says its UID.
    api.addresses(&with(allocate("c3"), "cluster_uid", json!("uid-of-prod")))
        .await;
    let answer = api.post("/v1/allocate", &other).await;
    assert_eq!(answer.problem(), (409, "cluster_mismatch".to_owned()));
    assert_eq!(answer.json()["key"], "cluster_uid");
    assert_eq!(answer.json()["value"], "uid-of-another");
}

#[tokio::test]
async fn a_private_range_is_refused_to_whoever_shares() {
    let api = Api::start().await;
    let private = with(allocate("c1"), "enable_overlapping_ranges", json!(false));
    let first = api.must_post("/v1/allocate", &private).await;
    assert_eq!(first["addresses"][0]["space"], "prod#10.10.3.0/24");
    let answer = api.post("/v1/allocate", &allocate("c2")).await;
    assert_eq!(answer.problem(), (409, "space_conflict".to_owned()));
    assert!(
        answer.detail().contains("prod#10.10.3.0/24"),
        "{}",
        answer.text
    );
}

#[tokio::test]
async fn who_asked_is_recorded() {
    let api = Api::start().await;
    let body = allocate("c1").to_string();
    let headers = [
        ("Content-Type", "application/json"),
        ("X-Ipledger-Actor", "jane@example.com"),
        ("X-Request-Id", "trace-7"),
    ];
    let answer =
        crate::support::exchange(&api.target(), "POST", "/v1/allocate", &headers, &body).await;
    assert_eq!(
        (answer.status, answer.header("x-request-id")),
        (200, Some("trace-7"))
    );
    let events = api.must_get("/v1/events?space=prod").await;
    let payload = &events["events"][0]["payload"];
    assert_eq!(
        payload["actor"],
        json!({"name": "jane@example.com", "authenticated_by": "loopback"})
    );
    assert_eq!(payload["request_id"], "trace-7");
}
