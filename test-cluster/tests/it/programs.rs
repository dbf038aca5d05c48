//! Where the programs come from, and what is said when they cannot be had.

use std::path::Path;
use std::process::{Command, Output};

/// Asks for all programs with nothing in the cache and no module on this machine.
fn build(dir: &Path, settings: &[(&str, &str)]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_build-go-programs"));
    command
        .env("XDG_CACHE_HOME", dir.join("cache"))
        .env("GOMODCACHE", dir.join("modules"))
        .env_remove("KUBEBUILDER_ASSETS")
        .envs(settings.iter().copied())
        .output()
        .unwrap()
}

#[test]
fn without_the_network_one_line_names_the_module_and_the_reason() {
    let dir = tempfile::tempdir().unwrap();
    let output = build(dir.path(), &[("GOPROXY", "off")]);
    let stderr = String::from_utf8(output.stderr).unwrap();
    let refusals: Vec<&str> = stderr
        .lines()
        .filter(|line| line.starts_with("Error: "))
        .collect();
    assert!(!output.status.success(), "{stderr}");
    let [refusal] = refusals.as_slice() else {
        panic!("{stderr}");
    };
    assert!(
        refusal.contains("tests/go/kube cannot be built: "),
        "{refusal}"
    );
    assert!(refusal.contains("GOPROXY=off"), "{refusal}");
    let left = std::fs::read_dir(dir.path().join("cache/ipledger-tests")).unwrap();
    let names = left.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let finished: Vec<String> = names.filter(|name| !name.contains('.')).collect();
    assert!(finished.is_empty(), "{finished:?}");
}

#[test]
fn programs_that_are_there_need_no_go() {
    let dir = tempfile::tempdir().unwrap();
    let assets = test_cluster::GoProgram::ControlPlane.build().unwrap();
    let assets = assets.to_str().unwrap();
    let settings = [("GOPROXY", "off"), ("KUBEBUILDER_ASSETS", assets)];
    let stderr = String::from_utf8(build(dir.path(), &settings).stderr).unwrap();
    // What is still missing is whereabouts, which nobody has ready.
    assert!(
        stderr.contains("tests/go/whereabouts cannot be built: "),
        "{stderr}"
    );
    assert!(!stderr.contains("tests/go/kube"), "{stderr}");
}
