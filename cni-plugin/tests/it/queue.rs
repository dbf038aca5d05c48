//! The release queue and `ipledger drain`.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use ipledger_client::types::ProblemCode;
use serde_json::{Value, json};

use crate::api::{Api, Reply, kind_api, kindly, nobody, problem, problem_about, released};
use crate::plugin::{Answer, Plugin, files, strict, with, with_ipam};

/// A node on which the DELs of these sandboxes wait, because the API at this address is away.
fn node_with_queue(api: &str, sandboxes: &[&str]) -> Plugin {
    let definition = with_ipam(strict(), json!({ "timeout_seconds": 1 }));
    let plugin = Plugin::new("DEL", api).definition(&definition);
    std::thread::scope(|scope| {
        for sandbox in sandboxes {
            let mut call = Plugin::new("DEL", api).definition(&definition);
            call = call.variable("CNI_CONTAINERID", *sandbox);
            let call = call.variable("IPLEDGER_QUEUE_DIR", plugin.queue());
            scope.spawn(move || call.run().assert_silent_success());
        }
    });
    assert_eq!(plugin.queued().len(), sandboxes.len());
    plugin
}

fn drain(plugin: Plugin, arguments: &[&str]) -> (Answer, Plugin) {
    let plugin = plugin.without("CNI_COMMAND").without("IPLEDGER_API_URL");
    let arguments: Vec<_> = ["drain"].iter().chain(arguments).copied().collect();
    (plugin.run_with(&arguments), plugin)
}

fn last_line(answer: &Answer) -> &str {
    answer.stdout.lines().last().unwrap()
}

fn sandboxes(api: &Api) -> Vec<String> {
    let bodies = api.bodies("/v1/release");
    let mut ids: Vec<_> = bodies
        .iter()
        .map(|body| {
            body["attachment"]["container_id"]
                .as_str()
                .unwrap()
                .to_owned()
        })
        .collect();
    ids.sort();
    ids
}

#[test]
fn drain_delivers_everything_that_waits_with_its_own_token_and_time() {
    let plugin = node_with_queue(&nobody(), &["a", "b", "c", "d", "e", "f"]);
    let stored: Vec<Value> = plugin
        .queued()
        .iter()
        .map(|name| std::fs::read_to_string(plugin.queue().join(name)).unwrap())
        .map(|text| serde_json::from_str::<Value>(&text).unwrap()["request"].clone())
        .collect();
    let api = kind_api();
    let (answer, plugin) = drain(plugin, &["--api", &api.url()]);
    assert_eq!(answer.status, 0, "{answer:?}");
    assert_eq!(answer.stdout, "6 delivered, 0 waiting, 0 set aside\n");
    assert_eq!(sandboxes(&api), ["a", "b", "c", "d", "e", "f"]);
    let sent = api.bodies("/v1/release");
    for (sent, stored) in sent.iter().zip(&stored) {
        assert_eq!(sent["token"], stored["token"], "oldest first, as it was");
        assert_eq!(sent["claimed_at"], stored["claimed_at"]);
    }
    assert!(plugin.queued().is_empty());
}

#[test]
fn without_an_address_each_release_goes_where_it_was_meant_to_go() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    // Bound but not served: the DEL runs into its time.
    let plugin = node_with_queue(&url, &["a"]);
    let api = Api::serve(listener, |_, request| kindly(request));
    let (answer, _) = drain(plugin, &[]);
    assert_eq!(last_line(&answer), "1 delivered, 0 waiting, 0 set aside");
    assert!(sandboxes(&api).contains(&"a".to_owned()));
}

