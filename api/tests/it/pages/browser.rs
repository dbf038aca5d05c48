//! The pages in a real Chromium: clean by axe-core, without an error in the console, without a
//! request to anybody else, on a desk, on a phone, in the dark, by keyboard.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use serde_json::json;

use super::chromium::{self, Chromium};
use super::{POOL, some_history};
use crate::support::{Api, allocate};

const VIEWS: [(&str, &str); 10] = [
    ("overview", "/"),
    ("pool", POOL),
    ("large-pool", "/pool?space=prod&cidr=10.20.0.0/16"),
    ("address", "/address?address=10.10.3.2"),
    ("pod", "/pod?namespace=default&pod=pod-a"),
    ("event", "/event?space=prod&seq=6"),
    ("live", "/live"),
    ("api", "/api"),
    ("unknown", "/pool?space=nowhere&cidr=10.0.0.0/8"),
    ("past", "/address?address=10.10.3.2&at=2000-01-01T00:00:00Z"),
];

const LOOKS: [(&str, u32, u32, &str); 3] = [
    ("desk", 1280, 900, "light"),
    ("phone", 390, 844, "light"),
    ("dark", 1280, 900, "dark"),
];

/// A browser; `None`, said past the capture of the output, where there is none.
async fn browser(test: &str) -> Option<Chromium> {
    match chromium::program() {
        Some(program) => Some(Chromium::start(&program).await),
        None => {
            say_not_run(
                test,
                "there is no chromium; install it with scripts/need chromium",
            );
            None
        }
    }
}

/// Also into the file of `IPLEDGER_NOT_RUN`, from which `make test` counts them.
fn say_not_run(test: &str, reason: &str) {
    let line = format!("NOT RUN: {test}: {reason}\n");
    std::io::stderr()
        .write_all(line.as_bytes())
        .expect("standard error");
    if let Some(path) = std::env::var_os("IPLEDGER_NOT_RUN") {
        let mut options = std::fs::OpenOptions::new();
        let mut file = options
            .append(true)
            .create(true)
            .open(path)
            .expect("the list");
        file.write_all(line.as_bytes())
            .expect("the list is written");
    }
}

/// axe-core of the pinned version, fetched once; the error says what is missing.
fn axe() -> &'static Result<String, String> {
    static AXE: OnceLock<Result<String, String>> = OnceLock::new();
    AXE.get_or_init(|| {
        let node = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/node");
        let script = node.join("node_modules/axe-core/axe.min.js");
        if !script.is_file() {
            let npm = Command::new("npm")
                .args(["ci", "--ignore-scripts", "--no-audit", "--no-fund"])
                .current_dir(&node)
                .output()
                .map_err(|error| format!("npm: {error}"))?;
            if !npm.status.success() {
                return Err(format!("npm ci: {}", String::from_utf8_lossy(&npm.stderr)));
            }
        }
        std::fs::read_to_string(script).map_err(|error| format!("axe-core: {error}"))
    })
}

fn url(api: &Api, path: &str) -> String {
    format!("http://{}{path}", api.address)
}

/// No error but that of a page that says so itself, and nobody else was asked.
fn assert_clean(chromium: &Chromium, api: &Api, view: &str) {
    if view != "unknown" {
        assert!(
            chromium.errors().is_empty(),
            "{view}: {:?}",
            chromium.errors()
        );
    }
    let own = url(api, "/");
    for request in chromium.requests() {
        assert!(request.starts_with(&own), "{view} asked for {request}");
    }
}

#[tokio::test]
async fn every_view_is_clean_in_every_look() {
    let test = "every_view_is_clean_in_every_look";
    let Some(mut chromium) = browser(test).await else {
        return;
    };
    let axe = match axe() {
        Ok(axe) => axe,
        Err(reason) => return say_not_run(test, reason),
    };
    let pictures = std::env::var_os("IPLEDGER_PICTURES").map(PathBuf::from);
    let api = Api::start().await;
    some_history(&api).await;
    for (look, width, height, scheme) in LOOKS {
        chromium.look_like(width, height, scheme).await;
        for (view, path) in VIEWS {
            chromium.open(&url(&api, path)).await;
            let wide = "document.documentElement.scrollWidth <= innerWidth";
            assert_eq!(
                chromium.value(wide).await,
                json!(true),
                "{view} {look} is too wide"
            );
            chromium.value(axe).await;
            let found = chromium
                .value(
                    "axe.run().then((r) => r.violations.map((v) => `${v.id}: ${v.help}: ` +
                       v.nodes.slice(0, 3).map((n) => n.html + ' ' + n.failureSummary).join(' | ')))",
                )
                .await;
            assert_eq!(found, json!([]), "{view} {look}");
            let undownloadable = "[...document.querySelectorAll('table[data-table]')].filter((t) =>
                !t.caption || !t.closest('.table').querySelector('a[download]')).length";
            assert_eq!(chromium.value(undownloadable).await, json!(0), "{view}");
            if let Some(pictures) = &pictures {
                chromium
                    .picture(&pictures.join(format!("{view}-{look}.png")))
                    .await;
            }
            assert_clean(&chromium, &api, view);
            chromium.events.clear();
        }
    }
}

#[tokio::test]
async fn holds_are_drawn_on_the_strip_of_an_address() {
    let test = "holds_are_drawn_on_the_strip_of_an_address";
    let Some(mut chromium) = browser(test).await else {
        return;
    };
    let api = Api::start().await;
    some_history(&api).await;
    for (ip, class) in [("10.10.3.1", "live-hold"), ("10.10.3.2", "past-hold")] {
        chromium
            .open(&url(&api, &format!("/address?address={ip}")))
            .await;
        let size = format!(
            "(({{ width, height }}) => width >= 3 && height >= 10)\
             (document.querySelector('.strip rect.{class}').getBoundingClientRect())"
        );
        assert_eq!(chromium.value(&size).await, json!(true), "{ip}");
    }
    assert_clean(&chromium, &api, "strip");
}

