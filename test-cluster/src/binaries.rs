//! Where the programs of a cluster are.

use std::path::{Path, PathBuf};

use crate::{Error, GoProgram};

/// Where envtest looks for kube-apiserver, etcd and kubectl, and so do we.
const ASSETS: &str = "KUBEBUILDER_ASSETS";

/// The programs of a cluster without nodes.
#[derive(Debug, Clone)]
pub struct Binaries {
    pub(crate) etcd: PathBuf,
    pub(crate) kube_apiserver: PathBuf,
    pub(crate) kube_controller_manager: PathBuf,
}

impl Binaries {
    /// Finds them in `KUBEBUILDER_ASSETS`, then in `PATH`; what is in neither of them, except
    /// etcd, is built from the pinned module. That takes minutes the first time.
    ///
    /// # Errors
    /// [`Error::ProgramMissing`] without etcd; as [`GoProgram::build`].
    pub fn find() -> Result<Self, Error> {
        let etcd = installed("etcd").ok_or(Error::ProgramMissing {
            program: "etcd",
            remedy: "install Debian's package etcd-server",
        })?;
        Ok(Self {
            etcd,
            kube_apiserver: installed_or_built("kube-apiserver")?,
            kube_controller_manager: installed_or_built("kube-controller-manager")?,
        })
    }
}

/// The `kubectl` of this machine.
///
/// # Errors
/// [`Error::ProgramMissing`].
pub fn kubectl() -> Result<PathBuf, Error> {
    installed("kubectl").ok_or(Error::ProgramMissing {
        program: "kubectl",
        remedy: "install Debian's package kubernetes-client",
    })
}

fn installed_or_built(program: &'static str) -> Result<PathBuf, Error> {
    match installed(program) {
        Some(path) => Ok(path),
        None => Ok(GoProgram::ControlPlane.build()?.join(program)),
    }
}

/// A program of `KUBEBUILDER_ASSETS` or `PATH`.
pub(crate) fn installed(program: &str) -> Option<PathBuf> {
    let assets = std::env::var_os(ASSETS).map(PathBuf::from);
    let path = std::env::var_os("PATH").unwrap_or_default();
    first_with(
        assets.into_iter().chain(std::env::split_paths(&path)),
        program,
    )
}

fn first_with(dirs: impl Iterator<Item = PathBuf>, program: &str) -> Option<PathBuf> {
    dirs.map(|dir| dir.join(program))
        .find(|path| is_program(path))
}

fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    path.metadata()
        .is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn the_first_directory_with_a_program_that_may_run_wins() {
        let root = tempfile::tempdir().unwrap();
        let dir = |name: &str, mode: u32| {
            let dir = root.path().join(name);
            fs::create_dir(&dir).unwrap();
            fs::write(dir.join("etcd"), "").unwrap();
            fs::set_permissions(dir.join("etcd"), fs::Permissions::from_mode(mode)).unwrap();
            dir
        };
        let (plain, first, second) = (dir("plain", 0o644), dir("1", 0o755), dir("2", 0o755));
        let found = first_with([plain, first.clone(), second].into_iter(), "etcd");
        assert_eq!(found, Some(first.join("etcd")));
        assert_eq!(first_with([first].into_iter(), "kubectl"), None);
    }
}
