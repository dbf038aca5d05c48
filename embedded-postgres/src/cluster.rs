//! A cluster from start to stop.

mod launch;

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::account::Account;
use crate::home::{self, Home};
use crate::postmaster::{Postmaster, Stopped};
use crate::socket::SocketDir;
use crate::{Binaries, Error, Settings, initdb, leftover, password, url};

/// The port in the socket's name when the server does not listen on TCP.
const SOCKET_PORT: u16 = 5432;

/// Time for a clean stop: with much unwritten data the last checkpoint takes its time.
const STOP_BOUND: Duration = Duration::from_secs(60);

/// A running PostgreSQL server that accepts connections.
///
/// Dropping it stops the server as well, and blocks until it has ended; [`Cluster::stop`] is the
/// same with an answer.
#[derive(Debug)]
pub struct Cluster {
    // In the order in which they must go: the server, its socket, then the lock.
    postmaster: Postmaster,
    socket: SocketDir,
    home: Home,
    user: String,
    tcp_port: Option<u16>,
    stopped: bool,
}

impl Cluster {
    /// Makes the cluster if `settings.data_dir` is empty or absent, starts the server and waits
    /// until it accepts connections (at most 60 s).
    ///
    /// A server that still runs there after its owner was killed is stopped first. As root the
    /// server runs as the user `postgres`, else `nobody`.
    ///
    /// # Errors
    /// Anything but the errors of the search; the directory is unchanged unless PostgreSQL
    /// itself failed ([`Error::Initdb`], [`Error::NotReady`]).
    pub async fn start(binaries: &Binaries, settings: Settings) -> Result<Self, Error> {
        let binaries = binaries.clone();
        on_thread(move || Self::start_blocking(&binaries, &settings)).await
    }

    /// [`Cluster::start`] for a thread that does not drive a tokio runtime.
    ///
    /// # Errors
    /// As [`Cluster::start`].
    pub fn start_blocking(binaries: &Binaries, settings: &Settings) -> Result<Self, Error> {
        settings.check()?;
        let account = Account::choose(&settings.data_dir.join(home::CLUSTER))?;
        let home = Home::claim(&settings.data_dir, &account)?;
        leftover::settle(&home.cluster_dir())?;
        initdb::ensure(binaries, settings, &account, &home)?;
        let port = settings.tcp_port.unwrap_or(SOCKET_PORT);
        let socket = SocketDir::make(&home, &account, port)?;
        let launch = launch::Launch {
            binaries,
            settings,
            account: &account,
            home: &home,
        };
        let postmaster = launch.run(&socket, port)?;
        let cluster = Self {
            postmaster,
            socket,
            home,
            user: settings.user.clone(),
            tcp_port: settings.tcp_port,
            stopped: false,
        };
        if settings.tcp_port.is_some() {
            let url = cluster.url("postgres");
            let path = cluster.home.password_path();
            password::ensure(&path, settings, port, &url)?;
            account.own(&path)?;
        }
        tracing::info!(
            pid = cluster.pid(),
            data_dir = %cluster.home.dir().display(),
            version = %binaries.version(),
            "PostgreSQL accepts connections"
        );
        Ok(cluster)
    }

    /// A URL of `database` as the superuser over the unix socket, for tokio-postgres, sqlx and
    /// libpq.
    #[must_use]
    pub fn url(&self, database: &str) -> String {
        self.url_as(&self.user, database)
    }

    /// A URL of `database` as `user` over the unix socket, which needs no password.
    #[must_use]
    pub fn url_as(&self, user: &str, database: &str) -> String {
        let port = self.tcp_port.unwrap_or(SOCKET_PORT);
        url::over_socket(self.socket.path(), port, user, database)
    }

    /// A URL of `database` as the superuser over TCP, if the server listens there. The password
    /// is not in it but in the second value, a file as `PGPASSFILE` names it.
    #[must_use]
    pub fn tcp_url(&self, database: &str) -> Option<(String, PathBuf)> {
        let url = url::over_tcp(self.tcp_port?, &self.user, database);
        Some((url, self.home.password_path()))
    }

    /// The process id of the server.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.postmaster.pid()
    }

    /// The directory of the unix socket.
    #[must_use]
    pub fn socket_dir(&self) -> &Path {
        self.socket.path()
    }

    /// The file that the server logs to.
    #[must_use]
    pub fn log_path(&self) -> PathBuf {
        self.home.log_path()
    }

    /// Stops the server: connections are ended, a checkpoint is written.
    ///
    /// # Errors
    /// [`Error::UncleanStop`] if that took longer than 60 s; the server has ended all the same.
    pub async fn stop(self) -> Result<(), Error> {
        self.stop_within(STOP_BOUND).await
    }

    /// [`Cluster::stop`] with another bound for the clean stop.
    ///
    /// # Errors
    /// As [`Cluster::stop`].
    pub async fn stop_within(self, bound: Duration) -> Result<(), Error> {
        on_thread(move || self.end(bound)).await
    }

    /// [`Cluster::stop`] for a thread that may block.
    ///
    /// # Errors
    /// As [`Cluster::stop`].
    pub fn stop_blocking(self) -> Result<(), Error> {
        self.end(STOP_BOUND)
    }

    fn end(mut self, bound: Duration) -> Result<(), Error> {
        self.stopped = true;
        match self.postmaster.stop(bound) {
            Stopped::Clean => Ok(()),
            Stopped::Unclean => Err(Error::UncleanStop {
                waited_s: bound.as_secs_f32(),
            }),
        }
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        if !self.stopped && self.postmaster.stop(STOP_BOUND) != Stopped::Clean {
            tracing::warn!(
                pid = self.pid(),
                "PostgreSQL was ended without a checkpoint"
            );
        }
    }
}

/// Work that blocks, away from the runtime's own threads. It is finished even if the caller
/// stops waiting, and what it made is dropped then.
pub(crate) async fn on_thread<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Error> + Send + 'static,
) -> Result<T, Error> {
    match tokio::task::spawn_blocking(work).await {
        Ok(result) => result,
        Err(failed) => match failed.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            Err(_) => Err(Error::Database {
                action: "run PostgreSQL".to_owned(),
                message: "the runtime is shutting down".to_owned(),
                sqlstate: None,
            }),
        },
    }
}
