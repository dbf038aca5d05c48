//! Events as they come.

use std::process::Stdio;
use std::time::Duration;

use ledger::Command;
use ledger::command::{Allocate, SpaceSelector};
use ledger::model::{Actor, Provenance};
use ledger::testing::Holder;
use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdout};

use crate::support::Service;

/// Longer than anything here takes.
const PATIENCE: Duration = Duration::from_secs(30);

async fn allocate(service: &Service, pod: &str) {
    let holder = Holder::new(pod, &format!("uid-{pod}"), "node-1", &format!("c-{pod}"));
    let window = address::Window::parse(&address::WindowText {
        range: "10.10.3.0/24",
        range_start: None,
        range_end: None,
        exclude: &[],
    })
    .unwrap();
    let request = Allocate {
        attachment: holder.attachment,
        owner: Some(holder.owner),
        cluster_uid: None,
        token: None,
        space: SpaceSelector {
            cluster: "prod".to_owned(),
            network_name: String::new(),
            overlapping: true,
        },
        ranges: vec![window],
        ips: Vec::new(),
        cooldown_seconds: 0,
        order: ledger::command::AddressOrder::default(),
        sticky_seconds: 0,
        dry_run: false,
        provenance: Provenance {
            request_id: "test".to_owned(),
            actor: Actor {
                authenticated_by: "test".to_owned(),
                name: "test".to_owned(),
            },
            claimed_at: None,
        },
    };
    let command = Command::Allocate(Box::new(request));
    service
        .ledger
        .execute(command, PATIENCE)
        .await
        .expect("an address");
}

struct Run {
    lines: Lines<BufReader<ChildStdout>>,
    _child: Child,
}

impl Run {
    fn start(service: &Service, arguments: &[&str]) -> Run {
        let mut child = service
            .command(arguments)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let stdout = child.stdout.take().unwrap();
        Run {
            lines: BufReader::new(stdout).lines(),
            _child: child,
        }
    }

    async fn line(&mut self) -> String {
        let line = tokio::time::timeout(PATIENCE, self.lines.next_line()).await;
        line.expect("a line in time").unwrap().expect("it goes on")
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn events_are_followed_from_any_position_on() {
    let service = Service::with_past().await;
    let arguments = [
        "events", "--follow", "--space", "prod", "--after", "4", "-o", "json",
    ];
    let mut run = Run::start(&service, &arguments);
    for seq in [5, 6] {
        let event: Value = serde_json::from_str(&run.line().await).unwrap();
        assert_eq!(event["seq"], seq);
    }
    allocate(&service, "new-1").await;
    let event: Value = serde_json::from_str(&run.line().await).unwrap();
    assert_eq!(event["seq"], 7);
    assert_eq!(event["payload"]["owner"]["name"], "new-1");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn holds_are_watched_for_what_begins_and_ends() {
    let service = Service::with_past().await;
    let mut run = Run::start(&service, &["holds", "-w", "--node", "node-1"]);
    let head = run.line().await;
    assert!(head.starts_with("ADDRESS"), "{head}");
    assert!(run.line().await.contains("default/worker-3"));
    allocate(&service, "new-2").await;
    let head = run.line().await;
    assert!(head.starts_with("AGE"), "{head}");
    let row = run.line().await;
    assert!(
        row.contains("allocated") && row.contains("default/new-2"),
        "{row}"
    );
}
