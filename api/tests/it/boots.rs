//! Boots of a node over HTTP: one that was only refused, or found nothing to delete, is older than
//! the one after it all the same.

use serde_json::{Value, json};

use crate::support::{Api, allocate, attachment, exchange, release};

fn token(boot: u8, boottime_ns: u64) -> Value {
    json!({
        "boot_id": format!("8f5c1f0e-6a53-4f0e-9d0b-0000000000{boot:02x}"),
        "boottime_ns": boottime_ns,
    })
}

fn with(mut request: Value, key: &str, value: Value) -> Value {
    request[key] = value;
    request
}

/// The pod's sandbox `c1` on the second boot holds an address; calls of the first boot come late.
async fn the_second_boot_is_the_later(api: &Api) {
    let living = with(allocate("c1"), "token", token(2, 5));
    let held = api.addresses(&living).await;
    let mut older = with(allocate("c1"), "token", token(1, 9_000));
    older["attachment"] = attachment("c1-before");
    let replica = api.replica().await;
    for target in [api.target(), replica.target()] {
        let post = async |path: &str, body: &Value| {
            let json = [("Content-Type", "application/json")];
            exchange(&target, "POST", path, &json, &body.to_string()).await
        };
        let late = post("/v1/allocate", &older).await;
        assert_eq!(late.problem(), (409, "stale".to_owned()));
        let gone = with(release("c1"), "token", token(1, 9_500));
        let gone = post("/v1/release", &gone).await;
        assert_eq!((gone.status, &gone.json()["stale"]), (200, &json!(true)));
    }
    assert_eq!(api.addresses(&living).await, held);
}

#[tokio::test]
async fn any_call_makes_its_boot_known() {
    let api = Api::start().await;
    let taken = with(allocate("holder"), "ips", json!(["10.10.3.9"]));
    api.addresses(&taken).await;
    let mut refused = with(allocate("c0"), "ips", json!(["10.10.3.9"]));
    refused["token"] = token(1, 8_000);
    let answer = api.post("/v1/allocate", &refused).await;
    assert_eq!(answer.problem(), (409, "address_taken".to_owned()));
    the_second_boot_is_the_later(&api).await;
}

#[tokio::test]
async fn a_release_that_found_nothing_makes_its_boot_known() {
    let api = Api::start().await;
    let empty = with(release("c0"), "token", token(1, 8_000));
    let empty = api.must_post("/v1/release", &empty).await;
    assert_eq!(empty["released"], json!([]));
    the_second_boot_is_the_later(&api).await;
}
