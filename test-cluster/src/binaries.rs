//! Where the programs of a cluster are.

use std::path::{Path, PathBuf};
use std::process::Command;

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
    /// Finds them in `KUBEBUILDER_ASSETS`, then in `PATH`; what is in neither of them is built from
    /// the pinned module. That takes minutes the first time.
    ///
    /// # Errors
    /// As [`GoProgram::build`].
    pub fn find() -> Result<Self, Error> {
        Ok(Self {
            etcd: or_built("etcd", installed("etcd").filter(|etcd| is_new_enough(etcd)))?,
            kube_apiserver: or_built("kube-apiserver", installed("kube-apiserver"))?,
            kube_controller_manager: or_built(
                "kube-controller-manager",
                installed("kube-controller-manager"),
            )?,
        })
    }
}

/// With an older etcd, such as Debian 12's, the API server refuses lists that are streamed.
const OLDEST_ETCD: [u32; 3] = [3, 5, 13];

fn is_new_enough(etcd: &Path) -> bool {
    let answer = Command::new(etcd).arg("--version").output();
    answer.is_ok_and(|answer| {
        let text = String::from_utf8_lossy(&answer.stdout).into_owned();
        version(&text).is_some_and(|version| version >= OLDEST_ETCD)
    })
}

/// Out of what `etcd --version` says.
fn version(text: &str) -> Option<[u32; 3]> {
    let number = text.strip_prefix("etcd Version: ")?.lines().next()?;
    let parts: Result<Vec<u32>, _> = number.split('.').map(str::parse).collect();
    parts.ok()?.try_into().ok()
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

fn or_built(program: &str, installed: Option<PathBuf>) -> Result<PathBuf, Error> {
    match installed {
        Some(path) => Ok(path),
        None => Ok(GoProgram::ControlPlane.build()?.join(program)),
    }
}

/// A program of `KUBEBUILDER_ASSETS` or `PATH`.
pub(crate) fn installed(program: &str) -> Option<PathBuf> {
    let assets = std::env::var_os(ASSETS)
        .filter(|dir| !dir.is_empty())
        .map(PathBuf::from);
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
    fn an_etcd_is_judged_by_its_number() {
        let said = |number: &str| format!("etcd Version: {number}\nGit SHA: none\n");
        assert_eq!(version(&said("3.5.13")), Some(OLDEST_ETCD));
        assert!(version(&said("3.4.23")) < Some(OLDEST_ETCD));
        assert!(version(&said("3.10.0")) > Some(OLDEST_ETCD));
        assert_eq!(version("unknown flag"), None);
    }

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
