//! What a caller may choose about a cluster.

use std::path::PathBuf;

use crate::Error;

/// How to make and run a cluster.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The directory that the cluster lives in; made if it is absent.
    pub data_dir: PathBuf,
    /// The name of the database superuser.
    pub user: String,
    /// Listen on 127.0.0.1 at this port as well; `None` means unix socket only.
    pub tcp_port: Option<u16>,
    /// Further server settings, as in `postgresql.conf`. They win over what `durable` chooses,
    /// but not over where the server listens.
    pub extra: Vec<(String, String)>,
    /// `true`: an acknowledged commit survives a power cut, and pages carry checksums.
    /// `false`: as fast as possible, for data that may vanish.
    pub durable: bool,
}

impl Settings {
    /// A cluster whose commits survive: unix socket only, superuser `postgres`.
    pub fn durable(data_dir: impl Into<PathBuf>) -> Self {
        Self {
            data_dir: data_dir.into(),
            user: "postgres".to_owned(),
            tcp_port: None,
            extra: Vec::new(),
            durable: true,
        }
    }

    /// A cluster for one test run, without any guarantee for its data.
    pub fn throwaway(data_dir: impl Into<PathBuf>) -> Self {
        Self {
            durable: false,
            ..Self::durable(data_dir)
        }
    }

    /// Refuses what PostgreSQL would misread, before anything is touched.
    pub(crate) fn check(&self) -> Result<(), Error> {
        let refuse = |key: &str, value: &str, reason: &str| {
            Err(Error::BadSetting {
                key: key.to_owned(),
                value: value.to_owned(),
                reason: reason.to_owned(),
            })
        };
        // initdb makes the superuser the owner of an extension, whose script these would break.
        if self.user.is_empty()
            || self.user.starts_with("pg_")
            || self.user.contains(['\0', '"', '\'', '$', '\\'])
        {
            let reason = "a role name without quotes, $ and \\ is needed, not starting with pg_";
            return refuse("user", &self.user, reason);
        }
        if self.tcp_port == Some(0) {
            return refuse("tcp_port", "0", "a port from 1 to 65535 is needed");
        }
        for (key, value) in &self.extra {
            let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
            if key.is_empty() || !key.chars().all(plain) {
                return refuse(key, value, "not a name of a PostgreSQL setting");
            }
            if value.contains('\0') {
                return refuse(key, value, "a NUL byte cannot be passed on");
            }
        }
        Ok(())
    }

    /// The settings that follow from `durable`, before `extra`.
    pub(crate) fn durability(&self) -> Vec<(String, String)> {
        let switch = if self.durable { "on" } else { "off" };
        let mut settings: Vec<(String, String)> =
            ["fsync", "synchronous_commit", "full_page_writes"]
                .map(|key| (key.to_owned(), switch.to_owned()))
                .into();
        if !self.durable {
            // Tests open many small pools at once.
            settings.push(("max_connections".to_owned(), "200".to_owned()));
            settings.push(("wal_level".to_owned(), "replica".to_owned()));
        }
        settings
    }
}
