//! Puts the plugin's binary into a node's CNI directory, while runtimes may be calling it.
//!
//! A name in the directory is the old file or the new one, whole, at any moment and after any
//! crash: the new one is written beside it, synced, renamed over it, and the directory is synced.
//! A link under the name is replaced, never followed: what it points to may be somebody else's.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;

use rustix::fs::{FlockOperation, OFlags, flock};

/// Everybody may run it; nobody but its owner may change it.
const MODE: u32 = 0o755;
/// Begins and ends the name of a file that is being written.
const PART: (&str, &str) = (".", ".ipledger-part");

/// What became of one name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Installed {
    /// The file is there now.
    Written,
    /// It was there already, byte for byte.
    UpToDate,
}

/// Why a name could not be installed.
#[derive(Debug, thiserror::Error)]
pub enum InstallError {
    /// There is a directory under the name.
    #[error("{0}: is a directory")]
    Directory(String),
    /// A step failed. The old file is untouched.
    #[error("{path}: cannot be {what}: {error}")]
    Io {
        /// Which file.
        path: String,
        /// What was to be done with it.
        what: &'static str,
        /// The system's words.
        error: io::Error,
    },
}

/// Installs these bytes under a name in a directory, which must exist.
///
/// # Errors
/// See [`InstallError`]; whatever was there under the name is there still.
pub fn install(directory: &Path, name: &str, program: &[u8]) -> Result<Installed, InstallError> {
    let target = directory.join(name);
    let failed = |path: &Path, what| {
        let path = path.display().to_string();
        move |error| InstallError::Io { path, what, error }
    };
    // Two installers at once would write into one file. The lock ends with this.
    let lock = File::open(directory).map_err(failed(directory, "opened"))?;
    flock(&lock, FlockOperation::LockExclusive)
        .map_err(io::Error::from)
        .map_err(failed(directory, "locked"))?;
    // Of the name itself, not of what a link points to.
    match fs::symlink_metadata(&target) {
        Ok(there) if there.is_dir() => {
            return Err(InstallError::Directory(target.display().to_string()));
        }
        Ok(there) if is_same(&target, &there, program).map_err(failed(&target, "read"))? => {
            return Ok(Installed::UpToDate);
        }
        Ok(_) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(failed(&target, "looked at")(error)),
    }
    // Always the same name, so that a crash leaves at most one.
    let part = directory.join(format!("{}{name}{}", PART.0, PART.1));
    absent_is_fine(fs::remove_file(&part)).map_err(failed(&part, "removed"))?;
    let written = fill(&part, program).map_err(failed(&part, "written"));
    let renamed = written
        .and_then(|()| fs::rename(&part, &target).map_err(failed(&target, "replaced")))
        .and_then(|()| lock.sync_all().map_err(failed(directory, "synced")));
    if renamed.is_err() {
        // Whatever is left of it is no plugin.
        let _ = fs::remove_file(&part);
    }
    renamed.map(|()| Installed::Written)
}

/// A regular file with these bytes that everybody may run.
fn is_same(path: &Path, there: &Metadata, program: &[u8]) -> io::Result<bool> {
    if !there.is_file()
        || there.size() != program.len() as u64
        || there.permissions().mode() & 0o777 != MODE
    {
        return Ok(false);
    }
    let mut bytes = Vec::with_capacity(program.len());
    OpenOptions::new()
        .read(true)
        .custom_flags(OFlags::NOFOLLOW.bits().cast_signed())
        .open(path)?
        .read_to_end(&mut bytes)?;
    Ok(bytes == program)
}

/// A new file: `create_new` also refuses a link that somebody laid under the name meanwhile.
fn fill(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(MODE)
        .open(path)?;
    file.write_all(bytes)?;
    // Whatever the umask took away.
    file.set_permissions(fs::Permissions::from_mode(MODE))?;
    file.sync_all()
}

fn absent_is_fine(result: io::Result<()>) -> io::Result<()> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}