#[test]
fn every_verb_delivers_a_few() {
    for (command, code) in [
        ("ADD", 0),
        ("DEL", 0),
        ("CHECK", 0),
        ("STATUS", 0),
        ("GC", 0),
    ] {
        let waiting = node_with_queue(&nobody(), &["a", "b"]);
        let api = kind_api();
        let definition = with(
            strict(),
            json!({ "cniVersion": "1.1.0", "cni.dev/valid-attachments": [] }),
        );
        let plugin = Plugin::new(command, &api.url()).definition(&definition);
        let plugin = plugin.variable("IPLEDGER_QUEUE_DIR", waiting.queue());
        assert_eq!(plugin.run().status, code, "{command}");
        assert!(waiting.queued().is_empty(), "{command}");
        let ids = sandboxes(&api);
        assert!(
            ids.contains(&"a".to_owned()) && ids.contains(&"b".to_owned()),
            "{command}"
        );
    }
}

#[test]
fn a_queue_that_cannot_be_delivered_does_not_slow_down_an_add() {
    let names: Vec<_> = (0..9).map(|number| format!("s{number}")).collect();
    let names: Vec<_> = names.iter().map(String::as_str).collect();
    let waiting = node_with_queue(&nobody(), &names);
    let api = Api::start(|_, request| {
        if request.line == "POST /v1/release" {
            Reply::Hang
        } else {
            kindly(request)
        }
    });
    let plugin = Plugin::new("ADD", &api.url());
    let plugin = plugin.variable("IPLEDGER_QUEUE_DIR", waiting.queue());
    let started = std::time::Instant::now();
    assert_eq!(plugin.run().status, 0);
    assert!(
        started.elapsed() < std::time::Duration::from_secs(3),
        "{:?}",
        started.elapsed()
    );
    assert_eq!(waiting.queued().len(), 9, "nothing is lost");
}

/// The sandbox of [`Plugin::new`].
const OWN: &str = "c0ffee";

#[test]
fn an_add_delivers_the_releases_of_its_own_attachment_before_it_asks() {
    // More than a few others are older.
    let mut names: Vec<_> = (0..9).map(|number| format!("s{number}")).collect();
    names.push(OWN.to_owned());
    let names: Vec<_> = names.iter().map(String::as_str).collect();
    let waiting = node_with_queue(&nobody(), &names);
    let api = kind_api();
    let plugin = Plugin::new("ADD", &api.url());
    let plugin = plugin.variable("IPLEDGER_QUEUE_DIR", waiting.queue());
    assert_eq!(plugin.run().status, 0);
    let first = &api.requests()[0];
    assert_eq!(first.line, "POST /v1/release");
    assert_eq!(first.body["attachment"]["container_id"], OWN);
}

#[test]
fn an_add_whose_own_release_cannot_be_delivered_is_to_be_tried_again() {
    let waiting = node_with_queue(&nobody(), &["other", OWN]);
    let api = Api::start(|_, request| {
        if request.line == "POST /v1/release" {
            problem(ProblemCode::Internal)
        } else {
            kindly(request)
        }
    });
    let plugin = Plugin::new("ADD", &api.url());
    let plugin = plugin.variable("IPLEDGER_QUEUE_DIR", waiting.queue());
    let (code, message) = plugin.run().failure();
    assert_eq!(code, 11, "{message}");
    assert!(message.contains("comes first: "), "{message}");
    assert!(api.bodies("/v1/allocate").is_empty(), "nothing was asked");
    assert_eq!(waiting.queued().len(), 2, "nothing is lost");
    // Another interface of the same sandbox is another attachment.
    let other = plugin.variable("CNI_IFNAME", "net2");
    assert_eq!(other.run().status, 0);
}

#[test]
fn with_the_api_still_away_everything_stays() {
    let plugin = node_with_queue(&nobody(), &["a", "b"]);
    let before = plugin.queued();
    let (answer, plugin) = drain(plugin, &[]);
    assert_eq!(answer.status, 1);
    assert_eq!(last_line(&answer), "0 delivered, 2 waiting, 0 set aside");
    assert!(
        answer
            .stdout
            .contains(&format!("waits {}: cannot reach the API", before[0]))
    );
    assert_eq!(plugin.queued(), before);
}

