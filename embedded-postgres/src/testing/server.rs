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
    if let Ok(text) = std::env::var(SERVER_VARIABLE) {
        return match url::replace(&text, None, "postgres") {
            Some(url) => Ok(url),
            None => Err(Error::BadSetting {
                key: SERVER_VARIABLE.to_owned(),
                value: text,
                reason: "a URL like postgres://user@host:5432/postgres is needed".to_owned(),
            }),
        };
    }
    own()
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
