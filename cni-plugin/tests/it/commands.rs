//! What the program does for people.

use crate::api::nobody;
use crate::plugin::{Answer, Plugin};

fn run(arguments: &[&str]) -> Answer {
    Plugin::new("", &nobody())
        .without("CNI_COMMAND")
        .run_with(arguments)
}

#[test]
fn without_a_command_it_says_what_it_is_as_the_reference_plugins_do() {
    let answer = run(&[]);
    assert_eq!((answer.status, answer.stdout.as_str()), (0, ""));
    assert!(
        answer
            .stderr
            .starts_with(concat!("CNI plugin ipledger ", env!("CARGO_PKG_VERSION")))
    );
    assert!(
        answer
            .stderr
            .contains("versions supported: 0.1.0, 0.2.0, 0.3.0, 0.3.1, 0.4.0, 1.0.0")
    );
}

#[test]
fn the_version_is_exact() {
    for argument in ["version", "--version", "-V"] {
        let answer = run(&[argument]);
        let expected = concat!("ipledger ", env!("CARGO_PKG_VERSION"), "\n");
        assert_eq!((answer.status, answer.stdout.as_str()), (0, expected));
    }
}

#[test]
fn help_names_every_variable_file_and_code() {
    let answer = run(&["--help"]);
    assert_eq!(answer.status, 0);
    for word in [
        "IPLEDGER_API_URL",
        "IPLEDGER_CLUSTER",
        "IPLEDGER_CLUSTER_UID",
        "IPLEDGER_TOKEN_FILE",
        "IPLEDGER_QUEUE_DIR",
        "NODENAME",
        "/etc/cni/net.d/ipledger.d/ipledger.conf",
        "/etc/kubernetes/cni/net.d/whereabouts.d/whereabouts.conf",
        "/host/etc/cni/net.d/whereabouts.d/whereabouts.conf",
        "/etc/cni/net.d/whereabouts.d/nodename",
        "/etc/hostname",
        "/var/lib/ipledger/queue/set-aside",
        "Exit status",
        "ipledger drain",
        "ipledger install",
    ] {
        assert!(answer.stdout.contains(word), "{word}");
    }
    let codes: Vec<u32> = answer
        .stdout
        .lines()
        .skip_while(|line| !line.starts_with("Codes"))
        .filter_map(|line| line.split_whitespace().next()?.parse().ok())
        .collect();
    let all = [
        1, 2, 4, 5, 6, 7, 11, 50, 100, 101, 102, 103, 104, 106, 107, 108,
    ];
    assert_eq!(codes, all);
    assert!(
        answer.stdout.lines().all(|line| line.len() <= 82),
        "fits a terminal"
    );
    assert!(
        run(&["drain", "--help"])
            .stdout
            .starts_with("Deliver the releases")
    );
}

#[test]
fn wrong_usage_is_status_2_with_one_line() {
    for (arguments, line) in [
        (
            vec!["drian"],
            "ipledger: unknown command \"drian\"; see ipledger --help",
        ),
        (
            vec!["--all"],
            "ipledger: unknown command \"--all\"; see ipledger --help",
        ),
        (
            vec!["drain", "--al"],
            "ipledger drain: unknown option \"--al\"; see ipledger drain --help",
        ),
        (
            vec!["install", "--as-whereabouts=yes"],
            "ipledger install: unknown option \"--as-whereabouts=yes\"; see ipledger install --help",
        ),
        (
            vec!["install", "--dir"],
            "ipledger install: --dir needs a value; see ipledger install --help",
        ),
        (
            vec!["install", "--dir", "bin"],
            "ipledger install: --dir: \"bin\" is not an absolute path; see ipledger install --help",
        ),
        (
            vec!["drain", "--api"],
            "ipledger drain: --api needs a value; see ipledger drain --help",
        ),
        (
            vec!["drain", "--timeout=soon"],
            "ipledger drain: --timeout: \"soon\" is no number of seconds above 0; see ipledger \
             drain --help",
        ),
        (
            vec!["drain", "--api", "http://ledger:1"],
            "ipledger drain: warning: --api: \"http://ledger:1\" names a host or no port; write a \
             literal address, for example http://127.0.0.1:8311, http://[::1]:8311 or \
             unix:/run/ipledger/api.sock",
        ),
    ] {
        let answer = Plugin::new("", "")
            .without("CNI_COMMAND")
            .run_with(&arguments);
        assert_eq!(
            (answer.status, answer.stdout.as_str()),
            (2, ""),
            "{arguments:?}"
        );
        assert_eq!(answer.stderr, format!("{line}\n"));
    }
}
