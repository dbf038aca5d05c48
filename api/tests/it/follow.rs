//! Events as they come: none twice, none left out, whoever is cut off.

use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::support::{Api, Stream, Target, allocate, open, release};

/// Longer than anything here takes.
const PATIENCE: Duration = Duration::from_secs(30);

/// A stream that is read message by message.
struct Follower {
    stream: Box<dyn Stream>,
    text: String,
}

impl Follower {
    /// Opens the stream; it is open when this returns.
    async fn open(target: &Target, query: &str, last: Option<&str>) -> Follower {
        let mut stream = open(target).await.unwrap();
        let last = last.map_or(String::new(), |id| format!("Last-Event-ID: {id}\r\n"));
        let head = format!("GET /v1/follow?{query} HTTP/1.1\r\nHost: localhost\r\n{last}\r\n");
        stream.write_all(head.as_bytes()).await.unwrap();
        let mut follower = Follower {
            stream,
            text: String::new(),
        };
        let head = follower.until("\r\n\r\n").await;
        assert!(head.contains("text/event-stream"), "{head}");
        follower
    }

    async fn until(&mut self, end: &str) -> String {
        let reading = async {
            let mut piece = [0; 4096];
            loop {
                if let Some(at) = self.text.find(end) {
                    let rest = self.text.split_off(at + end.len());
                    return std::mem::replace(&mut self.text, rest);
                }
                let length = self.stream.read(&mut piece).await.unwrap();
                assert!(length > 0, "the stream ended: {}", self.text);
                self.text
                    .push_str(std::str::from_utf8(&piece[..length]).unwrap());
            }
        };
        tokio::time::timeout(PATIENCE, reading)
            .await
            .expect("a message in time")
    }

    /// The next event as `space seq`, and its id.
    async fn next(&mut self) -> (String, String) {
        let message = self.until("\n\n").await;
        let line = |name: &str| {
            let found = message.lines().find_map(|line| line.strip_prefix(name));
            found
                .unwrap_or_else(|| panic!("{name}: {message}"))
                .to_owned()
        };
        let event: Value = serde_json::from_str(&line("data: ")).unwrap();
        let told = format!("{} {}", event["space"].as_str().unwrap(), event["seq"]);
        (told, line("id: "))
    }
}

fn in_blue(container: &str) -> Value {
    let mut request = allocate(container);
    request["network_name"] = "blue".into();
    request
}

#[tokio::test]
async fn a_follower_that_was_cut_off_goes_on_behind_the_event_it_saw() {
    let api = Api::start().await;
    api.addresses(&allocate("c1")).await;
    let mut follower = Follower::open(&api.target(), "cluster=prod", None).await;
    // What came before is not told; what comes is, also in a space that is opened later.
    api.addresses(&allocate("c2")).await;
    let mut told = vec![follower.next().await];
    api.addresses(&in_blue("b1")).await;
    told.push(follower.next().await);
    drop(follower);
    for container in ["c3", "c4"] {
        api.addresses(&allocate(container)).await;
        api.addresses(&in_blue(&format!("b-{container}"))).await;
    }
    // At another replica, cut off again after every event.
    let replica = api.replica().await;
    for _ in 0..4 {
        let last = told.last().unwrap().1.clone();
        let mut follower = Follower::open(&replica.target(), "cluster=prod", Some(&last)).await;
        told.push(follower.next().await);
    }
    let mut events: Vec<&str> = told.iter().map(|(event, _)| event.as_str()).collect();
    assert_eq!(events[..2], ["prod 2", "prod/blue 1"]);
    events.sort_unstable();
    assert_eq!(
        events,
        [
            "prod 2",
            "prod 3",
            "prod 4",
            "prod/blue 1",
            "prod/blue 2",
            "prod/blue 3"
        ]
    );
}

#[tokio::test]
async fn a_follower_may_begin_anywhere_and_hears_more_than_one_page() {
    let api = Api::start().await;
    for number in 0..300 {
        let container = format!("c{number}");
        api.addresses(&allocate_wide(&container)).await;
        api.must_post("/v1/release", &release(&container)).await;
    }
    let mut follower = Follower::open(&api.target(), "space=prod&after=2", None).await;
    for seq in 3..=600 {
        assert_eq!(follower.next().await.0, format!("prod {seq}"));
    }
    api.addresses(&allocate("last")).await;
    assert_eq!(follower.next().await.0, "prod 601");
}

fn allocate_wide(container: &str) -> Value {
    crate::support::allocate_from(container, &serde_json::json!([{"range": "10.10.0.0/16"}]))
}

#[tokio::test]
async fn a_stream_ends_when_the_service_stops() {
    let api = Api::start().await;
    let mut follower = Follower::open(&api.target(), "", None).await;
    api.begin_stop();
    let mut rest = Vec::new();
    let end = tokio::time::timeout(PATIENCE, follower.stream.read_to_end(&mut rest)).await;
    end.expect("the end in time").unwrap();
    api.ended().await;
}

#[tokio::test]
async fn an_id_of_another_query_or_epoch_is_refused() {
    let api = Api::start().await;
    let mut follower = Follower::open(&api.target(), "cluster=prod", None).await;
    api.addresses(&allocate("c1")).await;
    let (_, id) = follower.next().await;
    for (query, end) in [
        (
            format!("last_event_id={id}"),
            "with cluster \"prod\"".to_owned(),
        ),
        (
            "last_event_id=x".to_owned(),
            "is not a cursor of this service".to_owned(),
        ),
        ("after=5".to_owned(), "space is missing".to_owned()),
    ] {
        let answer = api.get(&format!("/v1/follow?{query}")).await;
        assert_eq!(answer.problem().0, 400, "{query}");
        assert!(answer.detail().ends_with(&end), "{}", answer.detail());
    }
    let nowhere = api.get("/v1/follow?space=nowhere").await;
    assert_eq!(nowhere.problem().0, 404);
    let sql = api.sql().await;
    sql.run("insert into ipledger.epochs (epoch, reason) values (2, 'restored')")
        .await;
    let answer = api
        .get(&format!("/v1/follow?cluster=prod&last_event_id={id}"))
        .await;
    assert!(
        answer
            .detail()
            .contains("is of epoch 1, and the ledger is at epoch 2")
    );
}
