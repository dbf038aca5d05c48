//! What the pages say.

use super::{POOL, browse, must_browse, some_history};
use crate::support::{Api, allocate, exchange, release};

#[tokio::test]
async fn every_page_says_its_position_its_age_and_its_policy() {
    let api = Api::start().await;
    some_history(&api).await;
    for path in [
        "/",
        "/?space=prod",
        POOL,
        "/pool?space=prod&cidr=10.20.0.0/16",
        "/address?address=10.10.3.2",
        "/pod?namespace=default&pod=pod-a",
        "/event?space=prod&seq=1",
        "/live",
        "/live?space=prod",
    ] {
        let answer = browse(&api, path).await;
        assert_eq!(answer.status, 200, "{path}: {}", answer.text);
        let policy = answer.header("content-security-policy").unwrap();
        assert!(policy.starts_with("default-src 'none';"), "{policy}");
        assert!(!policy.contains("unsafe"), "{policy}");
        assert!(answer.text.contains("id=\"stamp\""), "{path}");
        assert!(answer.text.contains("the last one recorded"), "{path}");
        assert!(answer.text.contains(" s ago)"), "{path}");
    }
}

#[tokio::test]
async fn the_overview_has_the_counts_of_every_window() {
    let api = Api::start().await;
    some_history(&api).await;
    let csv = must_browse(&api, "/?csv=pools").await;
    let windows = api.must_get("/v1/windows").await;
    let windows = windows["windows"].as_array().unwrap();
    assert_eq!(windows.len(), 2);
    for window in windows {
        let counts = &window["counts"];
        let text = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
        let row = format!(
            ",{},{},{},{},{}\r\n",
            text(&counts["held"]),
            text(&counts["cooling"]),
            text(&counts["reserved"]),
            text(&counts["free"]),
            text(&counts["capacity"])
        );
        let line = csv
            .split_inclusive('\n')
            .find(|line| line.starts_with(window["pool"].as_str().unwrap()));
        assert!(line.unwrap().ends_with(&row), "{csv} {row}");
    }
}

#[tokio::test]
async fn a_small_pool_is_a_map_with_a_shape_for_every_state() {
    let api = Api::start().await;
    some_history(&api).await;
    let page = must_browse(&api, POOL).await;
    for (label, shape) in [
        ("10.10.3.1 held by default/pod-a", "■"),
        ("10.10.3.2 cooling down, last by default/pod-b", "◆"),
        ("10.10.3.3 held by default/pod-c", "■"),
        ("10.10.3.5 free, was used, last by default/pod-e", "○"),
        ("10.10.3.6 free, never used", "·"),
        ("10.10.3.0 in no window", "×"),
        ("10.10.3.255 in no window", "×"),
    ] {
        let at = page
            .find(&format!("aria-label=\"{label}\""))
            .unwrap_or_else(|| panic!("{label}: {page}"));
        let cell = page[at..].split("</a>").next().unwrap();
        assert!(cell.ends_with(&format!(">{shape}")), "{label}: {cell}");
    }
}

#[tokio::test]
async fn a_large_pool_is_a_map_of_parts_that_leads_inside() {
    let api = Api::start().await;
    some_history(&api).await;
    let page = must_browse(&api, "/pool?space=prod&cidr=10.20.0.0/16").await;
    assert_eq!(
        page.matches("cooling down of 256\"").count() / 2,
        256,
        "a title and a label each"
    );
    assert!(
        page.contains("10.20.0.0/24 1 held, 0 cooling down of 256"),
        "{page}"
    );
    let inside = "/pool?space=prod&amp;cidr=10.20.0.0/16&amp;part=10.20.0.0/24";
    assert!(page.contains(inside), "{page}");
    let part = must_browse(&api, &inside.replace("&amp;", "&")).await;
    assert!(
        part.contains("10.20.0.1 held by default/pod-large"),
        "{part}"
    );
}

