//! The directory of the unix socket.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::{Error, account::Account, home::Home};

/// The shortest limit of a socket path among the systems we know (macOS), with its NUL.
const PATH_LIMIT_BYTES: usize = 104;

/// Where the server makes its socket; a directory outside the data directory goes with it.
#[derive(Debug)]
pub(crate) struct SocketDir {
    path: PathBuf,
    outside: bool,
}

impl SocketDir {
    /// `run` in the data directory, or, if that path is too long for a socket, a directory that
    /// is named after the data directory's inode under a short path.
    pub(crate) fn make(home: &Home, account: &Account, port: u16) -> Result<Self, Error> {
        let run = home.run_dir();
        let (path, outside) = if fits(&run, port) {
            (run, false)
        } else {
            let metadata = fs::metadata(home.dir()).map_err(Error::io("look at", home.dir()))?;
            let name = format!("embedded-postgres-{}-{}", metadata.dev(), metadata.ino());
            (short_parent(account, &name, port).join(name), true)
        };
        account.private_dir(&path)?;
        Ok(Self { path, outside })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for SocketDir {
    fn drop(&mut self) {
        if self.outside {
            // It is made again by the next start; what stays behind is an empty directory.
            let _ = fs::remove_dir_all(&self.path);
        }
    }
}

/// The user's own runtime directory, unless another account runs the server or it is too long.
fn short_parent(account: &Account, name: &str, port: u16) -> PathBuf {
    std::env::var_os("XDG_RUNTIME_DIR")
        .filter(|_| *account == Account::Own)
        .map(PathBuf::from)
        .filter(|dir| dir.is_dir() && fits(&dir.join(name), port))
        .unwrap_or_else(|| PathBuf::from("/tmp"))
}

/// Whether a socket in `dir` has a path that the system takes and that needs no quoting in the
/// server's list of directories.
fn fits(dir: &Path, port: u16) -> bool {
    let socket = dir.join(format!(".s.PGSQL.{port}"));
    let plain = dir.to_str().is_some_and(|text| !text.contains([',', '"']));
    plain && socket.as_os_str().len() < PATH_LIMIT_BYTES
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_is_exact() {
        let suffix = "/.s.PGSQL.5432".len();
        let dir = |length: usize| PathBuf::from(format!("/{}", "x".repeat(length - 1)));
        assert!(fits(&dir(PATH_LIMIT_BYTES - 1 - suffix), 5432));
        assert!(!fits(&dir(PATH_LIMIT_BYTES - suffix), 5432));
        assert!(!fits(Path::new("/a,b"), 5432));
    }
}
