//! One run of `go build`.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::{Recipe, cache};
use crate::Error;
use crate::binaries::installed;

/// How often a long build says that it is alive.
const REPORT_INTERVAL: Duration = Duration::from_secs(60);

/// Fills `dir`: one binary and a link for each name that it goes by.
pub(super) fn run(recipe: &Recipe, module: &Path, dir: &Path) -> Result<(), Error> {
    let refuse = |reason: String| Error::Build {
        module: module.to_owned(),
        reason,
    };
    let remedy = "Go is not installed; `scripts/need go` does it";
    let go = go().ok_or_else(|| refuse(remedy.to_owned()))?;
    let [binary, aliases @ ..] = recipe.programs else {
        unreachable!("every recipe names a program");
    };
    let names = recipe.programs.join(", ");
    say(&format!(
        "building {names}, once per machine (about {})",
        recipe.duration
    ));
    let mut command = Command::new(&go);
    command
        .args([
            "build",
            "-v",
            "-trimpath",
            "-buildvcs=false",
            "-mod=readonly",
        ])
        .args(["-tags", recipe.tags, "-ldflags", recipe.linker_flags, "-o"])
        .arg(dir.join(binary))
        .arg(recipe.package)
        .current_dir(module)
        // Neither a C compiler nor somebody's workspace has a part in it.
        .env("CGO_ENABLED", "0")
        .env("GOWORK", "off")
        .env_remove("GOFLAGS")
        // Distributions forbid Go to fetch the release that a module names.
        .env("GOTOOLCHAIN", "auto")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    let mut child = command.spawn().map_err(Error::io("run", &go))?;
    let output = child.stderr.take().expect("stderr was asked for as a pipe");
    let complaint = follow(output).map_err(Error::io("read from", &go))?;
    if !child.wait().map_err(Error::io("wait for", &go))?.success() {
        return Err(refuse(complaint));
    }
    for alias in aliases {
        let link = dir.join(alias);
        symlink(binary, &link).map_err(Error::io("link", &link))?;
    }
    Ok(())
}

/// The Go that `scripts/need` fetched because this machine's was too old, else the one of `PATH`
/// or of its usual place.
fn go() -> Option<PathBuf> {
    let fetched = cache::root().map(|root| root.join("go/bin/go"));
    let usual = PathBuf::from("/usr/local/go/bin/go");
    let exists = |path: &PathBuf| path.exists();
    fetched
        .filter(exists)
        .or_else(|| installed("go"))
        .or_else(|| Some(usual).filter(exists))
}

/// Reads what Go says until it ends; returns its first complaint.
fn follow(output: impl Read) -> std::io::Result<String> {
    let mut reported = Instant::now();
    let mut packages = 0;
    let mut complaint = None;
    for line in BufReader::new(output).lines() {
        let line = line?;
        match kind(&line) {
            Kind::Package => packages += 1,
            Kind::News => {}
            Kind::Complaint => complaint = complaint.or(Some(line)),
        }
        if reported.elapsed() >= REPORT_INTERVAL {
            say(&format!("... {packages} packages compiled"));
            reported = Instant::now();
        }
    }
    Ok(complaint.unwrap_or_else(|| "go build gave no reason".to_owned()))
}

#[derive(Debug, PartialEq, Eq)]
enum Kind {
    Package,
    News,
    Complaint,
}

fn kind(line: &str) -> Kind {
    // "# package" stands above the compiler's complaints about it.
    if line.starts_with("go: downloading ") || line.starts_with("# ") || line.is_empty() {
        Kind::News
    } else if line.contains(' ') {
        Kind::Complaint
    } else {
        Kind::Package
    }
}

/// To the terminal, past what the test harness would keep until a test fails.
pub(super) fn say(message: &str) {
    // Who cannot be told need not be told.
    let _ = writeln!(std::io::stderr(), "test-cluster: {message}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_complaint_is_the_reason() {
        let output = "go: downloading k8s.io/api v0.37.2\n\
                      k8s.io/api/core/v1\n\
                      go: k8s.io/kubernetes@v1.37.2: Get \"https://proxy\": no such host\n\
                      main.go:3:2: something that follows from it\n";
        let reason = follow(output.as_bytes()).unwrap();
        assert!(reason.ends_with("no such host"), "{reason}");
    }

    #[test]
    fn a_compiler_error_is_told_by_its_line_and_not_by_its_heading() {
        let output = "# ipledger.test/kube\n./main.go:9:2: undefined: programs\n";
        assert_eq!(
            follow(output.as_bytes()).unwrap(),
            "./main.go:9:2: undefined: programs"
        );
    }
}
