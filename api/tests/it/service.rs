//! Health, readiness, metrics and request ids.

use crate::support::{Api, allocate, exchange};

#[tokio::test]
async fn a_live_and_ready_service_says_so() {
    let api = Api::start().await;
    for (path, text) in [("/healthz", "ok\n"), ("/readyz", "ready\n")] {
        let answer = api.get(path).await;
        assert_eq!((answer.status, answer.text.as_str()), (200, text));
        assert_eq!(
            answer.header("content-type"),
            Some("text/plain; charset=utf-8")
        );
    }
    let head = exchange(&api.target(), "HEAD", "/healthz", &[], "").await;
    assert_eq!(head.status, 200);
}

#[tokio::test]
async fn metrics_tell_requests_and_windows() {
    let api = Api::start().await;
    api.addresses(&allocate("c1")).await;
    api.addresses(&allocate("c2")).await;
    api.get("/v1/holds?limit=0").await;
    api.get("/somewhere/else").await;
    let answer = api.get("/metrics").await;
    let content_type = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    assert_eq!(answer.header("content-type"), Some(content_type));
    let window =
        "space=\"prod\",pool=\"10.10.3.0/24\",window=\"10.10.3.1-10.10.3.254\",exclude=\"\"";
    for line in [
        "ipledger_http_requests_total{method=\"POST\",route=\"/v1/allocate\",code=\"ok\"} 2".to_owned(),
        "ipledger_http_requests_total{method=\"GET\",route=\"/v1/holds\",code=\"invalid_request\"} 1".to_owned(),
        "ipledger_http_requests_total{method=\"other\",route=\"unmatched\",code=\"not_found\"} 1".to_owned(),
        "ipledger_http_request_duration_seconds_count{method=\"POST\",route=\"/v1/allocate\"} 2".to_owned(),
        "ipledger_http_requests_in_flight 1".to_owned(),
        "ipledger_lane_events_total 2".to_owned(),
        format!("ipledger_window_capacity_addresses{{{window}}} 254.0"),
        format!("ipledger_window_held_addresses{{{window}}} 2.0"),
        format!("ipledger_window_cooling_addresses{{{window}}} 0.0"),
        format!("ipledger_window_free_addresses{{{window}}} 252.0"),
        "ipledger_windows_left_out 0".to_owned(),
        format!("ipledger_build_info{{version=\"{}\"}} 1", env!("CARGO_PKG_VERSION")),
        "# EOF".to_owned(),
    ] {
        assert!(answer.text.lines().any(|found| found == line), "{line}\n{}", answer.text);
    }
}

#[tokio::test]
async fn a_request_id_is_echoed_if_it_can_be_and_made_up_if_not() {
    let api = Api::start().await;
    let ask = async |headers: &[(&str, &str)]| {
        let answer = exchange(&api.target(), "GET", "/healthz", headers, "").await;
        answer.header("x-request-id").unwrap().to_owned()
    };
    assert_eq!(ask(&[("X-Request-Id", "abc-123")]).await, "abc-123");
    assert_eq!(
        ask(&[("X-Request-Id", "two words")]).await,
        "00000000-0000-0000-0000-000000000000"
    );
    assert_eq!(ask(&[]).await, "00000000-0000-0000-0000-000000000001");
    let long = "a".repeat(129);
    assert_eq!(
        ask(&[("X-Request-Id", &long)]).await,
        "00000000-0000-0000-0000-000000000002"
    );
}

#[tokio::test]
async fn a_broken_guard_is_not_ready() {
    let api = Api::start().await;
    let sql = api.sql().await;
    sql.run("alter table ipledger.events disable trigger events_append_only")
        .await;
    assert_eq!(
        api.get("/readyz").await.problem(),
        (500, "internal".to_owned())
    );
    sql.run("alter table ipledger.events enable always trigger events_append_only")
        .await;
    assert_eq!(api.get("/readyz").await.status, 200);
}
