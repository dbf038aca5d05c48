//! Start, use, stop, start again.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use embedded_postgres::Settings;
use rustix::process::Signal;
use tokio_postgres::NoTls;

use crate::support::{
    commit_row, connect, is_root, kill, rows, runs, server_processes, start, temporary, text,
};

#[tokio::test]
async fn a_stopped_cluster_keeps_its_data_and_stops_cleanly() {
    let dir = temporary();
    let cluster = start(Settings::durable(dir.path())).await.unwrap();
    commit_row(&cluster.url("postgres"), 1).await;
    let (pid, log) = (cluster.pid(), cluster.log_path());
    cluster.stop().await.unwrap();
    assert!(!runs(pid));
    assert!(
        fs::read_to_string(&log)
            .unwrap()
            .contains("database system is shut down")
    );
    assert_eq!(server_processes(dir.path()), Vec::<u32>::new());

    let cluster = start(Settings::durable(dir.path())).await.unwrap();
    assert_eq!(rows(&cluster.url("postgres")).await, "1");
    let log = fs::read_to_string(cluster.log_path()).unwrap();
    assert!(!log.contains("not properly shut down"), "{log}");
    cluster.stop().await.unwrap();
}

#[tokio::test]
async fn a_durable_cluster_is_durable_and_reachable_by_its_owner_only() {
    let dir = temporary();
    let cluster = start(Settings::durable(dir.path())).await.unwrap();
    let client = connect(&cluster.url("postgres")).await;
    for (setting, expected) in [
        ("fsync", "on"),
        ("synchronous_commit", "on"),
        ("full_page_writes", "on"),
        ("data_checksums", "on"),
        ("listen_addresses", ""),
        ("server_encoding", "UTF8"),
        ("lc_collate", "C"),
        ("TimeZone", "UTC"),
    ] {
        assert_eq!(
            text(&client, &format!("SHOW {setting}")).await,
            expected,
            "{setting}"
        );
    }
    assert_ne!(text(&client, "SHOW wal_compression").await, "off");
    let mode = |path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(cluster.socket_dir().to_owned()), 0o700);
    assert_eq!(mode(dir.path().join("cluster")), 0o700);
    cluster.stop().await.unwrap();
}

#[tokio::test]
async fn the_server_never_runs_as_root() {
    let dir = temporary();
    let cluster = start(Settings::throwaway(dir.path())).await.unwrap();
    let status = fs::read_to_string(format!("/proc/{}/status", cluster.pid())).unwrap();
    let ids = |key: &str| -> Vec<u32> {
        let line = status
            .lines()
            .find_map(|line| line.strip_prefix(key))
            .unwrap();
        line.split_whitespace()
            .map(|id| id.parse().unwrap())
            .collect()
    };
    let own = rustix::process::geteuid().as_raw();
    assert!(!ids("Uid:").contains(&0));
    assert_eq!(ids("Uid:").contains(&own), !is_root());
    if is_root() {
        assert!(!ids("Gid:").contains(&0));
        assert_eq!(ids("Groups:"), Vec::<u32>::new());
    }
    cluster.stop().await.unwrap();
}

#[tokio::test]
async fn dropping_inside_a_runtime_leaves_no_process() {
    let dir = temporary();
    let cluster = start(Settings::throwaway(dir.path())).await.unwrap();
    let _open = connect(&cluster.url("postgres")).await;
    assert!(server_processes(dir.path()).contains(&cluster.pid()));
    drop(cluster);
    assert_eq!(server_processes(dir.path()), Vec::<u32>::new());
}

#[tokio::test]
async fn a_server_that_hangs_is_ended_and_the_caller_told() {
    let dir = temporary();
    let cluster = start(Settings::throwaway(dir.path())).await.unwrap();
    let pid = cluster.pid();
    kill(pid, Signal::STOP);
    // Fast and immediate shutdown both stay pending behind the stop; only the kill gets through.
    let stopping = tokio::spawn(cluster.stop_within(std::time::Duration::from_millis(200)));
    let error = stopping.await.unwrap().unwrap_err();
    assert_eq!(error.kind(), "unclean_stop");
    assert!(!runs(pid));
}

