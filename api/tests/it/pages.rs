//! The web pages: what they say over HTTP, and how they are in a real Chromium.

mod browser;
mod chromium;
mod content;
mod past;

use serde_json::json;
use tokio::io::AsyncWriteExt as _;

use crate::support::{Answer, Api, allocate, allocate_from, open, read_answer, release};

/// What a browser gets. Its error pages are no problem bodies, so the document says nothing of them.
async fn browse(api: &Api, path: &str) -> Answer {
    let mut stream = open(&api.target()).await.expect("the server accepts");
    let head = format!(
        "GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\
         Accept: text/html,application/xhtml+xml;q=0.9,*/*;q=0.8\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).await.expect("a request");
    read_answer(&mut stream).await.expect("an answer")
}

/// A page that must be there.
async fn must_browse(api: &Api, path: &str) -> String {
    let answer = browse(api, path).await;
    assert_eq!(answer.status, 200, "{path}: {}", answer.text);
    answer.text
}

/// Five addresses: .1 and .3 held, .2 and .4 cooling, .5 free again; and one in a large pool.
async fn some_history(api: &Api) {
    for (container, cooldown_seconds) in [("a", 0), ("b", 3600), ("c", 0), ("d", 3600), ("e", 0)] {
        let mut request = allocate(container);
        request["cooldown_seconds"] = json!(cooldown_seconds);
        api.must_post("/v1/allocate", &request).await;
    }
    for container in ["b", "d", "e"] {
        api.must_post("/v1/release", &release(container)).await;
    }
    let large = allocate_from("large", &json!([{"range": "10.20.0.0/16"}]));
    api.must_post("/v1/allocate", &large).await;
}

const POOL: &str = "/pool?space=prod&cidr=10.10.3.0/24";
