//! What needs a Docker engine: the image, docker-compose.yml, and a database in a container.
//!
//! A test runs in a copy of this process, which `tests/docker/with-engine` starts with a Docker
//! engine around it. So a private engine lives exactly as long as its test, and `DOCKER_HOST` is
//! set from the start of the process, where every client looks for it.

mod compose;
mod container;
mod documented;

use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::say_not_run;

/// Marks the copy.
const INSIDE: &str = "IPLEDGER_TEST_INSIDE_ENGINE";
/// `with-engine` could get no engine.
const NO_ENGINE: i32 = 69;
/// The image that `tests/docker/images` gives the engine.
const POSTGRES_IMAGE: &str = "ipledger-test/postgres";

/// Runs the body of the test `name` (its full path) with an engine, or says in one line why it
/// cannot, past the capture of the test's output.
fn with_engine(name: &str, limit_seconds: u32, body: impl FnOnce()) {
    if env::var_os(INSIDE).is_some() {
        return body();
    }
    let output = Command::new("timeout")
        .args(["--kill-after=60", &limit_seconds.to_string()])
        .arg(repository().join("tests/docker/with-engine"))
        .arg(env::current_exe().expect("the path of this program"))
        .args(["--exact", name, "--nocapture"])
        .env(INSIDE, "1")
        .output()
        .expect("coreutils' timeout");
    if output.status.code() == Some(NO_ENGINE) {
        let stderr = String::from_utf8_lossy(&output.stderr);
        return say_not_run(name, stderr.lines().last().unwrap_or("no reason given"));
    }
    let text = text_of(&output);
    assert!(output.status.success(), "{}\n{text}", output.status);
    assert!(
        text.contains("1 passed"),
        "no test has the name {name}:\n{text}"
    );
}

/// The top of the repository.
fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("this package lies in the repository")
}

/// A script of the repository, in the environment that a shell would give it.
fn script(path: &str) -> Command {
    let mut command = Command::new(repository().join(path));
    command.current_dir(repository());
    // What cargo says about the package under test. A cargo in the script would build anew what
    // depends on it, `ring` for one, and again at the next build from a shell.
    for (name, _) in env::vars_os() {
        let text = name.to_string_lossy();
        if text.starts_with("CARGO_PKG_") || text.starts_with("CARGO_MANIFEST_") {
            command.env_remove(&name);
        }
    }
    command
}

/// Runs to a good end, or fails with all that was said. The standard output, trimmed.
fn run(command: &mut Command) -> String {
    let output = command
        .output()
        .unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(
        output.status.success(),
        "{command:?}: {}\n{}",
        output.status,
        text_of(&output)
    );
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

fn text_of(output: &Output) -> String {
    let mut text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.push_str(&String::from_utf8_lossy(&output.stderr));
    text
}

/// `docker` with arguments.
fn docker(arguments: &[&str]) -> Command {
    let mut command = Command::new("docker");
    command.args(arguments);
    command
}

/// A path in the repository, read.
fn read(path: &str) -> String {
    let path: PathBuf = repository().join(path);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}