#[tokio::test]
async fn a_keyboard_is_enough() {
    let Some(mut chromium) = browser("a_keyboard_is_enough").await else {
        return;
    };
    let api = Api::start().await;
    some_history(&api).await;
    chromium.look_like(1280, 900, "light").await;
    chromium.open(&url(&api, POOL)).await;
    chromium.press("Tab").await;
    assert_eq!(
        chromium.value("document.activeElement.className").await,
        json!("skip")
    );
    chromium.press("Enter").await;
    chromium
        .until("document.activeElement.id === 'content'")
        .await;
    // From the content on: field, button, slider, links, then the map as one stop.
    for _ in 0..12 {
        chromium.press("Tab").await;
        if chromium
            .value("document.activeElement.closest('.grid') !== null")
            .await
            == json!(true)
        {
            break;
        }
    }
    let label = "document.activeElement.getAttribute('aria-label')";
    assert_eq!(chromium.value(label).await, json!("10.10.3.0 in no window"));
    let outline = "getComputedStyle(document.activeElement).outlineStyle";
    assert_eq!(chromium.value(outline).await, json!("solid"));
    chromium.press("ArrowRight").await;
    chromium.press("ArrowDown").await;
    assert_eq!(
        chromium.value(label).await,
        json!("10.10.3.33 free, never used")
    );
    chromium.press("End").await;
    assert_eq!(
        chromium.value(label).await,
        json!("10.10.3.255 in no window")
    );
    chromium
        .value("document.querySelector('.grid a.held').focus()")
        .await;
    chromium.press("Enter").await;
    chromium
        .until("location.pathname === '/address' && document.readyState === 'complete'")
        .await;
    assert_eq!(
        chromium
            .value("document.querySelector('h1').textContent")
            .await,
        json!("Address 10.10.3.1 in space prod")
    );
    assert_clean(&chromium, &api, "keyboard");
}

#[tokio::test]
async fn the_slider_redraws_the_map_and_the_url_follows() {
    let test = "the_slider_redraws_the_map_and_the_url_follows";
    let Some(mut chromium) = browser(test).await else {
        return;
    };
    let api = Api::start().await;
    some_history(&api).await;
    // The slider knows whole seconds, so the first event must be older than that.
    let age = "alter table ipledger.payloads disable trigger user; alter table ipledger.events disable trigger user;
        update ipledger.events set recorded_at = recorded_at - interval '1 day' where seq = 1;
        update ipledger.addresses set recorded_at = recorded_at - interval '1 day' where seq = 1;";
    api.sql().await.run(age).await;
    chromium.open(&url(&api, POOL)).await;
    let held = "document.querySelectorAll('.grid .held').length";
    assert_eq!(chromium.value(held).await, json!(2));
    chromium
        .value(
            "{ const s = document.getElementById('slider'); s.value = Number(s.min) + 60;
               s.dispatchEvent(new Event('input')); s.dispatchEvent(new Event('change')); }",
        )
        .await;
    chromium
        .until("document.querySelectorAll('.grid .held').length === 1")
        .await;
    let there = "new URL(location).searchParams.get('at') === document.getElementById('at').value
        && document.getElementById('stamp').textContent.includes('As of')
        && document.activeElement.id === 'slider'";
    chromium.until(there).await;
    // What the URL says is what it shows, without the script's help.
    let here = chromium.value("location.href").await;
    chromium.open(here.as_str().unwrap()).await;
    assert_eq!(chromium.value(held).await, json!(1));
    assert_clean(&chromium, &api, "slider");
}

#[tokio::test]
async fn live_events_come_without_a_gap_and_without_a_repeat_also_after_a_pause() {
    let test = "live_events_come_without_a_gap_and_without_a_repeat_also_after_a_pause";
    let Some(mut chromium) = browser(test).await else {
        return;
    };
    let api = Api::start().await;
    some_history(&api).await;
    for path in ["/live", "/live?space=prod"] {
        let head = api.must_get("/v1/spaces").await["spaces"][0]["seq"]
            .as_u64()
            .unwrap();
        chromium.open(&url(&api, path)).await;
        chromium
            .until("document.getElementById('live-state').textContent.startsWith('Following')")
            .await;
        let rows = |seq: u64| {
            format!("document.querySelectorAll('[data-table=events] tbody tr').length === {seq}
                && document.querySelector('[data-table=events] tbody a').textContent === 'prod {seq} allocated'")
        };
        for number in 1..=3 {
            api.must_post(
                "/v1/allocate",
                &allocate(&format!("x{path}{number}").replace(['/', '?', '='], "-")),
            )
            .await;
        }
        chromium.until(&rows(head + 3)).await;
        chromium
            .value("document.getElementById('live-switch').click()")
            .await;
        chromium
            .until("document.getElementById('live-state').textContent.startsWith('Paused')")
            .await;
        api.must_post(
            "/v1/allocate",
            &allocate(&format!("x{path}-4").replace(['/', '?', '='], "-")),
        )
        .await;
        chromium
            .value("document.getElementById('live-switch').click()")
            .await;
        chromium.until(&rows(head + 4)).await;
        let texts = "[...document.querySelectorAll('[data-table=events] tbody th')].map((th) => th.textContent)";
        let texts = chromium.value(texts).await;
        let texts: std::collections::BTreeSet<_> = texts
            .as_array()
            .unwrap()
            .iter()
            .map(ToString::to_string)
            .collect();
        assert_eq!(texts.len() as u64, head + 4);
        assert_clean(&chromium, &api, path);
    }
}
