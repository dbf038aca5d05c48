//! Everything that can go wrong, each with a stable word for it.

use std::path::{Path, PathBuf};

/// Why a cluster could not be found, made, started or stopped.
///
/// Every message is one line except [`Error::NotReady`] and [`Error::Initdb`], which end with
/// what PostgreSQL itself said.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// No directory with both `postgres` and `initdb` was found.
    #[error("PostgreSQL server binaries not found ({searched}); install them: {install}")]
    BinariesMissing {
        /// The places that were looked at, for a person.
        searched: String,
        /// The command that installs them on this platform.
        install: String,
    },
    /// The binaries are older than the oldest PostgreSQL that is supported.
    #[error("PostgreSQL {version} in {dir} is too old: version 14 or newer is needed", dir = dir.display())]
    BinariesTooOld {
        /// The directory of the binaries.
        dir: PathBuf,
        /// The version they report.
        version: String,
    },
    /// The binaries are there but do not run, or do not say their version.
    #[error("{path} --version: {reason}", path = path.display())]
    BinariesUnusable {
        /// The binary that was asked.
        path: PathBuf,
        /// What it answered.
        reason: String,
    },
    /// A setting has a value that cannot be meant.
    #[error("setting {key} = {value:?}: {reason}")]
    BadSetting {
        /// The name of the setting.
        key: String,
        /// The value at fault.
        value: String,
        /// Why it is refused.
        reason: String,
    },
    /// The data directory holds something that this crate did not put there.
    #[error("data directory {dir} is {content}; choose an empty or a new one", dir = dir.display())]
    ForeignDirectory {
        /// The directory.
        dir: PathBuf,
        /// What it holds instead.
        content: String,
    },
    /// The cluster was made by another major version of PostgreSQL.
    #[error(
        "data directory {dir} was made by PostgreSQL {cluster}, the binaries in {binaries} are \
         PostgreSQL {server}",
        dir = dir.display(), binaries = binaries.display()
    )]
    OtherMajorVersion {
        /// The data directory.
        dir: PathBuf,
        /// Major version of the cluster in it.
        cluster: String,
        /// The directory of the binaries.
        binaries: PathBuf,
        /// Major version of the binaries.
        server: u32,
    },
    /// Another process runs this cluster.
    #[error("data directory {dir} is in use by {owner}", dir = dir.display())]
    InUse {
        /// The data directory.
        dir: PathBuf,
        /// The process that holds it.
        owner: String,
    },
    /// The unprivileged account of the server cannot enter a directory.
    #[error(
        "PostgreSQL runs as user {user}, who may not enter {blocked} on the way to {dir}; \
         allow it (chmod o+x {blocked}) or choose another data directory",
        blocked = blocked.display(), dir = dir.display()
    )]
    DirectoryUnreachable {
        /// The account that the server runs as.
        user: String,
        /// The first directory that it may not enter.
        blocked: PathBuf,
        /// The directory that it has to reach.
        dir: PathBuf,
    },
    /// PostgreSQL refuses to run as root, and there is no account to run it as.
    #[error("PostgreSQL refuses to run as root, and /etc/passwd has neither postgres nor nobody")]
    NoAccount,
    /// `initdb` failed; what it had made is removed.
    #[error("initdb failed ({status}): {output}")]
    Initdb {
        /// How it ended.
        status: String,
        /// What it printed last.
        output: String,
    },
    /// The server did not accept connections.
    #[error("PostgreSQL did not get ready: {reason}; last lines of {log_path}:\n{log}", log_path = log_path.display())]
    NotReady {
        /// What was observed.
        reason: String,
        /// The file with the whole server log.
        log_path: PathBuf,
        /// Its last lines.
        log: String,
    },
    /// The server had to be stopped without a last checkpoint. Nothing that was committed is
    /// lost: the next start replays the write-ahead log.
    #[error("PostgreSQL did not stop within {waited_s} s and was ended without a checkpoint")]
    UncleanStop {
        /// Seconds that were granted for a clean stop.
        waited_s: f32,
    },
    /// The server refused a statement or the connection to it failed.
    #[error("{action}: {message}")]
    Database {
        /// What was attempted.
        action: String,
        /// The server's or the driver's answer.
        message: String,
        /// The server's five-character code, if it was the server that refused.
        sqlstate: Option<String>,
    },
    /// The operating system refused something.
    #[error("{action} {path}: {source}", path = path.display())]
    Io {
        /// What was attempted.
        action: &'static str,
        /// On what.
        path: PathBuf,
        /// The system's answer.
        source: std::io::Error,
    },
}

impl Error {
    /// A stable word for the kind of error, for logs and tests.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::BinariesMissing { .. } => "binaries_missing",
            Self::BinariesTooOld { .. } => "binaries_too_old",
            Self::BinariesUnusable { .. } => "binaries_unusable",
            Self::BadSetting { .. } => "bad_setting",
            Self::ForeignDirectory { .. } => "foreign_directory",
            Self::OtherMajorVersion { .. } => "other_major_version",
            Self::InUse { .. } => "in_use",
            Self::DirectoryUnreachable { .. } => "directory_unreachable",
            Self::NoAccount => "no_account",
            Self::Initdb { .. } => "initdb_failed",
            Self::NotReady { .. } => "not_ready",
            Self::UncleanStop { .. } => "unclean_stop",
            Self::Database { .. } => "database",
            Self::Io { .. } => "io",
        }
    }

    /// For `map_err`: says what was attempted on which path.
    pub(crate) fn io(action: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io {
            action,
            path,
            source,
        }
    }
}
