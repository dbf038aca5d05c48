//! Everything that can go wrong, each with a stable word for it.

use std::path::{Path, PathBuf};

/// Why a cluster, a proxy or one of their programs is not to be had.
///
/// Every message is one line except [`Error::NotReady`], which ends with what the program said.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A program is nowhere on this machine and nothing here builds it.
    #[error("{program} is not in KUBEBUILDER_ASSETS or PATH: {remedy}")]
    ProgramMissing {
        /// Its name.
        program: &'static str,
        /// How to get it.
        remedy: &'static str,
    },
    /// A program could not be built from its pinned module.
    #[error("{module} cannot be built: {reason}", module = module.display())]
    Build {
        /// The module's directory.
        module: PathBuf,
        /// What Go said, or why it was not asked.
        reason: String,
    },
    /// A program ended or did not get ready in time.
    #[error("{program} did not get ready: {reason}; last lines of its log:\n{log}")]
    NotReady {
        /// Its name.
        program: &'static str,
        /// What was observed.
        reason: String,
        /// The end of its log.
        log: String,
    },
    /// The API server refused a request or did not answer.
    #[error("{action}: {source}")]
    Kube {
        /// What was attempted.
        action: String,
        /// Its answer.
        source: Box<kube::Error>,
    },
    /// A kubeconfig, key or certificate that cannot be used.
    #[error("{what} cannot be used: {reason}")]
    Credentials {
        /// Which one.
        what: &'static str,
        /// What is wrong with it.
        reason: String,
    },
    /// A manifest that is no object of Kubernetes.
    #[error("manifest {path}: {reason}", path = path.display())]
    Manifest {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
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
            Self::ProgramMissing { .. } => "program_missing",
            Self::Build { .. } => "build_failed",
            Self::NotReady { .. } => "not_ready",
            Self::Kube { .. } => "kube",
            Self::Credentials { .. } => "credentials",
            Self::Manifest { .. } => "manifest",
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

    /// For `map_err`: says what was attempted of the API server.
    pub(crate) fn kube(action: impl Into<String>) -> impl FnOnce(kube::Error) -> Self {
        let action = action.into();
        move |source| Self::Kube {
            action,
            source: Box::new(source),
        }
    }

    /// For `map_err`: says which credential is wrong.
    pub(crate) fn credentials<E: std::fmt::Display>(what: &'static str) -> impl FnOnce(E) -> Self {
        move |error| Self::Credentials {
            what,
            reason: error.to_string(),
        }
    }
}