#[test]
fn a_refusal_for_good_is_set_aside_with_its_reason() {
    let plugin = node_with_queue(&nobody(), &["bad", "good"]);
    let api = Api::start(|_, request| {
        if request.body["attachment"]["container_id"] == "bad" {
            return problem_about(ProblemCode::InvalidRequest, None, "cannot be meant");
        }
        released()
    });
    let (answer, plugin) = drain(plugin, &["--api", &api.url()]);
    assert_eq!(answer.status, 3, "{answer:?}");
    assert_eq!(last_line(&answer), "1 delivered, 0 waiting, 1 set aside");
    let aside = plugin.queue().join("set-aside");
    let names = files(&aside);
    assert_eq!(names.len(), 1);
    let path = aside.join(&names[0]);
    let named = format!(
        "set aside {}: invalid_request: cannot be meant",
        path.display()
    );
    assert!(answer.stdout.contains(&named), "{}", answer.stdout);
    let reason = std::fs::read_to_string(format!("{}.reason", path.display())).unwrap();
    assert_eq!(reason, "invalid_request: cannot be meant\n");
    let kept: Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
    assert_eq!(kept["request"]["attachment"]["container_id"], "bad");

    let (again, _) = drain(plugin, &["--api", &api.url()]);
    assert_eq!(again.status, 0);
    let earlier = format!("1 set aside earlier in {}", aside.display());
    assert_eq!(
        again.stdout,
        format!("{earlier}\n0 delivered, 0 waiting, 0 set aside\n")
    );
}

#[test]
fn a_file_that_cannot_be_understood_is_set_aside_and_named() {
    for (text, reason) in [
        (
            "",
            "is not a queued release: EOF while parsing a value at line 1 column 0",
        ),
        (
            "garbage",
            "is not a queued release: expected value at line 1 column 1",
        ),
        (
            "{\"version\":1}",
            "is not a queued release: missing field `api` at line 1 column 13",
        ),
        (
            "{\"version\":9}",
            "has version 9; this plugin reads version 1",
        ),
    ] {
        let plugin = Plugin::new("DEL", &nobody());
        std::fs::create_dir_all(plugin.queue()).unwrap();
        std::fs::write(plugin.queue().join("x.json"), text).unwrap();
        let (answer, plugin) = drain(plugin, &[]);
        assert_eq!(answer.status, 3);
        let path = plugin.queue().join("set-aside/x.json");
        assert!(
            answer
                .stdout
                .contains(&format!("set aside {}: {reason}", path.display()))
        );
        assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
    }
    // A verb that meets such a file says so, too.
    let api = kind_api();
    let plugin = Plugin::new("DEL", &api.url());
    std::fs::create_dir_all(plugin.queue()).unwrap();
    std::fs::write(plugin.queue().join("x.json"), "garbage").unwrap();
    let answer = plugin.run();
    answer.assert_silent_success();
    assert!(
        answer
            .stderr
            .contains("warning: queued release set aside: "),
        "{}",
        answer.stderr
    );
}

#[test]
fn a_stale_release_is_settled_and_a_forbidden_one_waits_for_a_token() {
    let plugin = node_with_queue(&nobody(), &["stale"]);
    let api = Api::start(|_, _| problem(ProblemCode::Stale));
    let (answer, _) = drain(plugin, &["--api", &api.url()]);
    assert_eq!(last_line(&answer), "1 delivered, 0 waiting, 0 set aside");

    let plugin = node_with_queue(&nobody(), &["a", "b"]);
    let api = Api::start(|_, request| {
        if request.head.contains("Authorization: Bearer right") {
            return released();
        }
        let Reply::Json(_, body) = problem(ProblemCode::InvalidRequest) else {
            unreachable!("problem() answers JSON")
        };
        Reply::Json(
            403,
            with(body, json!({ "code": "forbidden", "status": 403 })),
        )
    });
    let (answer, plugin) = drain(plugin, &["--api", &api.url()]);
    assert_eq!(last_line(&answer), "0 delivered, 2 waiting, 0 set aside");
    let token = plugin.directory.path().join("token");
    std::fs::write(&token, "right").unwrap();
    let token = format!("--token-file={}", token.display());
    let (answer, _) = drain(plugin, &["--api", &api.url(), &token]);
    assert_eq!(last_line(&answer), "2 delivered, 0 waiting, 0 set aside");
}

