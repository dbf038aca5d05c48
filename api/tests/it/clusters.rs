//! Clusters: list them, close their gates, end what a removed one held.

use serde_json::{Value, json};

use crate::support::{Api, allocate, attachment, exchange, release};

async fn bind(api: &Api, cluster: &str, uid: &str) {
    api.must_post(
        &format!("/v1/clusters/{cluster}/bind"),
        &json!({"uid": uid}),
    )
    .await;
}

fn of_cluster(cluster: &str, mut request: Value) -> Value {
    request["attachment"]["cluster"] = json!(cluster);
    request
}

#[tokio::test]
async fn clusters_are_listed_page_by_page() {
    let api = Api::start().await;
    bind(&api, "b", "uid-b").await;
    api.addresses(&of_cluster("a", allocate("c1"))).await;
    api.addresses(&of_cluster("c", allocate("c1"))).await;
    let first = api.must_get("/v1/clusters?limit=2").await;
    let never = json!({"closed": false});
    assert_eq!(
        first["clusters"][0],
        json!({"name": "a", "gate": never, "holds": 1})
    );
    assert_eq!(first["clusters"][1]["uid"], "uid-b");
    assert!(
        first["clusters"][1]["bound_at"]
            .as_str()
            .unwrap()
            .ends_with('Z')
    );
    let next = first["next"].as_str().unwrap();
    let second = api
        .must_get(&format!("/v1/clusters?limit=2&cursor={next}"))
        .await;
    assert_eq!(second["clusters"][0]["name"], "c");
    assert_eq!(
        (
            second["clusters"].as_array().unwrap().len(),
            second.get("next")
        ),
        (1, None)
    );
    let answer = api.get(&format!("/v1/spaces?cursor={next}")).await;
    assert_eq!(answer.json()["key"], "cursor");
}

#[tokio::test]
async fn a_closed_gate_turns_allocates_away_at_every_replica() {
    let api = Api::start().await;
    let replica = api.replica().await;
    api.addresses(&allocate("c1")).await;
    let body = json!({"closed": true, "reason": "cut-over from whereabouts"});
    let set = api.must_post("/v1/clusters/prod/gate", &body).await;
    let (gate, since) = (&set["gate"], set["gate"]["since"].as_str().unwrap());
    let expected = json!({
        "cluster": "prod", "repeated": false,
        "gate": {"closed": true, "reason": "cut-over from whereabouts", "since": since, "seq": 2},
    });
    assert_eq!(set, expected);

    let headers = [("Content-Type", "application/json")];
    let body = allocate("c2").to_string();
    let answer = exchange(&replica.target(), "POST", "/v1/allocate", &headers, &body).await;
    assert_eq!(answer.problem(), (503, "gated".to_owned()));
    assert_eq!(answer.header("retry-after"), Some("5"));
    let detail =
        format!("cluster \"prod\" gets no address since {since}: cut-over from whereabouts");
    assert_eq!(answer.detail(), detail);
    assert_eq!(
        (&answer.json()["key"], &answer.json()["value"]),
        (&json!("cluster"), &json!("prod"))
    );

    let listed = api.must_get("/v1/clusters").await;
    assert_eq!(&listed["clusters"][0]["gate"], gate);
    let entry = json!({
        "cluster": "prod", "range": "10.10.3.0/24", "address": "10.10.3.9", "container_id": "old",
        "evidence": {"resource_version": "7"},
    });
    assert_eq!(
        api.must_post("/v1/holds/import", &entry).await["outcome"],
        "imported"
    );
    api.must_post("/v1/release", &release("c1")).await;

    let open = json!({"closed": false, "reason": "every node reports the plugin"});
    let set = api.must_post("/v1/clusters/prod/gate", &open).await;
    assert_eq!(
        (&set["gate"]["closed"], &set["repeated"]),
        (&json!(false), &json!(false))
    );
    let again = api.must_post("/v1/clusters/prod/gate", &open).await;
    assert_eq!(
        (&again["gate"], &again["repeated"]),
        (&set["gate"], &json!(true))
    );
    let answer = exchange(&replica.target(), "POST", "/v1/allocate", &headers, &body).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
}