#[tokio::test]
async fn an_address_and_a_pod_have_their_events_the_newest_first() {
    let api = Api::start().await;
    some_history(&api).await;
    let address = must_browse(&api, "/address?address=10.10.3.2&space=prod&csv=events").await;
    let rows: Vec<&str> = address.lines().collect();
    assert_eq!(rows.len(), 3, "{address}");
    assert!(
        rows[1].contains("released") && rows[2].contains("allocated"),
        "{address}"
    );
    let page = must_browse(&api, "/address?address=10.10.3.2").await;
    assert!(
        page.contains("is held by nobody") && page.contains("class=\"past-hold\""),
        "{page}"
    );
    let pod = must_browse(
        &api,
        "/pod?namespace=default&pod=pod-a&cluster=prod&csv=holds",
    )
    .await;
    assert!(
        pod.lines()
            .nth(1)
            .unwrap()
            .starts_with("10.10.3.1,prod,10.10.3.0/24,net1,node-1,uid-a,a,"),
        "{pod}"
    );
}

#[tokio::test]
async fn an_event_is_shown_in_full_and_its_proof_is_computed_anew() {
    let api = Api::start().await;
    some_history(&api).await;
    let events = api.must_get("/v1/events?space=prod").await;
    let events = events["events"].as_array().unwrap();
    for event in events {
        let page = must_browse(&api, &format!("/event?space=prod&seq={}", event["seq"])).await;
        for key in ["hash", "digest", "previous_hash"] {
            assert!(page.contains(event[key].as_str().unwrap()), "{key}: {page}");
        }
        assert_eq!(page.matches("computed anew: equal").count(), 2, "{page}");
    }
    let page = must_browse(&api, "/event?space=prod&seq=1&csv=fields").await;
    for field in [
        "decision.rule,lowest_free",
        "decision.held,0",
        "decision.window.cidr,10.10.3.0/24",
        "owner.name,pod-a",
        "reason,add",
    ] {
        assert!(page.contains(field), "{field}: {page}");
    }
}

#[tokio::test]
async fn an_altered_payload_and_an_altered_time_differ_from_their_proof() {
    let api = Api::start().await;
    some_history(&api).await;
    let sql = api.sql().await;
    sql.run(
        "alter table ipledger.payloads disable trigger user; alter table ipledger.events disable trigger user;
         update ipledger.payloads set body = replace(convert_from(body, 'UTF8'), 'pod-a', 'pod-z')::bytea
             where seq = 1;
         update ipledger.events set recorded_at = recorded_at - interval '1 hour' where seq = 2;",
    )
    .await;
    for seq in [1, 2] {
        let page = must_browse(&api, &format!("/event?space=prod&seq={seq}")).await;
        assert_eq!(
            page.matches("computed anew: differs").count(),
            1,
            "{seq}: {page}"
        );
        assert_eq!(
            page.matches("computed anew: equal").count(),
            1,
            "{seq}: {page}"
        );
    }
}

#[tokio::test]
async fn bad_input_is_one_clear_page_with_the_right_status() {
    let api = Api::start().await;
    some_history(&api).await;
    for (path, status, words) in [
        ("/pool?space=nowhere&cidr=10.10.3.0/24", 404, "nowhere"),
        ("/pool?space=prod&cidr=10.99.0.0/24", 404, "10.99.0.0/24"),
        (
            "/pool?space=prod&cidr=10.10.3.0/24&part=10.0.0.0/24",
            400,
            "10.0.0.0/24",
        ),
        ("/pool?space=prod&cidr=everything", 400, "everything"),
        ("/pool?cidr=10.10.3.0/24", 400, "space is missing"),
        (
            "/pool?space=prod&cidr=10.10.3.0/24&at=yesterday",
            400,
            "yesterday",
        ),
        (
            "/pool?space=prod&cidr=10.10.3.0/24&at=2999-01-01T00:00:00Z",
            400,
            "future",
        ),
        ("/address?address=10.10.3.999", 400, "10.10.3.999"),
        ("/address?address=10.10.3.99", 404, "10.10.3.99"),
        ("/address?address=10.10.3.1&space=nowhere", 404, "nowhere"),
        ("/address?address=10.10.3.1&cursor=abc", 400, "cursor"),
        ("/pod?namespace=default&pod=nobody", 404, "default/nobody"),
        ("/pod?namespace=default", 400, "pod is missing"),
        ("/event?space=prod&seq=999", 404, "999"),
        ("/event?space=prod&seq=0", 400, "first event has 1"),
        ("/event?space=prod&seq=x", 400, "seq"),
        ("/live?space=nowhere", 404, "nowhere"),
        ("/?space=nowhere", 404, "nowhere"),
        ("/?csv=nothing", 400, "nothing"),
        ("/?colour=red", 400, "colour"),
        ("/find?q=nonsense", 400, "nonsense"),
        ("/find?q=10.99.0.0/24", 404, "10.99.0.0/24"),
    ] {
        let answer = browse(&api, path).await;
        assert_eq!(answer.status, status, "{path}: {}", answer.text);
        assert_eq!(
            answer.header("content-type"),
            Some("text/html; charset=utf-8"),
            "{path}"
        );
        assert!(answer.text.contains(words), "{path}: {}", answer.text);
        // A program gets the problem; the client compares it with the document.
        assert_eq!(api.get(path).await.problem().0, status, "{path}");
    }
}