#[test]
fn one_release_that_fails_does_not_keep_the_others_from_going() {
    let plugin = node_with_queue(&nobody(), &["a", "b", "c"]);
    let api = Api::start(|_, request| {
        if request.body["attachment"]["container_id"] == "a" {
            return problem(ProblemCode::Internal);
        }
        released()
    });
    let (answer, plugin) = drain(plugin, &["--api", &api.url()]);
    assert_eq!(last_line(&answer), "2 delivered, 1 waiting, 0 set aside");
    assert_eq!(answer.status, 1);
    assert_eq!(plugin.queued().len(), 1);
}

#[test]
fn processes_that_deliver_at_once_lose_nothing_and_fail_nothing() {
    let names: Vec<_> = (0..24).map(|number| format!("s{number:02}")).collect();
    let names: Vec<_> = names.iter().map(String::as_str).collect();
    let waiting = node_with_queue(&nobody(), &names);
    let api = kind_api();
    std::thread::scope(|scope| {
        for _ in 0..6 {
            let call = Plugin::new("", "")
                .without("CNI_COMMAND")
                .without("IPLEDGER_API_URL");
            let call = call.variable("IPLEDGER_QUEUE_DIR", waiting.queue());
            let url = api.url();
            scope.spawn(move || {
                let answer = call.run_with(&["drain", "--api", &url]);
                assert_eq!(answer.status, 0, "{answer:?}");
            });
        }
    });
    assert!(waiting.queued().is_empty());
    assert!(files(&waiting.queue().join("set-aside")).is_empty());
    let mut delivered = sandboxes(&api);
    delivered.dedup();
    assert_eq!(delivered, names);
}

#[test]
fn files_are_private_and_abandoned_parts_are_swept() {
    let plugin = node_with_queue(&nobody(), &["a"]);
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&plugin.queue()), 0o700);
    assert_eq!(mode(&plugin.queue().join(&plugin.queued()[0])), 0o600);

    let old = plugin.queue().join("old.json.part");
    let young = plugin.queue().join("young.json.part");
    for part in [&old, &young] {
        std::fs::write(part, "{").unwrap();
    }
    let day = std::time::Duration::from_secs(24 * 3600);
    let modified = std::fs::metadata(&old).unwrap().modified().unwrap() - day;
    std::fs::File::options()
        .write(true)
        .open(&old)
        .unwrap()
        .set_modified(modified)
        .unwrap();
    let api = kind_api();
    let (answer, _plugin) = drain(plugin, &["--api", &api.url()]);
    assert_eq!(answer.status, 0);
    assert!(!old.exists() && young.exists());
}

#[test]
fn a_flat_file_says_where_releases_of_its_cluster_go_today() {
    let waiting = node_with_queue(&nobody(), &["a"]);
    let (api, other) = (kind_api(), kind_api());
    let flat = |cluster: &str, url: &str| {
        json!({ "cluster": cluster, "api": url, "queue_dir": "/queue" }).to_string()
    };
    let node = waiting.without("CNI_COMMAND").without("IPLEDGER_API_URL");
    let mut node = node.without("IPLEDGER_QUEUE_DIR");
    let path = "/etc/cni/net.d/ipledger.d/ipledger.conf";
    node = node.file(path, &flat("another", &other.url()));
    assert_eq!(node.run_inside_with(&["drain"]).status, 1);
    assert!(other.requests().is_empty(), "not its cluster");
    node = node.file(path, &flat("prod", &api.url()));
    let answer = node.run_inside_with(&["drain"]);
    assert_eq!(last_line(&answer), "1 delivered, 0 waiting, 0 set aside");
    assert_eq!(sandboxes(&api), ["a"]);
}