#[tokio::test]
async fn what_a_removed_cluster_held_is_ended_by_an_order_with_a_reason() {
    let api = Api::start().await;
    bind(&api, "prod", "uid-a").await;
    for container in ["c1", "c2", "c3"] {
        api.addresses(&allocate(container)).await;
    }
    api.addresses(&of_cluster("test", allocate("c4"))).await;
    let path = "/v1/clusters/prod/release";
    let order = json!({"reason": "removed in change 4711", "uid": "uid-a"});
    let mut dry = order.clone();
    dry["dry_run"] = json!(true);
    let counted = api.must_post(path, &dry).await;
    let expected = json!({"cluster": "prod", "released": 0, "remaining": 3, "dry_run": true});
    assert_eq!(counted, expected);
    let ended = api.must_post(path, &order).await;
    let expected = json!({"cluster": "prod", "released": 3, "remaining": 0, "dry_run": false});
    assert_eq!(ended, expected);
    assert_eq!(api.must_post(path, &order).await["released"], 0);
    let events = api.must_get("/v1/events?space=prod").await;
    let last = events["events"].as_array().unwrap().last().unwrap().clone();
    assert_eq!(last["payload"]["reason"], "removed in change 4711");
    assert_eq!(last["payload"]["evidence"]["kind"], "operator");
    let holds = api.must_get("/v1/holds").await;
    assert_eq!(
        holds["holds"].as_array().unwrap().len(),
        1,
        "the other cluster's"
    );
}

#[tokio::test]
async fn orders_that_cannot_be_meant_change_nothing() {
    let api = Api::start().await;
    bind(&api, "prod", "uid-a").await;
    api.addresses(&allocate("c1")).await;
    let events = api.must_get("/v1/events?space=prod").await;
    for (path, body, status, key) in [
        ("release", json!({"reason": "x"}), 400, "uid"),
        ("release", json!({"uid": "uid-a"}), 400, "reason"),
        (
            "release",
            json!({"reason": " ", "uid": "uid-a"}),
            400,
            "reason",
        ),
        (
            "release",
            json!({"reason": "x", "uid": "uid-b"}),
            409,
            "uid",
        ),
        (
            "release",
            json!({"reason": "x", "uid": "uid-a", "force": true}),
            400,
            "force",
        ),
        ("gate", json!({"reason": "x"}), 400, "closed"),
        (
            "gate",
            json!({"closed": "yes", "reason": "x"}),
            400,
            "closed",
        ),
        ("gate", json!({"closed": true, "reason": ""}), 400, "reason"),
        (
            "gate",
            json!({"closed": true, "reason": "x", "cluster_uid": "uid-b"}),
            409,
            "cluster_uid",
        ),
    ] {
        let answer = api.post(&format!("/v1/clusters/prod/{path}"), &body).await;
        assert_eq!(answer.status, status, "{path} {body}: {}", answer.text);
        assert_eq!(answer.json()["key"], key, "{path} {body}: {}", answer.text);
    }
    let answer = api
        .post(
            "/v1/clusters/A/gate",
            &json!({"closed": true, "reason": "x"}),
        )
        .await;
    assert_eq!(answer.json()["key"], "cluster");
    let answer = api
        .post("/v1/clusters/never/release", &json!({"reason": "x"}))
        .await;
    assert_eq!(answer.problem(), (404, "not_found".to_owned()));
    assert_eq!(api.must_get("/v1/events?space=prod").await, events);
}

#[tokio::test]
async fn a_request_of_another_cluster_under_the_same_name_is_refused_everywhere() {
    let api = Api::start().await;
    bind(&api, "prod", "uid-a").await;
    api.addresses(&allocate("c1")).await;
    let requests = |uid: &str| {
        [
            (
                "/v1/gc",
                json!({
                    "cluster": "prod", "node": "node-1", "network": "super-net", "cluster_uid": uid,
                    "token": {"boot_id": "3f2a55d0-9c1e-4b7d-8a61-0f5e2b94c7d3", "boottime_ns": 1},
                    "valid": [{"container_id": "c1", "ifname": "net1"}],
                }),
            ),
            (
                "/v1/holds/import",
                json!({
                    "cluster": "prod", "range": "10.10.3.0/24", "address": "10.10.3.9",
                    "container_id": "old", "evidence": {}, "cluster_uid": uid,
                }),
            ),
            (
                "/v1/holds/release",
                json!({
                    "space": "prod", "address": "10.10.3.1", "step": 0, "reason": "x",
                    "evidence": {}, "cluster_uid": uid,
                }),
            ),
            (
                "/v1/release",
                json!({"attachment": attachment("c1"), "cluster_uid": uid}),
            ),
        ]
    };
    let events = api.must_get("/v1/events?space=prod").await;
    for (path, body) in requests("uid-b") {
        let answer = api.post(path, &body).await;
        assert_eq!(
            answer.problem(),
            (409, "cluster_mismatch".to_owned()),
            "{path}"
        );
        let body = answer.json();
        assert_eq!(
            (&body["key"], &body["value"]),
            (&json!("cluster_uid"), &json!("uid-b")),
            "{path}"
        );
    }
    assert_eq!(api.must_get("/v1/events?space=prod").await, events);
    for (path, body) in requests("uid-a") {
        api.must_post(path, &body).await;
    }
    for (path, body) in requests("not a uid") {
        let answer = api.post(path, &body).await;
        assert_eq!(
            answer.problem(),
            (400, "invalid_request".to_owned()),
            "{path}"
        );
        assert_eq!(answer.json()["key"], "cluster_uid", "{path}");
    }
}