#[tokio::test]
async fn over_tcp_a_password_is_needed_and_kept_in_a_private_file() {
    let dir = temporary();
    let port = std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
    let settings = Settings {
        tcp_port: Some(port),
        ..Settings::durable(dir.path())
    };
    let mut seen = Vec::new();
    for _ in 0..2 {
        let cluster = start(settings.clone()).await.unwrap();
        let client = connect(&cluster.url("postgres")).await;
        assert_eq!(text(&client, "SHOW listen_addresses").await, "127.0.0.1");
        let (url, file) = cluster.tcp_url("postgres").unwrap();
        assert_eq!(
            fs::metadata(&file).unwrap().permissions().mode() & 0o777,
            0o600
        );
        let line = fs::read_to_string(&file).unwrap();
        let (start_of_line, password) = line.trim_end().rsplit_once(':').unwrap();
        assert_eq!(start_of_line, format!("127.0.0.1:{port}:*:postgres"));
        assert!(tokio_postgres::connect(&url, NoTls).await.is_err());
        let mut config: tokio_postgres::Config = url.parse().unwrap();
        assert!(config.password(password).connect(NoTls).await.is_ok());
        assert!(config.password("guessed").connect(NoTls).await.is_err());
        assert!(
            !fs::read_to_string(cluster.log_path())
                .unwrap()
                .contains(password)
        );
        seen.push(password.to_owned());
        cluster.stop().await.unwrap();
    }
    assert_eq!(seen[0], seen[1]);
}

#[tokio::test]
async fn a_path_too_long_for_a_socket_is_no_obstacle() {
    let root = temporary();
    let dir = root.path().join("x".repeat(100)).join("with space, comma");
    let cluster = start(Settings::durable(&dir)).await.unwrap();
    let socket_dir = cluster.socket_dir().to_owned();
    assert!(!socket_dir.starts_with(root.path()));
    commit_row(&cluster.url("postgres"), 1).await;
    cluster.stop().await.unwrap();
    assert!(!socket_dir.exists());
}

#[tokio::test]
async fn another_superuser_and_settings_of_the_caller_are_taken() {
    let dir = temporary();
    let settings = Settings {
        user: "o neill ✓".to_owned(),
        extra: vec![("work_mem".to_owned(), "7MB".to_owned())],
        ..Settings::throwaway(dir.path())
    };
    let cluster = start(settings).await.unwrap();
    let client = connect(&cluster.url("postgres")).await;
    assert_eq!(
        text(&client, "SELECT current_user::text").await,
        "o neill ✓"
    );
    assert_eq!(text(&client, "SHOW work_mem").await, "7MB");
    for statement in ["CREATE DATABASE \"a/b c\"", "CREATE ROLE \"r@x\" LOGIN"] {
        client.batch_execute(statement).await.unwrap();
    }
    let client = connect(&cluster.url_as("r@x", "a/b c")).await;
    let both = "SELECT current_user || ' in ' || current_database()";
    assert_eq!(text(&client, both).await, "r@x in a/b c");
    cluster.stop().await.unwrap();
}

#[tokio::test]
async fn a_setting_that_postgresql_refuses_is_shown_with_its_words() {
    let dir = temporary();
    let settings = Settings {
        extra: vec![("no_such_setting".to_owned(), "1".to_owned())],
        ..Settings::throwaway(dir.path())
    };
    let error = start(settings).await.unwrap_err();
    assert_eq!(error.kind(), "not_ready");
    assert!(error.to_string().contains("no_such_setting"), "{error}");
    assert_eq!(server_processes(dir.path()), Vec::<u32>::new());
}

#[tokio::test]
async fn settings_that_cannot_be_meant_are_refused_before_anything_is_made() {
    let root = temporary();
    let dir = root.path().join("data");
    let good = Settings::throwaway(&dir);
    let extra = |key: &str, value: &str| vec![(key.to_owned(), value.to_owned())];
    for (settings, key) in [
        (
            Settings {
                user: String::new(),
                ..good.clone()
            },
            "user",
        ),
        (
            Settings {
                user: "o'neill".to_owned(),
                ..good.clone()
            },
            "user",
        ),
        (
            Settings {
                tcp_port: Some(0),
                ..good.clone()
            },
            "tcp_port",
        ),
        (
            Settings {
                extra: extra("a b", "1"),
                ..good.clone()
            },
            "a b",
        ),
        (
            Settings {
                extra: extra("work_mem", "1\0"),
                ..good.clone()
            },
            "work_mem",
        ),
    ] {
        let error = start(settings).await.unwrap_err();
        assert_eq!(error.kind(), "bad_setting");
        assert!(error.to_string().contains(key), "{error}");
        assert!(!dir.exists());
    }
}
