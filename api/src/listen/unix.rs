//! A unix socket as a file: made under another name, opened to its group, then moved into place,
//! so that nobody meets it half made.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, PermissionsExt as _};
use std::os::unix::net::{UnixListener as StdListener, UnixStream as StdStream};
use std::path::{Path, PathBuf};

use tokio::net::UnixListener;

use super::{ListenAddress, ListenError, Listener};

/// Owner and group may connect.
const MODE: u32 = 0o660;

/// The file of a socket; removed when this is dropped, unless another file took its place.
#[derive(Debug)]
pub struct SocketFile {
    path: PathBuf,
    identity: (u64, u64),
}

impl SocketFile {
    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        if identity(&self.path).is_ok_and(|found| found == self.identity)
            && let Err(error) = fs::remove_file(&self.path)
        {
            tracing::warn!(path = %self.path.display(), %error, "the socket file stays");
        }
    }
}

pub(super) fn bind(path: &Path) -> Result<Listener, ListenError> {
    let failed = |source| ListenError::Io {
        address: ListenAddress::Unix(path.to_owned()),
        source,
    };
    refuse_occupied(path)?;
    let unfinished = unfinished_name(path);
    let listener = match StdListener::bind(&unfinished) {
        Err(error) if error.kind() == io::ErrorKind::AddrInUse => {
            // Left behind by a process of the same id that was killed right here.
            fs::remove_file(&unfinished).map_err(failed)?;
            StdListener::bind(&unfinished)
        }
        other => other,
    }
    .map_err(failed)?;
    let placed = fs::set_permissions(&unfinished, fs::Permissions::from_mode(MODE))
        .and_then(|()| identity(&unfinished))
        .and_then(|identity| fs::rename(&unfinished, path).map(|()| identity));
    let identity = placed.map_err(|source| {
        // The error says why; a leftover would only add to it.
        let _ = fs::remove_file(&unfinished);
        failed(source)
    })?;
    let file = SocketFile {
        path: path.to_owned(),
        identity,
    };
    listener.set_nonblocking(true).map_err(failed)?;
    let listener = UnixListener::from_std(listener).map_err(failed)?;
    Ok(Listener::Unix(listener, file))
}

/// Nothing there, or a socket that nobody answers on.
fn refuse_occupied(path: &Path) -> Result<(), ListenError> {
    let failed = |source| ListenError::Io {
        address: ListenAddress::Unix(path.to_owned()),
        source,
    };
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(failed(error)),
        Ok(found) if !found.file_type().is_socket() => {
            return Err(ListenError::NotASocket(path.to_owned()));
        }
        Ok(_) => {}
    }
    match StdStream::connect(path) {
        Ok(_) => Err(ListenError::InUse(ListenAddress::Unix(path.to_owned()))),
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::ConnectionRefused | io::ErrorKind::NotFound
            ) =>
        {
            Ok(())
        }
        Err(error) => Err(failed(error)),
    }
}

fn unfinished_name(path: &Path) -> PathBuf {
    let mut name = OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(format!(".{}", std::process::id()));
    path.with_file_name(name)
}

fn identity(path: &Path) -> io::Result<(u64, u64)> {
    let found = fs::symlink_metadata(path)?;
    Ok((found.dev(), found.ino()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(dir: &tempfile::TempDir) -> PathBuf {
        dir.path().join("api.sock")
    }

    #[tokio::test]
    async fn the_file_is_for_owner_and_group_and_goes_with_the_listener() {
        let dir = tempfile::tempdir().unwrap();
        let listener = bind(&at(&dir)).unwrap();
        let mode = fs::metadata(at(&dir)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o660);
        assert_eq!(
            fs::read_dir(dir.path()).unwrap().count(),
            1,
            "nothing else is left"
        );
        drop(listener);
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
    }

    #[tokio::test]
    async fn a_socket_that_nobody_answers_on_is_replaced() {
        let dir = tempfile::tempdir().unwrap();
        drop(StdListener::bind(at(&dir)).unwrap());
        let listener = bind(&at(&dir)).unwrap();
        StdStream::connect(at(&dir)).unwrap();
        drop(listener);
    }

    #[tokio::test]
    async fn a_socket_that_answers_is_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        let other = StdListener::bind(at(&dir)).unwrap();
        let error = bind(&at(&dir)).unwrap_err();
        assert_eq!(error.kind(), "in_use");
        drop(other);
    }

    #[tokio::test]
    async fn a_file_that_is_no_socket_is_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(at(&dir), "precious").unwrap();
        assert_eq!(bind(&at(&dir)).unwrap_err().kind(), "not_a_socket");
        assert_eq!(fs::read_to_string(at(&dir)).unwrap(), "precious");
    }

    #[tokio::test]
    async fn a_successor_keeps_its_file() {
        let dir = tempfile::tempdir().unwrap();
        let listener = bind(&at(&dir)).unwrap();
        fs::remove_file(at(&dir)).unwrap();
        let successor = StdListener::bind(at(&dir)).unwrap();
        drop(listener);
        StdStream::connect(at(&dir)).unwrap();
        drop(successor);
    }

    #[tokio::test]
    async fn a_directory_that_is_not_there_is_named() {
        let error = bind(Path::new("/nonexistent/api.sock")).unwrap_err();
        assert_eq!(error.kind(), "io");
        assert!(error.to_string().contains("unix:/nonexistent/api.sock"));
    }
}