#[tokio::test]
async fn what_is_typed_leads_to_its_page() {
    let api = Api::start().await;
    some_history(&api).await;
    for (typed, place) in [
        ("10.10.3.1", "/address?address=10.10.3.1"),
        ("10.10.3.0/24", "/pool?space=prod&cidr=10.10.3.0/24"),
        (
            "10.20.7.0/24",
            "/pool?space=prod&cidr=10.20.0.0/16&part=10.20.7.0/24",
        ),
        ("default/pod-a", "/pod?namespace=default&pod=pod-a"),
    ] {
        let answer = browse(&api, &format!("/find?q={typed}")).await;
        assert_eq!(
            (answer.status, answer.header("location")),
            (303, Some(place)),
            "{typed}"
        );
        must_browse(&api, place).await;
    }
}

#[tokio::test]
async fn names_from_callers_cannot_write_html() {
    let api = Api::start().await;
    let actor = [
        ("X-Ipledger-Actor", "<script>alert(1)</script>"),
        ("Content-Type", "application/json"),
    ];
    let body = allocate("x").to_string();
    let answer = exchange(&api.target(), "POST", "/v1/allocate", &actor, &body).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    for path in [
        "/live",
        "/event?space=prod&seq=1",
        "/address?address=10.10.3.1",
    ] {
        let page = must_browse(&api, path).await;
        assert!(page.contains("&lt;script&gt;alert(1)"), "{path}: {page}");
        assert!(!page.contains("<script>alert"), "{path}: {page}");
    }
    let answer = browse(&api, "/find?q=%3Cscript%3Ealert(1)").await;
    assert!(
        answer.text.contains("&lt;script&gt;alert(1)"),
        "{}",
        answer.text
    );
    assert!(!answer.text.contains("<script>alert"), "{}", answer.text);
}

#[tokio::test]
async fn a_long_history_goes_on_where_a_page_ends() {
    let api = Api::start().await;
    for number in 0..103 {
        let container = format!("c{number}");
        api.must_post("/v1/allocate", &allocate(&container)).await;
        api.must_post("/v1/release", &release(&container)).await;
    }
    let path = "/address?address=10.10.3.1&space=prod";
    let first = must_browse(&api, path).await;
    let link = first
        .split("<a href=\"")
        .find(|rest| rest.contains("Older events"));
    let older = link
        .unwrap()
        .split('"')
        .next()
        .unwrap()
        .replace("&amp;", "&");
    let mut rows = must_browse(&api, &format!("{path}&csv=events"))
        .await
        .lines()
        .count()
        - 1;
    assert_eq!(rows, 200);
    let second = must_browse(&api, &format!("{older}&csv=events")).await;
    rows += second.lines().count() - 1;
    assert_eq!(rows, 206);
    assert!(
        second
            .lines()
            .last()
            .unwrap()
            .starts_with("prod 1 allocated,"),
        "{second}"
    );
    assert!(!must_browse(&api, &older).await.contains("Older events"));
}

#[tokio::test]
async fn a_page_of_the_past_says_the_position_of_then() {
    let api = Api::start().await;
    some_history(&api).await;
    let third = &api.must_get("/v1/events?space=prod").await["events"][2];
    let at = third["recorded_at"].as_str().unwrap();
    let page = must_browse(
        &api,
        &format!("/address?address=10.10.3.1&space=prod&at={at}"),
    )
    .await;
    assert!(
        page.contains("As of <time") && page.contains("Position <b>3</b>"),
        "{page}"
    );
    let page = must_browse(&api, &format!("/pod?namespace=default&pod=pod-a&at={at}")).await;
    assert!(page.contains("<b>3 events</b>"), "{page}");
}
