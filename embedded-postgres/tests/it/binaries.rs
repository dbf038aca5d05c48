//! Finding the binaries, on this machine and on machines that are laid out otherwise.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use embedded_postgres::{Binaries, Error, Search};

use crate::support::temporary;

/// Both programs, written by a process of its own: one that this process had open for writing
/// could not be executed while a child forked by another test still shares it.
const INSTALL: &str = r#"
for program in postgres initdb; do
    printf '#!/bin/sh\necho "%s"\n' "$2" > "$1/$program" && chmod 755 "$1/$program" || exit 1
done
"#;

/// A directory whose `postgres --version` answers `version`.
fn installation(root: &Path, name: &str, version: &str) -> PathBuf {
    let dir = root.join(name);
    fs::create_dir_all(&dir).expect("a directory");
    let mut command = Command::new("/bin/sh");
    command.args(["-c", INSTALL, "sh"]).arg(&dir).arg(version);
    assert!(command.status().expect("a shell").success());
    dir
}

fn postgres(version: &str) -> String {
    format!("postgres (PostgreSQL) {version}")
}

fn error(search: &Search) -> Error {
    search.run().expect_err("nothing usable")
}

#[test]
fn this_machine_has_usable_binaries() {
    let found = Binaries::find(None).unwrap();
    assert!(found.program("postgres").is_file() && found.program("initdb").is_file());
    assert!(found.version().major() >= 14);
    let named = Binaries::find(Some(found.dir())).unwrap();
    assert_eq!(named.version(), found.version());
}

#[test]
fn nothing_found_says_how_to_install_in_one_line() {
    let root = temporary();
    let search = Search {
        pg_config_bindir: Some(root.path().join("absent")),
        usual: vec![root.path().to_owned()],
        path: vec![root.path().to_owned()],
        os: "linux".to_owned(),
        os_release: "ID=debian\n".to_owned(),
        ..Search::default()
    };
    let error = error(&search);
    assert_eq!(error.kind(), "binaries_missing");
    assert_eq!(
        error.to_string(),
        "PostgreSQL server binaries not found (looked at pg_config --bindir, the usual \
         directories and PATH); install them: apt-get install postgresql"
    );
}

#[test]
fn a_named_directory_is_the_only_candidate() {
    let root = temporary();
    let missing = root.path().join("nowhere");
    let good = installation(root.path(), "good", &postgres("16.1"));
    let search = Search {
        flag: Some(missing.clone()),
        path: vec![good],
        ..Search::default()
    };
    let error = error(&search);
    assert_eq!(error.kind(), "binaries_missing");
    assert!(
        error.to_string().contains(missing.to_str().unwrap()),
        "{error}"
    );
}

#[test]
fn a_client_installation_does_not_count() {
    let root = temporary();
    let client_only = installation(root.path(), "client", &postgres("17.0"));
    fs::remove_file(client_only.join("initdb")).unwrap();
    let server = installation(root.path(), "server", &postgres("16.1"));
    let search = Search {
        pg_config_bindir: Some(client_only),
        usual: vec![server.clone()],
        ..Search::default()
    };
    assert_eq!(search.run().unwrap().dir(), server);
}

#[test]
fn the_order_is_pg_config_then_usual_places_then_path() {
    let root = temporary();
    let [a, b, c] = ["a", "b", "c"].map(|n| installation(root.path(), n, &postgres("15.1")));
    let mut search = Search {
        pg_config_bindir: Some(a.clone()),
        usual: vec![b.clone()],
        path: vec![c.clone()],
        ..Search::default()
    };
    assert_eq!(search.run().unwrap().dir(), a);
    search.pg_config_bindir = None;
    assert_eq!(search.run().unwrap().dir(), b);
    search.usual.clear();
    assert_eq!(search.run().unwrap().dir(), c);
}

#[test]
fn what_is_too_old_is_passed_over_and_refused_if_alone() {
    let root = temporary();
    let old = installation(root.path(), "old", &postgres("13.9"));
    let oldest_supported = installation(root.path(), "new", &postgres("14.0"));
    let mut search = Search {
        pg_config_bindir: Some(old.clone()),
        path: vec![oldest_supported.clone()],
        ..Search::default()
    };
    assert_eq!(search.run().unwrap().dir(), oldest_supported);
    search.path.clear();
    let error = error(&search);
    assert_eq!(error.kind(), "binaries_too_old");
    assert_eq!(
        error.to_string(),
        format!(
            "PostgreSQL 13.9 in {} is too old: version 14 or newer is needed",
            old.display()
        )
    );
}

#[test]
fn a_binary_that_says_something_else_is_named_with_its_answer() {
    let root = temporary();
    let odd = installation(root.path(), "odd", "hello");
    let error = error(&Search {
        flag: Some(odd.clone()),
        ..Search::default()
    });
    assert_eq!(error.kind(), "binaries_unusable");
    let message = error.to_string();
    assert!(
        message.contains("hello") && message.contains(odd.to_str().unwrap()),
        "{message}"
    );
}
