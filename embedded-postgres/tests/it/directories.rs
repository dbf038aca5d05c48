//! Directories that are refused, and that stay as they were.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use embedded_postgres::Settings;

use crate::support::{binaries, commit_row, is_root, rows, start, temporary};

fn names(dir: &std::path::Path) -> Vec<String> {
    let entries = fs::read_dir(dir).expect("a directory").flatten();
    let mut names: Vec<_> = entries
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

#[tokio::test]
async fn a_directory_with_other_content_is_refused_and_unchanged() {
    let dir = temporary();
    fs::write(dir.path().join("thesis.txt"), "years of work").unwrap();
    let error = start(Settings::durable(dir.path())).await.unwrap_err();
    assert_eq!(error.kind(), "foreign_directory");
    let message = error.to_string();
    assert!(message.contains(dir.path().to_str().unwrap()), "{message}");
    assert!(message.contains("thesis.txt"), "{message}");
    assert_eq!(names(dir.path()), ["thesis.txt"]);
}

#[tokio::test]
async fn a_cluster_that_was_not_made_here_is_refused() {
    let dir = temporary();
    fs::write(dir.path().join("PG_VERSION"), "15\n").unwrap();
    fs::create_dir(dir.path().join("base")).unwrap();
    let error = start(Settings::durable(dir.path())).await.unwrap_err();
    assert_eq!(error.kind(), "foreign_directory");
    assert!(
        error
            .to_string()
            .contains("a PostgreSQL cluster that was not made here"),
        "{error}"
    );
    assert_eq!(names(dir.path()), ["PG_VERSION", "base"]);
}

#[tokio::test]
async fn a_volume_with_lost_and_found_counts_as_empty() {
    let dir = temporary();
    fs::create_dir(dir.path().join("lost+found")).unwrap();
    let cluster = start(Settings::throwaway(dir.path())).await.unwrap();
    cluster.stop().await.unwrap();
}

#[tokio::test]
async fn a_cluster_of_another_major_version_is_refused_with_both_named() {
    let dir = temporary();
    start(Settings::throwaway(dir.path()))
        .await
        .unwrap()
        .stop()
        .await
        .unwrap();
    let version_file = dir.path().join("cluster/PG_VERSION");
    let right = fs::read_to_string(&version_file).unwrap();
    fs::write(&version_file, "12\n").unwrap();
    let error = start(Settings::throwaway(dir.path())).await.unwrap_err();
    assert_eq!(error.kind(), "other_major_version");
    let message = error.to_string();
    let server = format!("are PostgreSQL {}", binaries().version().major());
    assert!(message.contains("made by PostgreSQL 12"), "{message}");
    assert!(message.contains(&server), "{message}");

    fs::write(&version_file, right).unwrap();
    start(Settings::throwaway(dir.path()))
        .await
        .unwrap()
        .stop()
        .await
        .unwrap();
}

#[tokio::test]
async fn a_cluster_in_use_is_refused_and_not_disturbed() {
    let dir = temporary();
    let cluster = start(Settings::throwaway(dir.path())).await.unwrap();
    commit_row(&cluster.url("postgres"), 1).await;
    let error = start(Settings::throwaway(dir.path())).await.unwrap_err();
    assert_eq!(error.kind(), "in_use");
    let own = format!("process {}", std::process::id());
    assert!(error.to_string().contains(&own), "{error}");
    assert_eq!(rows(&cluster.url("postgres")).await, "1");
    cluster.stop().await.unwrap();
}

#[tokio::test]
async fn a_private_parent_is_passed_by_its_owner_and_named_to_root() {
    let parent = temporary();
    fs::set_permissions(parent.path(), fs::Permissions::from_mode(0o700)).unwrap();
    let dir = parent.path().join("a/b");
    let result = start(Settings::throwaway(&dir)).await;
    if !is_root() {
        return result.unwrap().stop().await.unwrap();
    }
    let error = result.unwrap_err();
    assert_eq!(error.kind(), "directory_unreachable");
    let message = error.to_string();
    assert!(
        message.contains(&format!("enter {} ", parent.path().display())),
        "{message}"
    );
    assert_eq!(names(parent.path()), Vec::<String>::new());
}

#[tokio::test]
async fn a_path_that_is_a_file_is_refused_by_name() {
    let parent = temporary();
    let file = parent.path().join("file");
    fs::write(&file, "").unwrap();
    let error = start(Settings::throwaway(&file)).await.unwrap_err();
    assert_eq!(error.kind(), "io");
    assert!(
        error.to_string().contains(file.to_str().unwrap()),
        "{error}"
    );
}
