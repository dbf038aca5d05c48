//! Spaces and clusters.

use serde_json::json;

use crate::support::{Api, allocate};

#[tokio::test]
async fn spaces_are_listed_in_order_with_their_heads() {
    let api = Api::start().await;
    for network_name in ["blue", "amber"] {
        let mut request = allocate(network_name);
        request["network_name"] = json!(network_name);
        api.addresses(&request).await;
    }
    api.addresses(&allocate("c1")).await;
    let first = api.must_get("/v1/spaces?limit=2").await;
    let next = first["next"].as_str().unwrap();
    let second = api
        .must_get(&format!("/v1/spaces?limit=2&cursor={next}"))
        .await;
    let names: Vec<&str> = [&first, &second]
        .iter()
        .flat_map(|page| page["spaces"].as_array().unwrap())
        .map(|space| space["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["prod", "prod/amber", "prod/blue"]);
    let blue = &second["spaces"][0];
    let events = api.must_get("/v1/events?space=prod/blue").await;
    assert_eq!(blue["seq"], 1);
    assert_eq!(blue["hash"], events["events"][0]["hash"]);
    assert_eq!(
        blue["members"],
        json!([{"cluster": "prod", "network_name": "blue"}])
    );
    assert_eq!(second["next"], json!(null));
}

#[tokio::test]
async fn clusters_share_a_space_once_it_is_declared() {
    let api = Api::start().await;
    let declaration = json!({"name": "vlan7", "members": [
        {"cluster": "prod", "network_name": "vlan7"}, {"cluster": "dev", "network_name": "vlan7"}]});
    let space = api.must_post("/v1/spaces", &declaration).await;
    assert_eq!(space["name"], "shared:vlan7");
    assert_eq!(space["members"].as_array().unwrap().len(), 2);
    let again = api.must_post("/v1/spaces", &declaration).await;
    assert_eq!(again, space, "declaring it again changes nothing");

    for (cluster, expected) in [("prod", "10.10.3.1"), ("dev", "10.10.3.2")] {
        let mut request = allocate(&format!("c-{cluster}"));
        request["attachment"]["cluster"] = json!(cluster);
        request["network_name"] = json!("vlan7");
        assert_eq!(api.addresses(&request).await, [expected]);
    }
}

#[tokio::test]
async fn a_member_with_a_space_of_its_own_is_refused() {
    let api = Api::start().await;
    api.addresses(&allocate("c1")).await;
    let declaration = json!({"name": "all", "members": [{"cluster": "prod"}, {"cluster": "dev"}]});
    let answer = api.post("/v1/spaces", &declaration).await;
    assert_eq!(answer.problem(), (409, "space_conflict".to_owned()));
    assert_eq!(answer.json()["key"], "members");
    assert_eq!(answer.json()["value"], "prod");
}

#[tokio::test]
async fn a_cluster_is_bound_once() {
    let api = Api::start().await;
    let bind = |uid: &str| json!({"uid": uid});
    let bound = api.must_post("/v1/clusters/prod/bind", &bind("u1")).await;
    assert_eq!(bound, json!({"name": "prod", "uid": "u1"}));
    assert_eq!(
        api.must_post("/v1/clusters/prod/bind", &bind("u1")).await,
        bound
    );
    let answer = api.post("/v1/clusters/prod/bind", &bind("u2")).await;
    assert_eq!(answer.problem(), (409, "cluster_mismatch".to_owned()));
    let body = answer.json();
    assert_eq!(
        (&body["key"], &body["value"]),
        (&json!("uid"), &json!("u2"))
    );
    let events = api.must_get("/v1/events?space=prod").await;
    assert_eq!(events["events"].as_array().unwrap().len(), 1);
    assert_eq!(events["events"][0]["kind"], "cluster_bound");
    assert_eq!(events["events"][0]["address"], json!(null));
}
