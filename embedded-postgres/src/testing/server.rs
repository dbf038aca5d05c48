//! The one server of a test run.

use std::sync::OnceLock;

use super::watchdog::Watchdog;
use crate::{Binaries, Cluster, Error, Settings, url};

/// Names the server for tests: the URL of its database `postgres` as the superuser.
pub const SERVER_VARIABLE: &str = "IPLEDGER_TEST_POSTGRES";

/// A server without durability in a temporary directory. Both are gone when this is dropped and
/// when the process ends, even by kill -9.
#[derive(Debug)]
pub struct TestServer {
    // The server stops before the watchdog removes its directory.
    cluster: Option<Cluster>,
    _watchdog: Watchdog,
}

impl TestServer {
    /// Starts one; not for a thread that drives a tokio runtime.
    ///
    /// # Errors
    /// As [`Binaries::find`] and [`Cluster::start`].
    pub fn start(binaries: &Binaries) -> Result<Self, Error> {
        let temporary = tempfile::Builder::new()
            .prefix("ipledger-test-postgres-")
            .tempdir()
            .map_err(Error::io("make a directory in", &std::env::temp_dir()))?;
        let mut watchdog = Watchdog::start(temporary.path())?;
        // From here on the watchdog removes it.
        let data_dir = temporary.keep();
        let cluster = Cluster::start_blocking(binaries, &Settings::throwaway(data_dir))?;
        watchdog.remove_too(cluster.socket_dir())?;
        Ok(Self {
            cluster: Some(cluster),
            _watchdog: watchdog,
        })
    }

    /// The URL of the database `postgres` as the superuser.
    #[must_use]
    pub fn url(&self) -> String {
        self.cluster().url("postgres")
    }

    /// The cluster behind it.
    #[must_use]
    pub fn cluster(&self) -> &Cluster {
        self.cluster
            .as_ref()
            .expect("the cluster is taken only on drop")
    }
}

impl Drop for TestServer {
    fn drop(&mut self) {
        drop(self.cluster.take());
    }
}

/// The server of this run: the one that the environment names, else one of this process.
pub(super) fn url() -> Result<String, Error> {
    match std::env::var(SERVER_VARIABLE) {
        Ok(text) => named(&text),
        Err(_) => own(),
    }
}

/// The URL that a person or `with-postgres` gave, with the database `postgres`.
fn named(text: &str) -> Result<String, Error> {
    url::replace(text, None, "postgres").ok_or_else(|| Error::BadSetting {
        key: SERVER_VARIABLE.to_owned(),
        value: text.to_owned(),
        reason: "a URL like postgres://user@host:5432/postgres is needed".to_owned(),
    })
}

/// Started by the first test that asks. A static is never dropped: the server is signalled by
/// the system when this process ends, and the watchdog removes the directory.
fn own() -> Result<String, Error> {
    static OWN: OnceLock<Result<TestServer, String>> = OnceLock::new();
    let start = || Binaries::find(None).and_then(|binaries| TestServer::start(&binaries));
    match OWN.get_or_init(|| start().map_err(|error| error.to_string())) {
        Ok(server) => Ok(server.url()),
        Err(message) => Err(Error::Database {
            action: "start the test server".to_owned(),
            message: message.clone(),
            sqlstate: None,
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_named_server_is_used_through_its_database_postgres() {
        let url = named("postgresql://me:secret@db:5433/other").unwrap();
        assert_eq!(url, "postgresql://me:secret@db:5433/postgres");
    }

    #[test]
    fn a_server_name_that_is_no_url_is_refused_by_name_and_value() {
        let error = named("localhost").unwrap_err();
        assert_eq!(error.kind(), "bad_setting");
        let message = error.to_string();
        assert!(
            message.contains(SERVER_VARIABLE) && message.contains("localhost"),
            "{message}"
        );
    }
}
