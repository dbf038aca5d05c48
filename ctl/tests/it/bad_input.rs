//! One clear line that names the argument and the value, and the right exit code.

use crate::support::{Service, command, run};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_cannot_be_meant_is_refused_in_one_line() {
    let service = Service::with_past().await;
    for (arguments, code, expected) in [
        (
            vec!["who", "10.10.3.1", "--at", "noon"],
            2,
            "--at \"noon\" is not a time",
        ),
        (vec!["diff", "soon"], 2, "T1 \"soon\" is not a time"),
        (
            vec!["history", "web-0", "--until", "2h"],
            2,
            "--until \"2h\" is not a time",
        ),
        (
            vec!["holds", "--range", "10.0.0.0/33"],
            2,
            "range \"10.0.0.0/33\"",
        ),
        (vec!["holds", "--space", "nowhere"], 1, "nowhere"),
        (vec!["history", "No_Pod"], 2, "pod \"No_Pod\""),
        (
            vec!["events", "--space", "nowhere", "--after", "0"],
            1,
            "nowhere",
        ),
        (
            vec![
                "release",
                "10.10.3.2",
                "--reason",
                "x",
                "--evidence",
                "ticket",
            ],
            2,
            "--evidence \"ticket\" is not KEY=VALUE",
        ),
        (
            vec!["spaces", "--api-url", "ledger"],
            2,
            "--api-url \"ledger\" names a host",
        ),
        (
            vec!["spaces", "--token-file", "/nowhere/token"],
            2,
            "--token-file \"/nowhere/token\" cannot be read",
        ),
    ] {
        let ran = service.run(&arguments).await;
        assert_eq!(
            (ran.code, ran.stdout.as_str()),
            (code, ""),
            "{arguments:?}: {ran:?}"
        );
        assert!(
            ran.stderr.contains(expected),
            "{arguments:?}: {}",
            ran.stderr
        );
        assert_eq!(
            ran.stderr.lines().count(),
            1,
            "{arguments:?}: {}",
            ran.stderr
        );
    }
}

#[tokio::test]
async fn arguments_that_do_not_fit_end_with_2_and_an_absent_api_with_3() {
    let nowhere = "http://127.0.0.1:1";
    for arguments in [
        vec!["who", "10.10.3.300"],
        vec!["history"],
        vec!["history", "10.0.0.1", "--node", "n"],
        vec!["release", "10.10.3.1"],
        vec!["holds", "-o", "xml"],
        vec!["nonsense"],
    ] {
        let ran = run(command(nowhere, &arguments)).await;
        assert_eq!(ran.code, 2, "{arguments:?}: {ran:?}");
    }
    let ran = run(command(nowhere, &["spaces", "--timeout", "1"])).await;
    assert_eq!(ran.code, 3);
    assert!(
        ran.stderr
            .contains("cannot reach the API: http://127.0.0.1:1"),
        "{ran:?}"
    );
}
