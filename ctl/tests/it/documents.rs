//! What the help and the documents promise is run.

use crate::support::{Service, command, run, words};

const COMMANDS: [&str; 9] = [
    "who",
    "history",
    "holds",
    "pools",
    "events",
    "diff",
    "release",
    "spaces",
    "completion",
];

fn document(name: &str) -> String {
    let path = format!("{}/../docs/{name}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_example_of_the_help_has_an_answer() {
    let service = Service::with_past().await;
    let mut count = 0;
    for name in COMMANDS {
        let help = service.told(&[name, "--help"]).await;
        let examples: Vec<&str> = help
            .lines()
            .filter_map(|line| line.strip_prefix("  ipledgerctl "))
            .collect();
        assert!(!examples.is_empty(), "{name} has no example");
        for example in examples {
            let arguments = words(example);
            let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
            let ran = service.run(&arguments).await;
            assert_eq!(
                (ran.code, ran.stderr.as_str()),
                (0, ""),
                "{example}: {ran:?}"
            );
            assert!(!ran.stdout.is_empty(), "{example}");
            count += 1;
        }
    }
    assert!(count >= 20, "{count} examples");
}

/// docs/questions.md: each question has one command, and a line that says what to look for.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_question_is_answered_by_one_command() {
    let service = Service::with_past().await;
    let text = document("questions.md");
    let questions: Vec<&str> = text.split("\n## ").skip(1).collect();
    assert_eq!(questions.len(), 10);
    for question in questions {
        let line = question
            .lines()
            .find_map(|line| line.strip_prefix("ipledgerctl "))
            .unwrap_or_else(|| panic!("no command: {question}"));
        let arguments = words(line);
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let ran = service.run(&arguments).await;
        let looked = question
            .lines()
            .find_map(|line| line.strip_prefix("Look for "))
            .unwrap_or_else(|| panic!("nothing to look for: {question}"));
        let words: Vec<&str> = looked.split('`').skip(1).step_by(2).collect();
        assert!(!words.is_empty(), "{question}");
        for word in words {
            let told = format!("{}{}", ran.stdout, ran.stderr);
            assert!(told.contains(word), "{line}: no {word} in {told}");
        }
        assert_eq!(ran.code, 0, "{line}: {ran:?}");
    }
}

#[tokio::test]
async fn the_manual_names_every_command_flag_and_exit_code() {
    let manual = document("ipledgerctl.md");
    let nowhere = "http://127.0.0.1:1";
    let help = run(command(nowhere, &["--help"])).await.stdout;
    for name in COMMANDS {
        assert!(help.contains(&format!("  {name} ")), "{name} in the help");
        assert!(manual.contains(&format!("`{name}`")), "{name}");
        let help = run(command(nowhere, &[name, "--help"])).await.stdout;
        for flag in help
            .split_whitespace()
            .filter(|word| word.starts_with("--"))
        {
            let flag = flag.trim_matches(|c: char| !c.is_ascii_alphanumeric() && c != '-');
            assert!(manual.contains(flag), "{name} {flag}");
        }
    }
    for code in 0..=4 {
        assert!(manual.contains(&format!("| {code} |")), "{code}");
    }
}
