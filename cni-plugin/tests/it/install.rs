//! `ipledger install`.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;

use crate::plugin::{Answer, Plugin};

const PROGRAM: &str = env!("CARGO_BIN_EXE_ipledger");

fn install(directory: &Path, more: &[&str]) -> Answer {
    let directory = directory.to_str().unwrap();
    let arguments: Vec<&str> = ["install", "--dir", directory]
        .iter()
        .chain(more)
        .copied()
        .collect();
    Plugin::new("", "")
        .without("CNI_COMMAND")
        .run_with(&arguments)
}

fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).unwrap();
    let mut names: Vec<String> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

fn assert_is_the_program(path: &Path) {
    let there = fs::symlink_metadata(path).unwrap();
    assert!(there.is_file(), "{}", path.display());
    assert_eq!(there.permissions().mode() & 0o777, 0o755);
    assert!(fs::read(path).unwrap() == fs::read(PROGRAM).unwrap());
}

#[test]
fn it_installs_itself_and_leaves_alone_what_is_up_to_date() {
    let directory = tempfile::tempdir().unwrap();
    let ours = directory.path().join("ipledger");
    let first = install(directory.path(), &[]);
    let line = format!("installed {}\n", ours.display());
    assert_eq!((first.status, first.stdout), (0, line));
    assert_is_the_program(&ours);
    assert_eq!(names(directory.path()), ["ipledger"]);

    let before = fs::metadata(&ours).unwrap().modified().unwrap();
    let again = install(directory.path(), &[]);
    let line = format!("{} is up to date\n", ours.display());
    assert_eq!((again.status, again.stdout), (0, line));
    assert_eq!(fs::metadata(&ours).unwrap().modified().unwrap(), before);

    // The same bytes that nobody may run are not up to date.
    fs::set_permissions(&ours, fs::Permissions::from_mode(0o600)).unwrap();
    install(directory.path(), &[]);
    assert_is_the_program(&ours);
    let version = std::process::Command::new(&ours).arg("--version").output();
    assert!(version.unwrap().stdout.starts_with(b"ipledger "));
}

#[test]
fn it_takes_the_incumbents_name_only_if_told_to() {
    let directory = tempfile::tempdir().unwrap();
    let theirs = directory.path().join("whereabouts");
    fs::write(&theirs, "the incumbent").unwrap();
    install(directory.path(), &[]);
    assert_eq!(fs::read(&theirs).unwrap(), b"the incumbent");
    let told = install(directory.path(), &["--as-whereabouts"]);
    assert_eq!(told.status, 0, "{told:?}");
    assert_is_the_program(&theirs);
    assert_eq!(names(directory.path()), ["ipledger", "whereabouts"]);
}

#[test]
fn it_never_writes_through_a_link() {
    let directory = tempfile::tempdir().unwrap();
    let elsewhere = tempfile::tempdir().unwrap();
    let precious = elsewhere.path().join("precious");
    fs::write(&precious, "somebody else's").unwrap();
    symlink(&precious, directory.path().join("ipledger")).unwrap();
    symlink(&precious, directory.path().join(".ipledger.ipledger-part")).unwrap();
    symlink("/nowhere/at/all", directory.path().join("whereabouts")).unwrap();
    let told = install(directory.path(), &["--as-whereabouts"]);
    assert_eq!(told.status, 0, "{told:?}");
    assert_eq!(fs::read(&precious).unwrap(), b"somebody else's");
    for name in ["ipledger", "whereabouts"] {
        assert_is_the_program(&directory.path().join(name));
    }
    // A link to the very same bytes is a link all the same.
    let other = tempfile::tempdir().unwrap();
    symlink(PROGRAM, other.path().join("ipledger")).unwrap();
    install(other.path(), &[]);
    assert_is_the_program(&other.path().join("ipledger"));
}

#[test]
fn the_program_that_runs_can_be_replaced() {
    let directory = tempfile::tempdir().unwrap();
    install(directory.path(), &[]);
    let ours = directory.path().join("ipledger");
    // Another version, which a runtime is just running.
    let mut other = fs::read(PROGRAM).unwrap();
    other.push(0);
    fs::remove_file(&ours).unwrap();
    fs::write(&ours, other).unwrap();
    fs::set_permissions(&ours, fs::Permissions::from_mode(0o755)).unwrap();
    let mut running = std::process::Command::new(&ours)
        .env_clear()
        .env("CNI_COMMAND", "ADD")
        .env("CNI_CONTAINERID", "c")
        .env("CNI_IFNAME", "net1")
        .env("CNI_NETNS", "/n")
        .env("CNI_PATH", "/p")
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let told = install(directory.path(), &[]);
    assert_eq!(told.status, 0, "{told:?}");
    assert_is_the_program(&ours);
    assert!(
        running.try_wait().unwrap().is_none(),
        "it waits for its input"
    );
    drop(running.stdin.take());
    running.wait().unwrap();
}

#[test]
fn several_at_once_leave_a_whole_program() {
    let directory = tempfile::tempdir().unwrap();
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| assert_eq!(install(directory.path(), &["--as-whereabouts"]).status, 0));
        }
    });
    for name in ["ipledger", "whereabouts"] {
        assert_is_the_program(&directory.path().join(name));
    }
    assert_eq!(names(directory.path()), ["ipledger", "whereabouts"]);
}

#[test]
fn what_cannot_be_written_is_told_and_nothing_is_left_behind() {
    let nowhere = install(Path::new("/nowhere/at/all"), &[]);
    assert_eq!((nowhere.status, nowhere.stdout.as_str()), (1, ""));
    assert_eq!(
        nowhere.stderr,
        "ipledger install: /nowhere/at/all: cannot be opened: No such file or directory (os error \
         2)\n"
    );
    let directory = tempfile::tempdir().unwrap();
    let taken = directory.path().join("ipledger");
    fs::create_dir(&taken).unwrap();
    let told = install(directory.path(), &[]);
    let line = format!("ipledger install: {}: is a directory\n", taken.display());
    assert_eq!((told.status, told.stderr), (1, line));
    assert_eq!(names(directory.path()), ["ipledger"]);
}
