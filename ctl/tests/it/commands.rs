//! Each command, in each form.

use serde_json::Value;

use crate::support::{Service, hours_ago};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_tells_the_holder_of_any_time_and_who_said_so() {
    let service = Service::with_past().await;
    let now = service.told(&["who", "10.10.3.1"]).await;
    let rows: Vec<Vec<&str>> = now
        .lines()
        .map(|line| line.split_whitespace().collect())
        .collect();
    assert_eq!(rows[0][..5], ["ADDRESS", "SPACE", "POD", "NODE", "AGE"]);
    assert_eq!(
        rows[1][..4],
        ["10.10.3.1", "prod", "default/web-0", "node-8"]
    );
    assert_eq!(rows[1][4..], ["59m", "add", "ipledger"]);
    let then = service.told(&["who", "10.10.3.1", "--at", "2h ago"]).await;
    assert!(then.contains("default/db-0"), "{then}");
    let json = service
        .told(&["who", "10.10.3.1", "--at", "tuesday 07:42", "-o", "json"])
        .await;
    let json: Value = serde_json::from_str(&json).unwrap();
    let holder = &json["items"][0];
    assert_eq!(holder["owner"]["uid"], "uid-1");
    assert_eq!(holder["event"]["payload"]["actor"]["name"], "ipledger");
    assert_eq!(holder["event"]["hash"].as_str().unwrap().len(), 64);
    let free = service.run(&["who", "10.10.3.1", "--at", "160m ago"]).await;
    assert_eq!((free.code, free.stdout.as_str()), (1, ""));
    assert!(free.stderr.contains("nobody held 10.10.3.1 at"), "{free:?}");
    assert!(free.stderr.contains("default/web-0, released"), "{free:?}");
    assert!(
        free.stderr.contains("by ipledger-sync (pod gone)"),
        "{free:?}"
    );
    let never = service.run(&["who", "10.10.3.77"]).await;
    assert_eq!(never.code, 1);
    assert!(never.stderr.ends_with("it was never used\n"), "{never:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_history_follows_the_name_through_rebirths() {
    let service = Service::with_past().await;
    let table = service
        .told(&["history", "-n", "default", "web-0", "--absolute"])
        .await;
    let kinds: Vec<&str> = table
        .lines()
        .skip(1)
        .map(|line| line.split_whitespace().nth(4).unwrap())
        .collect();
    assert_eq!(kinds, ["allocated", "released", "allocated"]);
    let first = table.lines().nth(1).unwrap();
    assert!(first.contains("T07:00:00.000000Z"), "{first}");
    let newest = service
        .told(&[
            "history",
            "10.10.3.1",
            "--newest",
            "--limit",
            "2",
            "-o",
            "json",
        ])
        .await;
    let newest: Value = serde_json::from_str(&newest).unwrap();
    let seqs: Vec<u64> = newest["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|event| event["seq"].as_u64().unwrap())
        .collect();
    assert_eq!(seqs, [6, 5]);
    let since = hours_ago(2).to_string();
    let csv = service
        .told(&["history", "10.10.3.1", "--since", &since, "-o", "csv"])
        .await;
    let lines: Vec<&str> = csv.lines().collect();
    assert!(lines[0].starts_with("space,seq,recorded_at,claimed_at,address,step,kind"));
    assert_eq!(lines.len(), 3, "{csv}");
    let more = service
        .told(&["history", "10.10.3.1", "--limit", "2"])
        .await;
    assert!(
        more.ends_with("there are more than 2; --limit shows more\n"),
        "{more}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn lists_come_as_tables_json_yaml_and_csv() {
    let service = Service::with_past().await;
    for name in ["holds", "pools", "spaces", "events"] {
        let table = service.told(&[name]).await;
        assert!(
            !table.contains('\u{1b}'),
            "colour without a terminal: {table}"
        );
        let wide = service.told(&[name, "-o", "wide"]).await;
        let columns = |text: &str| text.lines().next().unwrap().split_whitespace().count();
        assert!(columns(&wide) > columns(&table), "{name}");
        // Aligned: every row has its second column where the head has it.
        let head = table.lines().next().unwrap();
        let second = head
            .find("   ")
            .map(|gap| gap + head[gap..].find(|c| c != ' ').unwrap());
        for line in table.lines().skip(1) {
            assert_eq!(line.as_bytes()[second.unwrap() - 1], b' ', "{table}");
            assert_ne!(line.as_bytes()[second.unwrap()], b' ', "{table}");
        }
        let json: Value = serde_json::from_str(&service.told(&[name, "-o", "json"]).await).unwrap();
        let items = json["items"].as_array().unwrap().len();
        assert_eq!(items, table.lines().count() - 1, "{name}");
        let yaml = service.told(&[name, "-o", "yaml"]).await;
        let yaml: Value = serde_saphyr::from_str(&yaml).unwrap();
        assert_eq!(yaml, json, "{name}");
        let csv = service.told(&[name, "-o", "csv"]).await;
        assert_eq!(csv.split("\r\n").count(), items + 2, "{csv}");
    }
    let held = service
        .told(&["holds", "--node", "node-1", "-o", "csv"])
        .await;
    assert!(
        held.contains("10.10.3.2") && !held.contains("10.10.3.1,"),
        "{held}"
    );
    let then = service
        .told(&["holds", "--at", "2h ago", "--range", "10.10.3.0/30"])
        .await;
    assert!(
        then.contains("default/db-0") && then.contains("as of "),
        "{then}"
    );
    let pools = service.told(&["pools"]).await;
    let row: Vec<&str> = pools.lines().nth(1).unwrap().split_whitespace().collect();
    assert_eq!(
        row[1..6],
        ["10.10.3.0/24", "10.10.3.1", "10.10.3.254", "254", "2"]
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_difference_has_both_holders() {
    let service = Service::with_past().await;
    let table = service.told(&["diff", "4h ago", "2h ago"]).await;
    let row: Vec<&str> = table.lines().nth(1).unwrap().split_whitespace().collect();
    assert_eq!(
        row,
        [
            "10.10.3.1",
            "prod",
            "changed",
            "default/web-0",
            "default/db-0"
        ]
    );
    assert_eq!(table.lines().count(), 2);
    let none = service.run(&["diff", "30m ago"]).await;
    assert_eq!((none.code, none.stdout.as_str()), (1, ""));
    assert_eq!(none.stderr, "ipledgerctl: no address changed hands\n");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_event_is_shown_in_full() {
    let service = Service::with_past().await;
    let text = service.told(&["events", "--seq", "3"]).await;
    for part in [
        "recorded at:",
        "claimed at:",
        "predecessor:  1\n",
        "actor:        ipledger-sync\n",
        "reason:       pod gone\n",
        "hash before:",
        "\"resource_version\": \"4711\"",
    ] {
        assert!(text.contains(part), "no {part} in {text}");
    }
    let missing = service.run(&["events", "--seq", "77"]).await;
    assert_eq!(missing.code, 1);
    assert_eq!(
        missing.stderr,
        "ipledgerctl: there is no event 77 in prod\n"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_release_by_hand_is_recorded_with_who_said_so_and_why() {
    let service = Service::with_past().await;
    let dry = [
        "release",
        "10.10.3.2",
        "--reason",
        "node-1 was scrapped",
        "--dry-run",
    ];
    let shown = service.told(&dry).await;
    assert!(shown.contains("default/worker-3"), "{shown}");
    assert!(
        service
            .told(&["who", "10.10.3.2"])
            .await
            .contains("worker-3")
    );
    let other = ["release", "10.10.3.2", "--reason", "x", "--step", "2"];
    let other = service.run(&other).await;
    assert_eq!(other.code, 2);
    assert_eq!(
        other.stderr,
        "ipledgerctl: --step \"2\" is not the step of the hold, which is 0\n"
    );
    let table = service
        .told(&[
            "release",
            "10.10.3.2",
            "--reason",
            "node-1 was scrapped",
            "--evidence",
            "ticket=OPS-1",
        ])
        .await;
    assert!(table.contains("default/worker-3"), "{table}");
    let event = service.told(&["events", "--tail", "1", "-o", "json"]).await;
    let event: Value = serde_json::from_str(&event).unwrap();
    let payload = &event["items"][0]["payload"];
    assert_eq!(payload["reason"], "node-1 was scrapped");
    assert_eq!(payload["evidence"]["ticket"], "OPS-1");
    assert_eq!(payload["actor"]["name"], "ipledgerctl/0.1.0:jane");
    let again = service
        .run(&["release", "10.10.3.2", "--reason", "again"])
        .await;
    assert_eq!((again.code, again.stdout.as_str()), (1, ""));
}

#[tokio::test]
async fn completion_is_written_without_a_service() {
    for shell in ["bash", "zsh", "fish"] {
        let command = crate::support::command("http://127.0.0.1:1", &["completion", shell]);
        let ran = crate::support::run(command).await;
        assert_eq!(ran.code, 0, "{ran:?}");
        assert!(ran.stdout.contains("history"), "{shell}");
    }
}
